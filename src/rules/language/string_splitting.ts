/** `split`, `rsplit` and `splitlines`: by a separator, by white space, by ends of lines. */

import type { Value } from "./values.ts";

/**
 * At most `max` cuts, from the left. Without a separator, a run of white space counts as one separator, and white space
 * at the ends as none.
 */
export function split(text: string, separator: Value | undefined, max: Value | undefined, space: RegExp): string[] {
  const cuts = cutsOf(max);
  if (typeof separator === "string") return splitBy(text, separator, cuts);
  const words: string[] = [];
  let rest = trimmedStart(text, space);
  while (rest !== "" && words.length < cuts) {
    const end = rest.search(space);
    if (end < 0) break;
    words.push(rest.slice(0, end));
    rest = trimmedStart(rest.slice(end), space);
  }
  if (rest !== "") words.push(rest);
  return words;
}

/** The same from the right. */
export function rightSplit(
  text: string,
  separator: Value | undefined,
  max: Value | undefined,
  space: RegExp,
): string[] {
  const reversed = (word: string) => [...word].reverse().join("");
  const mirrored = typeof separator === "string" ? reversed(separator) : separator;
  return split(reversed(text), mirrored, max, space).map(reversed).reverse();
}

export function splitLines(text: string, keepEnds: boolean): string[] {
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  return keepEnds ? lines : lines.map((line) => line.replace(/\r?\n$|\r$/, ""));
}

/** None and negative numbers mean no bound. */
function cutsOf(max: Value | undefined): number {
  return typeof max === "bigint" && max >= 0n ? Number(max) : Infinity;
}

function splitBy(text: string, separator: string, cuts: number): string[] {
  const pieces = separator === "" ? ["", ...text, ""] : text.split(separator);
  if (pieces.length - 1 <= cuts) return pieces;
  return [...pieces.slice(0, cuts), pieces.slice(cuts).join(separator)];
}

function trimmedStart(text: string, space: RegExp): string {
  let at = 0;
  while (at < text.length && space.test(text[at]!)) at++;
  return text.slice(at);
}
