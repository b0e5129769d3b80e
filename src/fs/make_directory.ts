/**
 * Makes a directory where there may be a placeholder (`launch/policy/placeholders.ts`). To a client a placeholder does
 * not exist: it becomes the directory, and the sandbox no longer removes it. Inside the sandbox the path is read-only,
 * and the answer says so.
 */

import type { ByteString } from "../os/files/byte_string.ts";
import { EEXIST } from "../os/errno.ts";
import { AT_FDCWD, chmodAt, makeDirectoryAt, realPath } from "../os/files/file_calls.ts";
import { S_IFDIR, statAt } from "../os/files/file_stat.ts";
import { looksLikePlaceholder } from "../launch/policy/placeholders.ts";
import { isPlaceholder } from "./tree/directory_reader.ts";
import { must } from "./map_error.ts";

/** The mode of a new directory under the usual umask. */
const USUAL_MODE = 0o755;

/** 0, or minus the error number. */
export function makeDirectory(directory: number, path: ByteString, mode = 0o777): number {
  const made = makeDirectoryAt(directory, path, mode);
  if (made !== -EEXIST || !isPlaceholder(directory, path)) return made;
  return chmodAt(directory, path, USUAL_MODE & mode);
}

/** Whether there is a directory, following links. A placeholder at the end of a link becomes a directory. */
export function isOrBecomesDirectory(path: ByteString): boolean {
  const stat = statAt(AT_FDCWD, path);
  if (typeof stat === "number" || stat.type !== S_IFDIR) return false;
  if (looksLikePlaceholder({ mode: stat.mode, isSymlink: false })) {
    const real = must(realPath(path));
    if (isPlaceholder(AT_FDCWD, real)) must(chmodAt(AT_FDCWD, real, USUAL_MODE));
  }
  return true;
}
