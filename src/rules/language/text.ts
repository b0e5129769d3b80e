/**
 * Values as text: `str()` and `repr()`. The length of the text is bounded, since a value may hold another many times
 * over.
 */

import { MAX_VALUE_BYTES, MAX_VALUE_DEPTH } from "../limits.ts";
import { Failure } from "./failure.ts";
import { Dict, Ellipsis, List, Range, Sequence, Tuple, TypeValue, type Value } from "./values.ts";

/** A few texts of this length take up all the room of a file's values. */
const MAX_WRITTEN_CHARS = MAX_VALUE_BYTES / 32;
/** Errors quote what they were given, as far as it helps. */
const MAX_QUOTED_CHARS = 200;

/** `str()`: strings as they are, everything else as `repr()`. */
export function textOf(value: Value): string {
  return typeof value === "string" ? value : writtenOut(value);
}

/** `repr()`. */
export function writtenOut(value: Value, maxChars = MAX_WRITTEN_CHARS): string {
  const writer = new Writer(maxChars);
  writer.write(value);
  return writer.text();
}

/** A value for an error: written out, or `…` if that is too long. */
export function quotedValue(value: Value): string {
  try {
    return writtenOut(value, MAX_QUOTED_CHARS);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return "…";
  }
}

class Writer {
  readonly #maxChars: number;
  readonly #parts: string[] = [];
  #length = 0;
  /** The values around the one being written: one that holds itself is written `[...]`. */
  readonly #open: Value[] = [];

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  text(): string {
    return this.#parts.join("");
  }

  write(value: Value): void {
    if (typeof value === "string") this.#add(writtenString(value));
    else if (typeof value === "number") this.#add(writtenFloat(value));
    else if (typeof value === "bigint") this.#add(String(value));
    else if (value === null) this.#add("None");
    else if (typeof value === "boolean") this.#add(value ? "True" : "False");
    else if (value instanceof List) this.#items(value, value.items, "[", "]");
    else if (value instanceof Tuple) this.#items(value, value.items, "(", value.items.length === 1 ? ",)" : ")");
    else if (value instanceof Dict) this.#dict(value);
    else if (value instanceof Range) this.#add(writtenRange(value));
    else if (value instanceof Sequence) this.#add("iterator");
    else if (value instanceof Ellipsis) this.#add("Ellipsis");
    else if (value instanceof TypeValue) this.#add(value.text);
    else this.#add(value.name);
  }

  #items(value: Value, items: readonly Value[], open: string, close: string): void {
    if (this.#isOpen(value)) return this.#add(`${open}...${close.slice(-1)}`);
    this.#add(open);
    items.forEach((item, index) => {
      if (index > 0) this.#add(", ");
      this.write(item);
    });
    this.#add(close);
    this.#open.pop();
  }

  #dict(value: Dict): void {
    if (this.#isOpen(value)) return this.#add("{...}");
    this.#add("{");
    value.entries().forEach((entry, index) => {
      if (index > 0) this.#add(", ");
      this.write(entry.key);
      this.#add(": ");
      this.write(entry.value);
    });
    this.#add("}");
    this.#open.pop();
  }

  #isOpen(value: Value): boolean {
    if (this.#open.includes(value)) return true;
    if (this.#open.push(value) > MAX_VALUE_DEPTH) throw new Failure("Too many recursion levels");
    return false;
  }

  #add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length > this.#maxChars) throw new Failure(`text of a value exceeds ${this.#maxChars} characters`);
  }
}

const NAMED_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

/** Letters and digits beyond Latin-1 are shown, every other character beyond ASCII is escaped. */
function writtenString(text: string): string {
  const inside = text.replace(/["\\]|[\x80-\xff]|[^\x20-\x7e\p{L}\p{N}]/gu, (char) => {
    const code = char.codePointAt(0)!;
    const hex = (digits: number) => code.toString(16).padStart(digits, "0");
    return NAMED_ESCAPES.get(char) ??
      (code <= 0xff ? `\\x${hex(2)}` : code <= 0xffff ? `\\u${hex(4)}` : `\\U${hex(8)}`);
  });
  return `"${inside}"`;
}

function writtenRange({ start, stop, step }: Range): string {
  if (step !== 1) return `range(${start}, ${stop}, ${step})`;
  return start === 0 ? `range(${stop})` : `range(${start}, ${stop})`;
}

/** From a hundred-thousandth up to a million without an exponent, otherwise with one. */
function writtenFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "+inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -5 || exponent >= 6) return scientific(value, true);
  if (exponent >= 0) return Number.isInteger(value) ? `${value}.0` : String(value);
  return `${value < 0 ? "-" : ""}0.${"0".repeat(-exponent - 1)}${mantissa.replace(/[-.]/g, "")}`;
}

/** `1.5e+07`: six digits after the point, and at least two of the exponent. */
export function scientific(value: number, isShort: boolean): string {
  const [mantissa = "", exponent = "+0"] = value.toExponential(6).split("e");
  const digits = isShort ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}
