/**
 * Path patterns of deny entries: `*`, `?`, `[a-z]`, `[!a]` within one name, `**` for any number of directories, `{a,b}`
 * for alternatives. A backslash takes the next character literally.
 *
 * Pure: patterns are compiled here and matched name by name, so that a walk of the disk can tell early where nothing
 * can match. An invalid pattern is refused: ignoring it would leave something unprotected.
 */

import { invalidParams } from "../../errors.ts";

/** What one character must be, or any run of characters. */
type NameToken = "*" | ((char: string) => boolean);
/** One name of a pattern: `**`, or what the name must look like. */
type NamePattern = "**" | readonly NameToken[];

export interface GlobPattern {
  /** The fixed directory of the pattern: every match lies below it, or is it. */
  readonly base: string;
  /** What the names below the base must look like. Empty: the base itself is meant. */
  readonly names: readonly NamePattern[];
}

/**
 * How many patterns `{a,b}{c,d}…` may stand for. Alternatives multiply, so a short text could otherwise need more
 * memory than there is.
 */
const MAX_ALTERNATIVES = 256;

/** Characters of one pattern. A match has 4095 bytes at most; the rest is for alternatives. */
export const MAX_GLOB_LENGTH = 3 * 4096;

/**
 * Characters that may be looked at for all patterns of a sandbox together. Alternatives are expanded brace by brace, so
 * that a pattern of a thousand characters takes some thousands; this many take 0.03 s.
 */
const MAX_GLOB_STEPS = 500_000;

/** What is left of `MAX_GLOB_STEPS`. */
export class GlobSteps {
  #left: number;

  constructor(steps: number = MAX_GLOB_STEPS) {
    this.#left = steps;
  }

  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) {
      throw invalidParams("glob pattern has too many characters, with its alternatives and all others");
    }
  }
}

const WILDCARD = /[*?[{\\]/;

/** An absolute pattern, expanded to one pattern per alternative. */
export function compileGlob(pattern: string, steps: GlobSteps = new GlobSteps()): GlobPattern[] {
  // It is not repeated: the text of an error would be as long.
  if (pattern.length > MAX_GLOB_LENGTH) throw invalidParams(`glob pattern has more than ${MAX_GLOB_LENGTH} characters`);
  if (pattern.includes("\0")) throw invalidParams("glob pattern must not contain a NUL character");
  return expandBraces(pattern, steps).map((text) => {
    const names = text.split("/").filter((name) => name !== "" && name !== ".");
    if (names.includes("..")) throw invalidParams(`glob pattern must not contain \`..\`: ${pattern}`);
    const fixed = names.findIndex((name) => WILDCARD.test(name));
    const baseNames = fixed === -1 ? names : names.slice(0, fixed);
    return {
      base: `/${baseNames.join("/")}`,
      names: fixed === -1 ? [] : names.slice(fixed).map((name) => compileName(name, pattern)),
    };
  });
}

/** The positions in a pattern that a walk has reached. */
export type GlobState = readonly number[];

export const GLOB_START: GlobState = [0];

/** The state after one more name, and whether the path up to it matches. No state: nothing below can match. */
export function advanceGlob(
  pattern: GlobPattern,
  state: GlobState,
  name: string,
): { state: GlobState; isMatch: boolean } {
  const next = new Set<number>();
  for (const position of withSkips(pattern, state)) {
    const expected = pattern.names[position];
    if (expected === undefined) continue;
    if (expected === "**") next.add(position);
    else if (matchesName(expected, name)) next.add(position + 1);
  }
  const positions = [...next];
  // `x/**` means everything below x, so a final `**` must match at least one name.
  const isMatch = withSkips(pattern, positions).includes(pattern.names.length);
  return { state: positions.filter((position) => position < pattern.names.length), isMatch };
}

/** `**` may also match no directory at all, so the position after it is open too. */
function withSkips(pattern: GlobPattern, state: GlobState): number[] {
  const positions = new Set(state);
  for (const position of positions) if (pattern.names[position] === "**") positions.add(position + 1);
  return [...positions];
}

function compileName(name: string, pattern: string): NamePattern {
  if (name === "**") return "**";
  const chars = Array.from(name);
  const tokens: NameToken[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!;
    if (char === "*") {
      tokens.push("*");
    } else if (char === "?") {
      tokens.push(() => true);
    } else if (char === "[") {
      // A `]` in first position is a member, not the end.
      const first = chars[at + 1] === "!" || chars[at + 1] === "^" ? at + 2 : at + 1;
      const end = chars.indexOf("]", first + 1);
      if (end === -1) throw invalidParams(`glob pattern has an unclosed \`[\`: ${pattern}`);
      const isMember = characterClass(chars.slice(first, end));
      tokens.push(first === at + 1 ? isMember : (candidate) => !isMember(candidate));
      at = end;
    } else if (char === "\\") {
      const literal = chars[++at];
      if (literal === undefined) throw invalidParams(`glob pattern ends with a backslash: ${pattern}`);
      tokens.push((candidate) => candidate === literal);
    } else {
      tokens.push((candidate) => candidate === char);
    }
  }
  return tokens;
}

/** Single characters and ranges such as `a-z`. */
function characterClass(members: readonly string[]): (char: string) => boolean {
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at++) {
    const low = members[at]!;
    const high = members[at + 1] === "-" ? members[at + 2] : undefined;
    ranges.push([low, high ?? low]);
    if (high !== undefined) at += 2;
  }
  const codeOf = (char: string): number => char.codePointAt(0) ?? 0;
  return (char) => ranges.some(([low, high]) => codeOf(low) <= codeOf(char) && codeOf(char) <= codeOf(high));
}

/**
 * On a mismatch only the latest `*` takes one more character. That is enough, and takes at most pattern length times
 * name length, whatever clients and confined programs choose.
 */
function matchesName(tokens: readonly NameToken[], name: string): boolean {
  const chars = Array.from(name);
  let tokenAt = 0;
  let charAt = 0;
  let starAt = -1;
  let starTookUntil = 0;
  while (charAt < chars.length) {
    const token = tokens[tokenAt];
    if (token === "*") {
      starAt = tokenAt++;
      starTookUntil = charAt;
    } else if (token !== undefined && token(chars[charAt]!)) {
      tokenAt++;
      charAt++;
    } else if (starAt !== -1) {
      tokenAt = starAt + 1;
      charAt = ++starTookUntil;
    } else {
      return false;
    }
  }
  while (tokens[tokenAt] === "*") tokenAt++;
  return tokenAt === tokens.length;
}

/** `a{b,c}d` as `abd`, `acd`. */
function expandBraces(pattern: string, steps: GlobSteps): string[] {
  let expanded = [pattern];
  for (;;) {
    for (const text of expanded) steps.take(text.length);
    const next = expanded.flatMap((text) => expandFirstBrace(text, pattern));
    if (next.length > MAX_ALTERNATIVES) {
      throw invalidParams(`glob pattern has more than ${MAX_ALTERNATIVES} alternatives: ${pattern}`);
    }
    if (next.length === expanded.length && next.every((text, index) => text === expanded[index])) return next;
    expanded = next;
  }
}

function expandFirstBrace(text: string, pattern: string): string[] {
  const open = findUnescaped(text, "{", 0);
  if (open === -1) return [text];
  let depth = 0;
  const alternatives: string[] = [];
  let start = open + 1;
  for (let at = open; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (char === "{") depth++;
    else if (char === ",") {
      if (depth === 1) {
        alternatives.push(text.slice(start, at));
        start = at + 1;
      }
    } else if (char === "}" && --depth === 0) {
      alternatives.push(text.slice(start, at));
      return alternatives.map((alternative) => text.slice(0, open) + alternative + text.slice(at + 1));
    }
  }
  throw invalidParams(`glob pattern has an unclosed \`{\`: ${pattern}`);
}

function findUnescaped(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === wanted) return at;
  }
  return -1;
}
