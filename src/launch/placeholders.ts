/**
 * Stand-ins for protected paths that do not exist, so that a mount can cover them and nobody inside can make them.
 *
 * A mount needs something to be mounted on, and what bubblewrap would make for that it leaves behind. So it is made
 * here, before the sandbox starts, and removed when the last sandbox that needs it has ended. Several sandboxes and
 * several servers may need the same one: each holds a shared lock on it, and whoever can get the exclusive lock is the
 * last and removes it. The kernel drops the locks of a server that dies, and its guard (`os/guard.ts`) removes what it
 * has left. Should the guard have died with it, what is left is recognised by its mode and taken over by the next server
 * that needs the place, or by nobody: it is empty.
 *
 * Removing it while a sandbox still runs would uncover the place inside it, which is why a found placeholder counts as
 * missing (`looksLikePlaceholder`) and is locked like one just made.
 */

import { invalidRequest } from "../errors.ts";
import type { Leftovers } from "../os/leftovers.ts";
import type { MissingPath } from "./policy.ts";

/** The effects needed, all on one path. The real ones are in `placeholder_files.ts`. */
export interface PlaceholderFiles {
  /**
   * Makes the placeholder if nothing is there, and takes a shared lock on it.
   * - `occupied`: something else is there.
   * - `busy`: it is just being removed; try again.
   * - `unneeded`: this user cannot make anything there, and neither can a child.
   */
  claim(missing: MissingPath): PlaceholderClaim | "occupied" | "busy" | "unneeded";
}

export interface PlaceholderClaim {
  /** Gives the lock back, and removes the placeholder when no other holder is left. Never throws. */
  release(): void;
}

/** Held from before a sandbox starts until nothing inside runs any more. */
export interface PlaceholderLease {
  /** What is held. Less than was asked for, where nothing could be made anyway. */
  readonly held: readonly MissingPath[];
  /** Harmless to call twice. */
  release(): void;
}

/**
 * Sticky, and not for others to write: nobody makes such a thing by accident, and a mode survives whoever set it. For its
 * owner it is writable: somebody outside the sandbox may want to make something there meanwhile (`git init`), and may.
 */
export const PLACEHOLDER_MODES: Readonly<Record<MissingPath["placeholder"], number>> = {
  directory: 0o1755,
  file: 0o1600,
};

const STICKY = 0o1000;
const WRITE_BY_OTHERS = 0o022;

/** Whether something could be a placeholder by its mode. It is one only if it is also ours and empty. */
export function looksLikePlaceholder({ mode, isSymlink }: Pick<Deno.FileInfo, "mode" | "isSymlink">): boolean {
  return mode !== null && !isSymlink && (mode & (STICKY | WRITE_BY_OTHERS)) === STICKY;
}

/** Somebody removing a placeholder takes some microseconds; so many attempts take some milliseconds. */
const MAX_ATTEMPTS = 200;

/** What becomes of placeholders should this program be killed. Nobody but the kernel's locks knows of them otherwise. */
export type LeftoverList = Pick<Leftovers, "add" | "delete">;

const NO_LIST: LeftoverList = { add: () => {}, delete: () => {} };

/** All of them, or none. */
export function holdPlaceholders(
  missing: readonly MissingPath[],
  files: PlaceholderFiles,
  leftovers: LeftoverList = NO_LIST,
): PlaceholderLease {
  const undo: (() => void)[] = [];
  const held: MissingPath[] = [];
  const release = (): void => {
    for (const step of undo.splice(0).reverse()) step();
  };
  try {
    for (const item of missing) {
      leftovers.add(item.path);
      undo.push(() => leftovers.delete(item.path));
      const claim = claimWithRetry(item, files);
      if (claim === null) continue;
      undo.push(() => claim.release());
      held.push(item);
    }
  } catch (error) {
    release();
    throw error;
  }
  return { held, release };
}

/** A path that was missing when the policy was made and is not any more: make the policy again. */
export class PathAppearedError extends Error {
  override readonly name = "PathAppearedError";

  constructor(path: string) {
    super(`${path} has come into existence`);
  }
}

function claimWithRetry(missing: MissingPath, files: PlaceholderFiles): PlaceholderClaim | null {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const claim = files.claim(missing);
    if (claim === "occupied") throw new PathAppearedError(missing.path);
    if (claim === "unneeded") return null;
    if (claim !== "busy") return claim;
  }
  throw invalidRequest(`Cannot protect ${missing.path}: its placeholder keeps being removed`);
}
