/** The methods of strings. Positions count characters; white space is what Unicode says it is. */

import { braceFormat } from "./brace_format.ts";
import { Failure } from "./failure.ts";
import { builtin, parameters, wrongType } from "./signature.ts";
import { rightSplit, split, splitLines } from "./string_splitting.ts";
import { characters, iterate } from "./subscripts.ts";
import { Builtin, List, type Machine, Sequence, Tuple, type Value } from "./values.ts";

type Method = (text: string) => Builtin;

/** White space of Unicode. JavaScript's `\s` also has the byte order mark, and lacks U+0085. */
const SPACES = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LEADING_SPACES = new RegExp(`^${SPACES}+`);
const ONLY_SPACES = new RegExp(`^${SPACES}+$`);
const SPACE = new RegExp(SPACES);

export const STRING_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  method("capitalize", [], (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()),
  method("codepoints", [], (text, _, { budget }) => {
    budget.cells(text.length);
    return new Sequence(Array.from(text, (char) => BigInt(char.codePointAt(0)!)));
  }),
  method("count", ["needle: str", "start: int | None?", "end: int | None?"], (text, [needle, start, end]) => {
    const part = within(text, start, end)?.part ?? "";
    if (needle === "") return BigInt(characters(part).length + 1);
    return BigInt(part.split(needle as string).length - 1);
  }),
  method("elems", [], (text, _, { budget }) => {
    budget.cells(text.length);
    return new Sequence([...text]);
  }),
  method("endswith", ["suffix: any"], (text, [suffix]) => isOneOf("suffix", suffix!, (end) => text.endsWith(end))),
  method("find", FIND(), (text, values) => find(text, values, false) ?? -1n),
  ["format", (text) => new Builtin("format", (args, { budget }) => braceFormat(text, args, budget))],
  method("index", FIND(), (text, values) => found(text, values, false)),
  method("isalnum", [], (text) => /^[\p{Alphabetic}\p{N}]+$/u.test(text)),
  method("isalpha", [], (text) => /^\p{Alphabetic}+$/u.test(text)),
  method("isdigit", [], (text) => /^\p{N}+$/u.test(text)),
  method("islower", [], (text) => /\p{Lowercase}/u.test(text) && !/\p{Uppercase}/u.test(text)),
  method("isspace", [], (text) => ONLY_SPACES.test(text)),
  method("istitle", [], isTitle),
  method("isupper", [], (text) => /\p{Uppercase}/u.test(text) && !/\p{Lowercase}/u.test(text)),
  method("join", ["to_join: any"], join),
  method("lower", [], (text) => text.toLowerCase()),
  method("lstrip", ["chars: str | None?"], (text, [chars]) => strip(text, chars, "start")),
  method("partition", ["needle: str"], (text, [needle]) => partition(text, needle as string, false)),
  method("removeprefix", ["prefix: str"], (text, [prefix]) => {
    return text.startsWith(prefix as string) ? text.slice((prefix as string).length) : text;
  }),
  method("removesuffix", ["suffix: str"], (text, [suffix]) => {
    const end = suffix as string;
    return text.endsWith(end) ? text.slice(0, text.length - end.length) : text;
  }),
  method("replace", ["old: str", "new: str", "count: int?"], replace),
  method("rfind", FIND(), (text, values) => find(text, values, true) ?? -1n),
  method("rindex", FIND(), (text, values) => found(text, values, true)),
  method("rpartition", ["needle: str"], (text, [needle]) => partition(text, needle as string, true)),
  method(
    "rsplit",
    SPLIT(),
    (text, [separator, max], { budget }) => listOf(rightSplit(text, separator, max, SPACE), budget),
  ),
  method("rstrip", ["chars: str | None?"], (text, [chars]) => strip(text, chars, "end")),
  method("split", SPLIT(), (text, [separator, max], { budget }) => listOf(split(text, separator, max, SPACE), budget)),
  method("splitlines", ["keepends: bool?"], (text, [keepEnds], { budget }) => {
    return listOf(splitLines(text, keepEnds === true), budget);
  }),
  method(
    "startswith",
    ["prefix: any"],
    (text, [prefix]) => isOneOf("prefix", prefix!, (begin) => text.startsWith(begin)),
  ),
  method("strip", ["chars: str | None?"], (text, [chars]) => strip(text, chars, "both")),
  method("title", [], title),
  method("upper", [], (text) => text.toUpperCase()),
]);

function FIND(): string[] {
  return ["needle: str", "start: int | None?", "end: int | None?"];
}

function SPLIT(): string[] {
  return ["sep: str | None?", "maxsplit: int | None?"];
}

/** A method costs at least as much as going through the string, and its result has to fit into the budget. */
function method(
  name: string,
  specs: string[],
  run: (text: string, values: (Value | undefined)[], machine: Machine) => Value,
): [string, Method] {
  const taken = parameters(...specs);
  return [
    name,
    (text) =>
      builtin(name, taken, (values, machine) => {
        machine.budget.step(1 + (text.length >> 3));
        const result = run(text, values, machine);
        if (typeof result === "string") machine.budget.text(result.length);
        return result;
      }),
  ];
}

function listOf(texts: string[], budget: Machine["budget"]): List {
  budget.cells(texts.length);
  for (const text of texts) budget.text(text.length);
  return new List(texts);
}

function isOneOf(parameter: string, wanted: Value, test: (text: string) => boolean): boolean {
  if (typeof wanted === "string") return test(wanted);
  if (wanted instanceof Tuple && wanted.items.every((item) => typeof item === "string")) {
    return wanted.items.some((item) => test(item as string));
  }
  throw wrongType(parameter, "str | tuple[str, ...]", wanted);
}

/**
 * The part of the text between two positions, and how many characters are before it. Null: the start is after the end.
 */
function within(
  text: string,
  start: Value | undefined,
  end: Value | undefined,
): { part: string; before: number } | null {
  const chars = characters(text);
  const clamp = (value: Value | undefined, whenAbsent: number): number => {
    if (typeof value !== "bigint") return whenAbsent;
    const wanted = Number(value);
    return Math.min(chars.length, Math.max(0, wanted < 0 ? wanted + chars.length : wanted));
  };
  const [from, to] = [clamp(start, 0), clamp(end, chars.length)];
  if (from > to) return null;
  const part = chars.slice(from, to);
  return { part: typeof part === "string" ? part : part.join(""), before: from };
}

function find(text: string, [needle, start, end]: (Value | undefined)[], isFromEnd: boolean): bigint | null {
  const range = within(text, start, end);
  if (range === null) return null;
  const { part, before } = range;
  const at = isFromEnd ? part.lastIndexOf(needle as string) : part.indexOf(needle as string);
  return at < 0 ? null : BigInt(before + characters(part.slice(0, at)).length);
}

function found(text: string, values: (Value | undefined)[], isFromEnd: boolean): bigint {
  const at = find(text, values, isFromEnd);
  if (at === null) {
    throw new Failure(`Substring '${String(values[0]).slice(0, 80)}' not found in '${text.slice(0, 80)}'`);
  }
  return at;
}

function join(separator: string, [list]: (Value | undefined)[], { budget }: Machine): string {
  const parts = iterate(list!, budget);
  let length = 0;
  for (const part of parts) {
    if (typeof part !== "string") throw wrongType("to_join", "str", part);
    budget.step();
    length += part.length + separator.length;
  }
  budget.text(length);
  return parts.join(separator);
}

function strip(text: string, chars: Value | undefined, side: "start" | "end" | "both"): string {
  const isStripped = typeof chars === "string"
    ? (char: string) => chars.includes(char)
    : (char: string) => SPACE.test(char);
  if (side !== "end" && typeof chars !== "string") text = text.replace(LEADING_SPACES, "");
  else if (side !== "end") {
    const all = [...text];
    const keep = all.findIndex((char) => !isStripped(char));
    text = keep < 0 ? "" : all.slice(keep).join("");
  }
  if (side === "start") return text;
  const all = [...text];
  while (all.length > 0 && isStripped(all.at(-1)!)) all.pop();
  return all.join("");
}

function partition(text: string, needle: string, isFromEnd: boolean): Tuple {
  if (needle === "") throw new Failure("Empty separator cannot be used for partitioning");
  const at = isFromEnd ? text.lastIndexOf(needle) : text.indexOf(needle);
  if (at < 0) return new Tuple(isFromEnd ? ["", "", text] : [text, "", ""]);
  return new Tuple([text.slice(0, at), needle, text.slice(at + needle.length)]);
}

function replace(text: string, [old, replacement, count]: (Value | undefined)[], { budget }: Machine): string {
  if (typeof count === "bigint" && count < 0n) throw new Failure("Replace final argument was negative");
  const pieces = (old as string) === "" ? ["", ...text, ""] : text.split(old as string);
  const times = Math.min(pieces.length - 1, count === undefined ? Infinity : Number(count));
  budget.text(text.length + times * (replacement as string).length);
  const changed = pieces.slice(0, times + 1).join(replacement as string);
  return times === pieces.length - 1
    ? changed
    : changed + (old as string) + pieces.slice(times + 1).join(old as string);
}

/** Letters that follow a letter are lower case, the others upper case. */
function title(text: string): string {
  return text.replace(/\p{Alphabetic}+/gu, (word) => {
    const [first = "", ...rest] = word;
    return first.toUpperCase() + rest.join("").toLowerCase();
  });
}

function isTitle(text: string): boolean {
  const words = text.match(/\p{Alphabetic}+/gu);
  return words !== null && words.every((word) => /^[\p{Lu}\p{Lt}]\P{Uppercase}*$/u.test(word));
}
