/**
 * Which changes a watch under a sandbox must not report: those of paths that the sandbox denies by name, whether they
 * exist or not.
 *
 * A sandbox hides what exists when it is made (`backends/bubblewrap_mounts.ts`). A file that appears later under a
 * denied name is not hidden from the server. The server does the watching, so its watches ask here.
 */

import { lossyText, toByteString } from "../../os/files/byte_string.ts";
import type { NativePath } from "../../path_uri.ts";
import { advanceGlob, GLOB_START, type GlobPattern } from "./glob_pattern.ts";
import { followPath, type HostTree } from "./host_tree.ts";
import type { RequestedFiles } from "./policy_entries.ts";
import { isWithin } from "../../text_path.ts";

export type IsDenied = (path: NativePath) => boolean;

/** For paths without links. Names that are not UTF-8 are compared as far as they are text. Null: no name is denied. */
export function watchDenials({ entries, globs }: RequestedFiles, tree: HostTree): IsDenied | null {
  const places = (access: "deny" | "write") => {
    return entries.filter((entry) => entry.access === access).map(({ path }) => placeOf(path, tree));
  };
  // Denying the root means granting nothing; it says nothing about what is granted below it.
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

/** Where a path leads; if it leads nowhere, its first missing part. */
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
