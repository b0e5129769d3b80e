/**
 * What a sandbox object denies by name, whether anything is there or not.
 *
 * A sandbox covers what exists when it is made. Whoever is told of things that appear later asks here as well, so that a
 * file is not told of under a name that was denied all along.
 */

import { lossyText, toByteString } from "../os/byte_string.ts";
import type { NativePath } from "../path_uri.ts";
import { advanceGlob, GLOB_START, type GlobPattern } from "./glob_pattern.ts";
import { followPath, type HostTree, isWithin } from "./host_tree.ts";
import type { RequestedFiles } from "./policy_entries.ts";

export type IsDenied = (path: NativePath) => boolean;

/** For paths free of links. Names that are not UTF-8 are looked at as far as they are text. Null: no name is denied. */
export function deniedNames({ entries, globs }: RequestedFiles, tree: HostTree): IsDenied | null {
  const places = (access: "deny" | "write") => {
    return entries.filter((entry) => entry.access === access).map(({ path }) => placeOf(path, tree));
  };
  // To deny the root is to grant nothing, and says nothing about what is granted below it.
  const denied = places("deny").filter((place) => place !== "/");
  if (denied.length === 0 && globs.length === 0) return null;
  const writable = places("write");
  return (path) => {
    const text = typeof path === "string" ? path : lossyText(toByteString(path));
    const isGrantedAgain = (place: string) => {
      return writable.some((root) => root !== place && isWithin(root, place) && isWithin(text, root));
    };
    return denied.some((place) => isWithin(text, place) && !isGrantedAgain(place)) ||
      globs.some((glob) => matches(glob, text));
  };
}

/** Where a path leads; of one that leads nowhere, the first part that is missing. */
function placeOf(path: string, tree: HostTree): string {
  const found = followPath(tree, path);
  return found.type === "found" ? found.path : found.type === "missing" ? found.firstMissing : path;
}

/** Whether a path, or a directory it lies in, matches. */
function matches(glob: GlobPattern, path: string): boolean {
  if (!isWithin(path, glob.base)) return false;
  if (glob.names.length === 0) return true;
  let state = GLOB_START;
  for (const name of path.slice(glob.base.length).split("/").filter((name) => name !== "")) {
    const step = advanceGlob(glob, state, name);
    if (step.isMatch) return true;
    state = step.state;
  }
  return false;
}
