/**
 * Making a directory where there may be a placeholder (`launch/placeholders.ts`), which to a client is nothing: it becomes
 * the directory, and is then nobody's to remove. Inside the sandbox it stands for, the place is read-only, and so is the
 * answer.
 */

import type { ByteString } from "../os/byte_string.ts";
import { EEXIST } from "../os/errno.ts";
import { AT_FDCWD, chmodAt, makeDirectoryAt, realPath } from "../os/file_calls.ts";
import { S_IFDIR, statAt } from "../os/file_stat.ts";
import { looksLikePlaceholder } from "../launch/placeholders.ts";
import { isPlaceholder } from "./directory_reader.ts";
import { must } from "./map_error.ts";

/** What a new directory has under the customary umask. */
const USUAL_MODE = 0o755;

/** 0, or minus the error number. */
export function makeDirectory(directory: number, path: ByteString, mode = 0o777): number {
  const made = makeDirectoryAt(directory, path, mode);
  if (made !== -EEXIST || !isPlaceholder(directory, path)) return made;
  return chmodAt(directory, path, USUAL_MODE & mode);
}

/** Whether there is a directory, links followed. A placeholder at the end of a link becomes one. */
export function isOrBecomesDirectory(path: ByteString): boolean {
  const stat = statAt(AT_FDCWD, path);
  if (typeof stat === "number" || stat.type !== S_IFDIR) return false;
  if (looksLikePlaceholder({ mode: stat.mode, isSymlink: false })) {
    const real = must(realPath(path));
    if (isPlaceholder(AT_FDCWD, real)) must(chmodAt(AT_FDCWD, real, USUAL_MODE));
  }
  return true;
}
