/**
 * The facts about the disk that a policy depends on, and how a path is followed through them.
 *
 * `HostTree` is the only place where the decisions of this folder touch the host: the server passes the real disk,
 * tests an imaginary one. `followPath` follows a path step by step as the kernel does, because the steps matter: which
 * links were passed, and which part is the first that does not exist.
 */

import { joinPath, parentPath } from "../../text_path.ts";

export interface HostEntry {
  /** `placeholder`: made by us so that nobody can create anything there. For a policy nothing exists there. */
  readonly type: "file" | "directory" | "symlink" | "placeholder";
  /** Device and inode, or whatever else distinguishes two files at one path. */
  readonly id: string;
  /** For a file, where known: changes whenever its names or its content do. */
  readonly version?: string;
}

export interface HostTree {
  /**
   * What is at a path, without following a link at its end. `blocked` when that cannot be told: a parent may not be
   * searched, or is not a directory.
   */
  look(path: string): HostEntry | "missing" | "blocked";
  /** The text of a link. */
  readLink(path: string): string;
  /** The beginning of a small file; null when it cannot be read. */
  readStart(path: string): string | null;
  /** Whether a path without links lies on a filesystem of the kernel (`kernel_mounts.ts`), which nobody may write. */
  isMadeUp(path: string): boolean;
}

/** A followed link: its path with all earlier links resolved, and its text. */
export interface FollowedLink {
  readonly path: string;
  readonly target: string;
}

export type FollowedPath =
  | {
    readonly type: "found";
    readonly path: string;
    readonly entry: HostEntry;
    readonly links: readonly FollowedLink[];
  }
  /** `firstMissing` is the first part that does not exist. Its parent does, and is a directory. */
  | { readonly type: "missing"; readonly firstMissing: string; readonly links: readonly FollowedLink[] }
  /** `obstacle` is the last part that could be looked at: a file used as a directory, or a directory closed to us. */
  | { readonly type: "blocked"; readonly obstacle: string; readonly links: readonly FollowedLink[] };

/** The kernel's own limit on links in one path. */
const MAX_LINKS = 40;

/** Follows an absolute, normalised path to what it names. */
export function followPath(tree: HostTree, path: string): FollowedPath {
  const links: FollowedLink[] = [];
  const pending = segmentsOf(path).reverse();
  let current = "/";
  /** What is at `current`; null for a directory that was passed before and not looked at again. */
  let entry: HostEntry | null = null;
  for (let segment = pending.pop(); segment !== undefined; segment = pending.pop()) {
    if (entry !== null && entry.type !== "directory") return { type: "blocked", obstacle: current, links };
    if (segment === "..") {
      current = parentPath(current);
      entry = null;
      continue;
    }
    const next = joinPath(current, segment);
    const found = tree.look(next);
    if (found === "blocked") return { type: "blocked", obstacle: current, links };
    if (found === "missing" || found.type === "placeholder") return { type: "missing", firstMissing: next, links };
    if (found.type === "symlink") {
      const target = tree.readLink(next);
      links.push({ path: next, target });
      if (links.length > MAX_LINKS) return { type: "blocked", obstacle: next, links };
      pending.push(...segmentsOf(target).reverse());
      if (target.startsWith("/")) current = "/";
      entry = null;
    } else {
      current = next;
      entry = found;
    }
  }
  const found = entry ?? tree.look(current);
  if (found === "blocked") return { type: "blocked", obstacle: current, links };
  if (found === "missing") return { type: "missing", firstMissing: current, links };
  return { type: "found", path: current, entry: found, links };
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}
