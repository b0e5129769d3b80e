/**
 * JSON as the reference server reads it: duplicate keys, too many values, too deep nesting and lone surrogates are errors.
 * A number that no type can hold (`1e400`) is JSON all the same: it comes out as infinite, which no parameter takes.
 *
 * `JSON.parse` does the work at native speed and drops duplicates silently, so the checks compare what it built with
 * what the text holds, without looking at characters one by one:
 * - Most clients send compact JSON. If the text is exactly as long as the compact form of the parsed value, nothing was
 *   dropped: white space and dropped members only make a text longer.
 * - Otherwise strings are counted: in valid JSON every unescaped quote delimits a string, hence a text with more
 *   quotes than the parsed value accounts for had a key twice.
 */

import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from "../protocol/limits.ts";

/** Why a text is not acceptable JSON. The message may be shown to the peer. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
}

/** Below this length a text cannot hold more than the permitted number of values, each taking two characters or more. */
const PRESCAN_LENGTH = 2 * MAX_JSON_VALUES;

const LONE_SURROGATE_CANDIDATE = /\\u[dD][89a-fA-F]/;

/** Parses one JSON text or throws `StrictJsonError`. */
export function parseStrictJson(text: string): unknown {
  if (text.length >= PRESCAN_LENGTH) rejectOversizedStructure(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The cause is dropped: V8 quotes a part of the text in it, and payload must not travel into logs.
    throw new StrictJsonError(text.trim() === "" ? "message is empty" : "message is not valid JSON");
  }
  const hasEscapes = text.includes("\\");
  const audit = new Audit(text, hasEscapes);
  audit.visit(value, 1);
  if (audit.hasBackslashInKey) return new PatientParser(text).parse();
  const isCompact = !hasEscapes && audit.isLengthCertain && audit.compactLength === text.length;
  if (!isCompact && countStringDelimiters(text) !== 2 * audit.strings) {
    throw new StrictJsonError("duplicate key in an object");
  }
  return value;
}

/** Walks a parsed value once, counting what the text must account for. */
class Audit {
  /** Keys and string values. */
  strings = 0;
  /** Characters of the compact form, if no string needs an escape. */
  compactLength = 0;
  /** False when a number may have been written shorter than its decimal form (`1e3`), which could hide a duplicate. */
  isLengthCertain = true;
  /** V8 misreads keys with escapes in some states; every key it gets wrong holds a backslash. See `PatientParser`. */
  hasBackslashInKey = false;
  #values = 0;
  readonly #hasEscapes: boolean;
  readonly #checkSurrogates: boolean;

  constructor(text: string, hasEscapes: boolean) {
    this.#hasEscapes = hasEscapes;
    this.#checkSurrogates = hasEscapes && LONE_SURROGATE_CANDIDATE.test(text);
  }

  visit(value: unknown, depth: number): void {
    if (++this.#values > MAX_JSON_VALUES) throw tooManyValues();
    if (typeof value === "string") this.#string(value);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "boolean") this.compactLength += value ? 4 : 5;
    else if (value === null) this.compactLength += 4;
    else if (depth > MAX_JSON_DEPTH) throw tooDeep();
    else if (Array.isArray(value)) {
      this.compactLength += 2 + Math.max(0, value.length - 1);
      for (let i = 0; i < value.length; i++) this.visit(value[i], depth + 1);
    } else {
      let members = 0;
      for (const key in value as Record<string, unknown>) {
        members++;
        this.#string(key);
        if (this.#hasEscapes && key.includes("\\")) this.hasBackslashInKey = true;
        this.visit((value as Record<string, unknown>)[key], depth + 1);
      }
      this.compactLength += 2 + members + Math.max(0, members - 1);
    }
  }

  #string(text: string): void {
    this.strings++;
    this.compactLength += text.length + 2;
    if (this.#checkSurrogates && !text.isWellFormed()) throw new StrictJsonError("lone surrogate in a string");
  }

  #number(value: number): void {
    // An exponent saves characters only from three trailing zeros on, or below one.
    if (!Number.isSafeInteger(value) || (value % 1000 === 0 && value !== 0)) this.isLengthCertain = false;
    this.compactLength += String(value).length;
  }
}

function countStringDelimiters(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    if (!isEscaped(text, at)) count++;
  }
  return count;
}

const BACKSLASH = 0x5c;

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (first > 0 && text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** Index of the quote that closes the string opened at `open`, or -1. */
export function endOfString(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

/**
 * Refuses a long text with too many values or levels before `JSON.parse` builds gigabytes from it. Long messages are
 * nearly always one long string, which `indexOf` skips; anything else stops at the limit.
 */
function rejectOversizedStructure(text: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        if (at < 0) return; // Not terminated: JSON.parse says so.
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_JSON_DEPTH) throw tooDeep();
        if (++values > MAX_JSON_VALUES) throw tooManyValues();
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x2c: // ,
        if (++values > MAX_JSON_VALUES) throw tooManyValues();
    }
  }
}

/**
 * Builds objects member by member, for texts whose keys hold backslashes.
 *
 * V8 14 and 15 read `{"a":1,"\\u0062":2}` as having a key `\\` instead of `b` once they have seen an object with the keys
 * `a` and `\\`: the shape they remember is compared with the text before its escapes are decoded. Strings by themselves
 * and numbers are read right, so those are left to `JSON.parse`. The text is known to be valid JSON.
 */
class PatientParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): unknown {
    this.#skipSpace();
    const char = this.#text[this.#at];
    const value = char === "{" ? this.#object() : char === "[" ? this.#array() : this.#scalar();
    this.#skipSpace();
    return value;
  }

  #object(): Record<string, unknown> {
    const members: [string, unknown][] = [];
    const keys = new Set<string>();
    this.#list("}", () => {
      this.#skipSpace();
      const key = this.#scalar() as string;
      if (keys.has(key)) throw new StrictJsonError("duplicate key in an object");
      keys.add(key);
      this.#skipSpace();
      this.#at++; // The colon.
      members.push([key, this.parse()]);
    });
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#list("]", () => items.push(this.parse()));
    return items;
  }

  #list(close: string, item: () => void): void {
    this.#at++;
    this.#skipSpace();
    while (this.#text[this.#at] !== close) {
      item();
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  #scalar(): unknown {
    const start = this.#at;
    if (this.#text[start] === '"') this.#at = endOfString(this.#text, start) + 1;
    else while (/[-+.0-9a-zA-Z]/.test(this.#text[this.#at] ?? "")) this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }
}

function tooManyValues(): StrictJsonError {
  return new StrictJsonError(`more than ${MAX_JSON_VALUES} JSON values in one message`);
}

function tooDeep(): StrictJsonError {
  return new StrictJsonError(`nesting deeper than ${MAX_JSON_DEPTH} levels`);
}
