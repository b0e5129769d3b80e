/**
 * Finds what the patterns of deny entries match now. Files that appear later are not covered.
 *
 * Bounded in time and in matches. Beyond a bound the request is refused, because a partial answer would leave something
 * unprotected that the client asked to protect. Links are not followed; a link that matches is a match.
 */

import { invalidRequest } from "../../errors.ts";
import { advanceGlob, GLOB_START, type GlobPattern, type GlobState } from "./glob_pattern.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import { depthOf, joinPath } from "../../text_path.ts";

export interface ListedName {
  readonly name: string;
  readonly isDirectory: boolean;
  /** False when the name is not UTF-8, so that nothing can be done with it by name. */
  readonly isUsable: boolean;
}

export interface DirectoryLister {
  /**
   * The names in a directory. Empty when it does not exist, or when we may not list it: then a child of ours may not
   * either.
   */
  list(path: string): Promise<readonly ListedName[]>;
}

/**
 * Names looked at for one request. A large checkout with its dependencies has 100,000 to 200,000, which takes about a
 * second. Beyond that the pattern was most likely meant to be narrower.
 */
const MAX_SCANNED_NAMES = 400_000;

/**
 * Each match becomes a mount. bubblewrap takes at most 9000 arguments, three per mount, and its time grows with the
 * square of their number: a hundred cost little, this many take some seconds.
 */
const MAX_GLOB_MATCHES = 2000;

/** A sandbox has its own of these: nobody inside can reach the host's. */
const NOT_SCANNED: ReadonlySet<string> = new Set(["/proc", "/dev"]);

export interface GlobScanOptions {
  /** Levels below the fixed part of a pattern; null for all. */
  readonly maxDepth: number | null;
  readonly maxNames?: number;
  readonly maxMatches?: number;
}

/** Absolute paths of all matches, each once, in no particular order. Nothing below a match is listed. */
export async function scanGlobs(
  patterns: readonly GlobPattern[],
  lister: DirectoryLister,
  options: GlobScanOptions,
): Promise<string[]> {
  const { maxDepth, maxNames = MAX_SCANNED_NAMES, maxMatches = MAX_GLOB_MATCHES } = options;
  const matches = new Set<string>();
  let scannedNames = 0;
  const slice = sharedPacer().slice();

  const add = (path: string): void => {
    matches.add(path);
    if (matches.size > maxMatches) {
      throw invalidRequest(`Cannot deny glob matches: more than ${maxMatches} paths match`);
    }
  };

  const scan = async (pattern: GlobPattern): Promise<void> => {
    const pending: { directory: string; state: GlobState }[] = [{ directory: pattern.base, state: GLOB_START }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { directory } = next;
      if (NOT_SCANNED.has(directory)) continue;
      if (slice.isOver) await slice.rest();
      const isDeepest = maxDepth !== null && depthOf(directory) - depthOf(pattern.base) + 1 >= maxDepth;
      for (const { name, isDirectory, isUsable } of await lister.list(directory)) {
        if (++scannedNames > maxNames) {
          throw invalidRequest(
            `Cannot deny glob matches: more than ${maxNames} names to look at; use a narrower pattern`,
          );
        }
        if (slice.isOverAtLast) await slice.rest();
        const { state, isMatch } = advanceGlob(pattern, next.state, name);
        const goesOn = isDirectory && state.length > 0 && !isDeepest;
        if (!isUsable && (isMatch || goesOn)) {
          throw invalidRequest(`Cannot deny glob matches: a name in ${directory} is not UTF-8`);
        }
        const path = joinPath(directory, name);
        if (isMatch) add(path);
        else if (goesOn) pending.push({ directory: path, state });
      }
    }
  };

  for (const pattern of patterns) {
    if (pattern.names.length === 0) add(pattern.base);
    else await scan(pattern);
  }
  return [...matches];
}
