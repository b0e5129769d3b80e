/**
 * Finds what a user probably meant by an unknown word: a command or a flag.
 *
 * Returns nothing when nothing is near: a far-fetched guess misleads more than none.
 */

/** Longer than any flag; past it a word is not a typing mistake and the table would only cost time. */
const MAX_COMPARED_CHARS = 64;
/** The share of characters that may differ: `sreve` finds `serve`, `port` does not find `log`. */
const MAX_DIFFERING_SHARE = 0.4;
/** Two neighbours in the wrong order are a slip of the fingers, less than a wrong letter: so `sl` finds `ls`. */
const SWAP_COST = 0.75;
/** A word this long that occurs inside a candidate is an abbreviation of it. */
const MIN_ABBREVIATION_CHARS = 3;

/** The candidate nearest to `word`, or null when none is near. Of equals, the first. */
export function nearestWord(word: string, candidates: Iterable<string>): string | null {
  if (word.length > MAX_COMPARED_CHARS) return null;
  let best: string | null = null;
  let bestScore = Infinity;
  for (const candidate of candidates) {
    const score = differingShare(word, candidate);
    if (score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/** 0 for equal words, Infinity for words that have nothing to do with each other. */
function differingShare(word: string, candidate: string): number {
  const longer = Math.max(word.length, candidate.length);
  const share = editDistance(word, candidate) / longer;
  if (share <= MAX_DIFFERING_SHARE) return share;
  // An abbreviation ranks behind every near miss; among several, the candidate it covers most of comes first.
  const isAbbreviation = word.length >= MIN_ABBREVIATION_CHARS && candidate.includes(word);
  return isAbbreviation ? MAX_DIFFERING_SHARE + share : Infinity;
}

/** Letters left out, put in, or wrong, and neighbours in the wrong order; of the table only two rows are kept. */
function editDistance(a: string, b: string): number {
  let beforeThat: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwapped ? beforeThat[column - 2]! + SWAP_COST : Infinity;
      current.push(Math.min(replaced, swapped, above[column]! + 1, current[column - 1]! + 1));
    }
    [beforeThat, above] = [above, current];
  }
  return above[b.length]!;
}
