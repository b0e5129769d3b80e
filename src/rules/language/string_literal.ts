/** The inside of a string literal: escapes, raw strings, and the stretches of text between an f-string's braces. */

import { Failure } from "./failure.ts";

export interface StringStyle {
  /** `"`, `'`, or three of them. */
  readonly quote: string;
  readonly isRaw: boolean;
  /** Where the literal begins, for errors. */
  readonly start: number;
  /** Stops before each `{` that is not doubled. */
  readonly isFString?: boolean;
}

export interface StringPiece {
  readonly value: string;
  /** After the closing quote, or after the `{`. */
  readonly end: number;
  readonly stop: "quote" | "brace";
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  '"': '"',
  "'": "'",
  "\\": "\\",
  "\n": "",
};

const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const OCTAL = /[0-7]{1,3}/y;
const HEX = /[0-9A-Fa-f]*/y;

/** Starts after the opening quote, or after an expression of an f-string. */
export function readString(text: string, from: number, style: StringStyle): StringPiece {
  const { quote, isRaw, isFString = false } = style;
  const isTriple = quote.length === 3;
  let value = "";
  for (let at = from; at < text.length;) {
    const char = text[at]!;
    if (char === quote[0] && text.startsWith(quote, at)) return { value, end: at + quote.length, stop: "quote" };
    if (char === "\n" && !isTriple) throw unfinished(style.start, at);
    if (char === "\\") {
      const escape = isRaw ? rawEscape(text, at) : readEscape(text, at);
      value += escape.value;
      at = escape.end;
    } else if (isFString && (char === "{" || char === "}")) {
      if (text[at + 1] === char) {
        value += char;
        at += 2;
      } else if (char === "{") return { value, end: at + 1, stop: "brace" };
      else throw new Failure("Parse error: invalid input `}`: write `}}` for a brace", { start: at, end: at + 1 });
    } else {
      // Carriage returns of the file itself are not part of a string, whatever wrote them.
      if (char !== "\r") value += char;
      at++;
    }
  }
  throw unfinished(style.start, text.length);
}

/** In a raw string a backslash stays, except before a quote: it is removed, and the quote does not end the string. */
function rawEscape(text: string, at: number): { value: string; end: number } {
  const next = text[at + 1];
  if (next === undefined) return { value: "", end: at + 1 };
  return { value: next === '"' || next === "'" ? next : `\\${next}`, end: at + 2 };
}

function readEscape(text: string, at: number): { value: string; end: number } {
  const next = text[at + 1];
  if (next === undefined) throw unfinished(at, text.length);
  if (next === "\r" && text[at + 2] === "\n") return { value: "", end: at + 3 };
  const simple = SIMPLE_ESCAPES[next];
  if (simple !== undefined) return { value: simple, end: at + 2 };
  OCTAL.lastIndex = at + 1;
  const octal = OCTAL.exec(text)?.[0];
  if (octal !== undefined) return { value: String.fromCodePoint(parseInt(octal, 8)), end: at + 1 + octal.length };
  const digits = HEX_DIGITS[next];
  // A backslash before anything else is a backslash.
  if (digits === undefined) return { value: `\\${next}`, end: at + 2 };
  HEX.lastIndex = at + 2;
  const hex = HEX.exec(text)![0].slice(0, digits);
  const code = parseInt(hex, 16);
  if (hex.length < digits || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    const shown = text.slice(at + 1, at + 2 + digits);
    throw new Failure(`Parse error: invalid string escape sequence \`${shown}\``, { start: at, end: at + 2 + digits });
  }
  return { value: String.fromCodePoint(code), end: at + 2 + digits };
}

function unfinished(start: number, end: number): Failure {
  return new Failure("Parse error: unfinished string literal", { start, end });
}
