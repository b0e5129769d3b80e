/**
 * JSON as the reference server reads it: duplicate keys, too many values, too deep nesting and lone surrogates are
 * errors. A number that no type can hold (`1e400`) is still JSON: it becomes infinite, which no parameter accepts.
 *
 * `JSON.parse` does the work at native speed but drops duplicates silently. So the checks compare what it built with
 * the text, without looking at single characters:
 * - Most clients send compact JSON. If the text is exactly as long as the compact form of the parsed value, nothing was
 *   dropped: white space and dropped members only make a text longer.
 * - Otherwise strings are counted: in valid JSON every unescaped quote delimits a string, hence a text with more quotes
 *   than the parsed value accounts for had a key twice.
 *
 * Every step passes over the text at most once, whatever it contains: a message of 64 MiB must not stop the server.
 *
 * More than 300 lines: the fast checks and the slow parser they fall back to must agree on every rule.
 */

/** How much one text may hold. */
export interface JsonLimits {
  /** Scalars, arrays and objects. */
  readonly maxValues: number;
  /** Nested arrays and objects, the outermost counted. */
  readonly maxDepth: number;
  /** Characters of one number or word in a long text: a number of 60 MiB takes a fifth of a second. */
  readonly maxNumberCharacters: number;
}

/** Why a text is not acceptable JSON. The message may be shown to the peer. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
}

const LONE_SURROGATE_CANDIDATE = /\\u[dD][89a-fA-F]/;

/** Parses one JSON text or throws `StrictJsonError`. */
export function parseStrictJson(text: string, limits: JsonLimits): unknown {
  // A shorter text cannot contain more than the permitted number of values, at two characters or more each.
  const isLong = text.length >= 2 * limits.maxValues;
  if (isLong && hasEscapedKey(text, limits)) return new SlowJsonParser(text, limits).parse();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The cause is dropped: V8 quotes a part of the text in it, and content must not get into logs.
    throw new StrictJsonError(text.trim() === "" ? "message is empty" : "message is not valid JSON");
  }
  const hasEscapes = text.includes("\\");
  const audit = new Audit(text, hasEscapes, limits);
  audit.visit(value, 1);
  if (audit.hasBackslashInKey) return new SlowJsonParser(text, limits).parse();
  const isCompact = !hasEscapes && audit.isLengthCertain && audit.compactLength === text.length;
  if (!isCompact && countStringDelimiters(text) !== 2 * audit.strings) {
    throw new StrictJsonError("duplicate key in an object");
  }
  return value;
}

/** Walks a parsed value once, counting what the text must contain. */
class Audit {
  /** Keys and string values. */
  strings = 0;
  /** Characters of the compact form, if no string needs an escape. */
  compactLength = 0;
  /** False when a number may have been written shorter than its decimal form (`1e3`), which could hide a duplicate. */
  isLengthCertain = true;
  /** V8 misreads keys with escapes in some states; every key it gets wrong holds a backslash. See `SlowJsonParser`. */
  hasBackslashInKey = false;
  #values = 0;
  readonly #maxValues: number;
  readonly #maxDepth: number;
  readonly #hasEscapes: boolean;
  readonly #checkSurrogates: boolean;

  constructor(text: string, hasEscapes: boolean, limits: JsonLimits) {
    this.#maxValues = limits.maxValues;
    this.#maxDepth = limits.maxDepth;
    this.#hasEscapes = hasEscapes;
    this.#checkSurrogates = hasEscapes && LONE_SURROGATE_CANDIDATE.test(text);
  }

  visit(value: unknown, depth: number): void {
    if (++this.#values > this.#maxValues) throw tooManyValues(this.#maxValues);
    if (typeof value === "string") this.#string(value);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "boolean") this.compactLength += value ? 4 : 5;
    else if (value === null) this.compactLength += 4;
    else if (depth > this.#maxDepth) throw tooDeep(this.#maxDepth);
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
    if (this.#checkSurrogates && !text.isWellFormed()) throw loneSurrogate();
  }

  #number(value: number): void {
    // An exponent saves characters only from three trailing zeros on, or below one.
    if (!Number.isSafeInteger(value) || (value % 1000 === 0 && value !== 0)) this.isLengthCertain = false;
    this.compactLength += String(value).length;
  }
}

/** For text that is valid JSON. */
function countStringDelimiters(text: string): number {
  let count = 0;
  for (let open = text.indexOf('"'); open >= 0; count += 2) open = text.indexOf('"', endOfString(text, open) + 1);
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Index of the quote that closes the string opened at `open`, or -1. */
export function endOfString(text: string, open: number): number {
  const first = text.indexOf('"', open + 1);
  if (first < 0 || text.charCodeAt(first - 1) !== BACKSLASH || first - 1 === open) return first;
  // Among many escapes every quote would be found and rejected: from here on character by character.
  for (let at = open + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH) at++;
  }
  return -1;
}

/**
 * Refuses a long text with too many values, levels or digits before `JSON.parse` builds gigabytes from it. Long messages are
 * nearly always one long string, which `indexOf` skips; anything else stops at the limit.
 *
 * True as soon as a key is written with an escape: such a text is left to `SlowJsonParser`, which counts as it goes.
 */
function hasEscapedKey(text: string, { maxValues, maxDepth, maxNumberCharacters }: JsonLimits): boolean {
  let depth = 0;
  let values = 0;
  /** The last string, which is a key if a colon follows. */
  let open = 0;
  let close = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        open = at;
        close = at = endOfString(text, at);
        if (at < 0) return false; // Not terminated: JSON.parse says so.
        break;
      case 0x3a: // :
        // Only in the key. V8 may move a search through the whole text into the loop, and then repeat it for every key.
        if (text.slice(open, close).includes("\\")) return true;
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth) throw tooDeep(maxDepth);
        if (++values > maxValues) throw tooManyValues(maxValues);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x2c: // ,
        if (++values > maxValues) throw tooManyValues(maxValues);
        break;
      default:
        if (isOfNumber(text.charCodeAt(at))) at = endOfNumber(text, at, maxNumberCharacters) - 1;
    }
  }
  return false;
}

/** Digits, `+`, `-`, `.`, `e` and `E`. */
function isOfNumber(char: number): boolean {
  return (char >= 0x30 && char <= 0x39) || char === 0x65 || char === 0x45 || char === 0x2b || char === 0x2d ||
    char === 0x2e;
}

function endOfNumber(text: string, start: number, maxCharacters: number): number {
  let at = start;
  while (isOfNumber(text.charCodeAt(at))) {
    if (++at - start > maxCharacters) throw new StrictJsonError(`a number of more than ${maxCharacters} characters`);
  }
  return at;
}

/**
 * Builds objects member by member, for texts whose keys hold backslashes.
 *
 * V8 14 and 15 read `{"a":1,"\\u0062":2}` as having a key `\\` instead of `b` once they have seen an object with the
 * keys `a` and `\\`: they compare the remembered shape with the text before its escapes are decoded. Single strings and
 * numbers are read correctly, so those are left to `JSON.parse`, which also checks them. All other rules are kept here.
 */
class SlowJsonParser {
  readonly #text: string;
  readonly #maxValues: number;
  readonly #maxDepth: number;
  readonly #maxNumberCharacters: number;
  readonly #checkSurrogates: boolean;
  #at = 0;
  #values = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#maxValues = limits.maxValues;
    this.#maxDepth = limits.maxDepth;
    this.#maxNumberCharacters = limits.maxNumberCharacters;
    this.#checkSurrogates = LONE_SURROGATE_CANDIDATE.test(text);
  }

  parse(): unknown {
    const value = this.#value(1);
    if (this.#at < this.#text.length) throw notJson();
    return value;
  }

  /** One value, and the white space around it. */
  #value(depth: number): unknown {
    if (++this.#values > this.#maxValues) throw tooManyValues(this.#maxValues);
    this.#skipSpace();
    const char = this.#text.charCodeAt(this.#at);
    const value = char === 0x7b ? this.#object(depth) : char === 0x5b ? this.#array(depth) : this.#scalar();
    this.#skipSpace();
    return value;
  }

  #object(depth: number): Record<string, unknown> {
    if (depth > this.#maxDepth) throw tooDeep(this.#maxDepth);
    const object: Record<string, unknown> = {};
    this.#list(0x7d, () => {
      this.#skipSpace();
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw notJson();
      const key = this.#scalar() as string;
      if (Object.hasOwn(object, key)) throw new StrictJsonError("duplicate key in an object");
      this.#skipSpace();
      this.#expect(0x3a);
      const value = this.#value(depth + 1);
      if (key !== "__proto__") object[key] = value;
      // A member like any other; a plain assignment would set the object's prototype.
      else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    });
    return object;
  }

  #array(depth: number): unknown[] {
    if (depth > this.#maxDepth) throw tooDeep(this.#maxDepth);
    const items: unknown[] = [];
    this.#list(0x5d, () => items.push(this.#value(depth + 1)));
    return items;
  }

  #list(close: number, item: () => void): void {
    this.#at++;
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== close) {
      item();
      while (this.#text.charCodeAt(this.#at) === 0x2c) {
        this.#at++;
        item();
      }
    }
    this.#expect(close);
  }

  #scalar(): unknown {
    const start = this.#at;
    if (this.#text.charCodeAt(start) === QUOTE) {
      const end = endOfString(this.#text, start);
      this.#at = end < 0 ? this.#text.length : end + 1;
    } else this.#skipWord();
    const value = parseScalar(this.#text.slice(start, this.#at));
    if (this.#checkSurrogates && typeof value === "string" && !value.isWellFormed()) throw loneSurrogate();
    return value;
  }

  #skipWord(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charCodeAt(this.#at);
      if (isOfNumber(char)) this.#at = endOfNumber(this.#text, this.#at, this.#maxNumberCharacters) - 1;
      else if (char < 0x61 || char > 0x7a) return;
    }
  }

  #skipSpace(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charCodeAt(this.#at);
      if (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09) return;
    }
  }

  #expect(char: number): void {
    if (this.#text.charCodeAt(this.#at) !== char) throw notJson();
    this.#at++;
  }
}

function parseScalar(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(); // Without the cause, which quotes the text.
  }
}

function notJson(): StrictJsonError {
  return new StrictJsonError("message is not valid JSON");
}

function loneSurrogate(): StrictJsonError {
  return new StrictJsonError("lone surrogate in a string");
}

function tooManyValues(maxValues: number): StrictJsonError {
  return new StrictJsonError(`more than ${maxValues} JSON values in one message`);
}

function tooDeep(maxDepth: number): StrictJsonError {
  return new StrictJsonError(`nesting deeper than ${maxDepth} levels`);
}
