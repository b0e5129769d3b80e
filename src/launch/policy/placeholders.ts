/**
 * Stand-ins for protected paths that do not exist, so that a mount can cover them and nobody inside can create them.
 *
 * A mount needs something to be mounted on, and bubblewrap would leave behind what it creates for that. So it is
 * created here, before the sandbox starts, and removed when the last sandbox that needs it has ended. Several sandboxes
 * and servers may need the same one: each holds a shared lock on it, and the one that gets the exclusive lock is the
 * last and removes it. The kernel drops the locks of a server that dies, and its guard (`process/posix/guard.ts`)
 * removes what it left. If the guard dies too, the next server that needs the path recognises the placeholder by its
 * mode and takes it over. Until then it is just an empty directory.
 *
 * Removing it while a sandbox still runs would uncover the path inside. So an existing placeholder counts as missing
 * (`looksLikePlaceholder`) and is locked like a new one.
 */

import { invalidRequest } from "../../errors.ts";
import type { MissingPath } from "./policy.ts";

/** The effects needed, all on one path. The real ones are in `placeholder_files.ts`. */
export interface PlaceholderFiles {
  /**
   * Creates the placeholder if nothing is there, and takes a shared lock on it.
   * - `occupied`: something else is there.
   * - `busy`: it is just being removed; try again.
   * - `unneeded`: this user cannot create anything there, and neither can a child.
   */
  claim(missing: MissingPath): PlaceholderClaim | "occupied" | "busy" | "unneeded";
}

export interface PlaceholderClaim {
  /** Releases the lock, and removes the placeholder when no other holder is left. Never throws. */
  release(): void;
}

/** Held from before a sandbox starts until nothing inside runs any more. */
export interface PlaceholderLease {
  /** What is held. Fewer than asked for where nothing could be created anyway. */
  readonly held: readonly MissingPath[];
  /** Harmless to call twice. */
  release(): void;
}

/**
 * Sticky and not writable by others: nobody makes such a directory by accident, and a mode outlives the process that
 * set it. Its owner may write to it: a program outside the sandbox may want to create something there meanwhile (`git
 * init`).
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

/** Removing a placeholder takes some microseconds; this many attempts take some milliseconds. */
const MAX_ATTEMPTS = 200;

/**
 * The placeholders that the guard removes if this program is killed. Without this list only the kernel's locks know of
 * them.
 */
export interface LeftoverList {
  add(path: string): void;
  delete(path: string): void;
}

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

/** A path that was missing when the policy was made exists now: make the policy again. */
export class PathAppearedError extends Error {
  override readonly name = "PathAppearedError";

  constructor(path: string) {
    super(`${path} appeared meanwhile`);
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
