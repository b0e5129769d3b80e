/**
 * Patterns for names of environment variables: `*` is any run of characters, `?` any one character, the rest matches
 * itself in either case. A pattern matches whole names.
 *
 * Clients choose both patterns and names, and nothing else runs during a match. Without `?` a match reads the pattern
 * and the name once. For patterns with `?`, and for many patterns times many names, there is a budget; a request that
 * needs more is refused.
 */

import { invalidParams } from "../errors.ts";

/**
 * Steps that all matching for one child may take: less than 0.1 s. Fifty patterns of twenty characters and a hundred
 * variables take some ten thousand steps.
 */
export const MAX_MATCH_STEPS = 8_000_000;

/** Counts down what matching for one child may cost. */
export class MatchBudget {
  #left: number;

  constructor(steps = MAX_MATCH_STEPS) {
    this.#left = steps;
  }

  /** Throws when less than this is left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) {
      throw invalidParams("envPolicy has too many patterns, or too long ones, for this many variables");
    }
  }
}

/** The characters between two stars. */
interface Piece {
  readonly characters: readonly string[];
  /**
   * For each prefix, the length of the longest shorter prefix that is also its end: a search continues from there.
   * Null: the piece has a `?`.
   */
  readonly overlaps: Int32Array | null;
}

export class NamePattern {
  readonly #pieces: readonly Piece[];
  readonly #budget: MatchBudget;

  constructor(pattern: string, budget: MatchBudget) {
    // Before anything is allocated for it.
    budget.spend(pattern.length);
    this.#budget = budget;
    this.#pieces = pattern.toLowerCase().split("*").map(pieceOf);
  }

  /** `name` as `foldCase` gives it. */
  matches(name: readonly string[]): boolean {
    const pieces = this.#pieces;
    const first = pieces[0]!;
    const last = pieces[pieces.length - 1]!;
    this.#budget.spend(1);
    if (pieces.length === 1) {
      return name.length === first.characters.length && this.#isAt(first, name, 0);
    }
    const end = name.length - last.characters.length;
    if (first.characters.length > end || !this.#isAt(first, name, 0) || !this.#isAt(last, name, end)) return false;
    // The earliest position for each piece leaves the most room for the next ones.
    let from = first.characters.length;
    for (let index = 1; index < pieces.length - 1; index++) {
      const piece = pieces[index]!;
      const at = this.#find(piece, name, { from, end });
      if (at < 0) return false;
      from = at + piece.characters.length;
    }
    return true;
  }

  #isAt({ characters }: Piece, name: readonly string[], at: number): boolean {
    let index = 0;
    while (index < characters.length && (characters[index] === "?" || characters[index] === name[at + index])) index++;
    this.#budget.spend(index);
    return index === characters.length;
  }

  /** The first position of the piece between the two; -1 for none. */
  #find(piece: Piece, name: readonly string[], { from, end }: { from: number; end: number }): number {
    const { characters, overlaps } = piece;
    if (overlaps === null) {
      for (let at = from; at + characters.length <= end; at++) {
        this.#budget.spend(1);
        if (this.#isAt(piece, name, at)) return at;
      }
      return -1;
    }
    let matched = 0;
    let at = from;
    for (; at < end && matched < characters.length; at++) {
      while (matched > 0 && characters[matched] !== name[at]) matched = overlaps[matched - 1]!;
      if (characters[matched] === name[at]) matched++;
    }
    this.#budget.spend(1 + at - from);
    return matched === characters.length ? at - matched : -1;
  }
}

/** As patterns compare them: character by character, whatever the case. */
export function foldCase(text: string): string[] {
  return Array.from(text.toLowerCase());
}

function pieceOf(text: string): Piece {
  const characters = Array.from(text);
  return { characters, overlaps: characters.includes("?") ? null : overlapsOf(characters) };
}

/** The table of Knuth, Morris and Pratt. */
function overlapsOf(characters: readonly string[]): Int32Array {
  const overlaps = new Int32Array(characters.length);
  let matched = 0;
  for (let at = 1; at < characters.length; at++) {
    while (matched > 0 && characters[matched] !== characters[at]) matched = overlaps[matched - 1]!;
    if (characters[matched] === characters[at]) matched++;
    overlaps[at] = matched;
  }
  return overlaps;
}
