/** `fs/rename`, `fs/chmod` and `fs/symlink`: what changes a name or a mode, and no content. */

import { type ByteString, toByteString } from "../os/byte_string.ts";
import { EINVAL, ENOENT, ENOSYS } from "../os/errno.ts";
import {
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  chmodAt,
  closeFd,
  linkAt,
  O_NOFOLLOW,
  O_PATH,
  type Place,
  RENAME_NOREPLACE,
  renameAt,
  symlinkAt,
  unlinkAt,
} from "../os/file_calls.ts";
import { S_IFDIR, S_IFLNK, statAt, statFd } from "../os/file_stat.ts";
import { nameOf, parentOf, toBytePath } from "./byte_path.ts";
import { isPlaceholder } from "./directory_reader.ts";
import type { ChmodRequest, RenameRequest, SymlinkRequest } from "./file_system.ts";
import { isALink, must, OsError } from "./map_error.ts";
import { mustBeLinkFree, openPath } from "./open_path.ts";

export function rename({ sourcePath, destinationPath, overwrite }: RenameRequest): void {
  const from: Place = { directory: AT_FDCWD, path: toBytePath(sourcePath) };
  const to: Place = { directory: AT_FDCWD, path: toBytePath(destinationPath) };
  if (isPlaceholder(AT_FDCWD, from.path)) throw new OsError(ENOENT);
  if (!overwrite) return void must(renameToFree(from, to));
  must(renameAt(from, to));
  // Of two names of one file the kernel leaves both. Who renames wants the old one to be gone.
  if (areTwoNamesOfOneFile(from, to)) must(unlinkAt(from.directory, from.path));
}

function areTwoNamesOfOneFile(one: Place, other: Place): boolean {
  const stat = statAt(one.directory, one.path, AT_SYMLINK_NOFOLLOW);
  if (typeof stat === "number" || stat.links < 2 || stat.type === S_IFDIR) return false;
  const twin = statAt(other.directory, other.path, AT_SYMLINK_NOFOLLOW);
  if (typeof twin === "number" || twin.identity !== stat.identity) return false;
  // One name can be reached by two paths.
  return nameOf(one.path) !== nameOf(other.path) ||
    must(statAt(one.directory, parentOf(one.path))).identity !==
      must(statAt(other.directory, parentOf(other.path))).identity;
}

/** Renames to a name that must be free, which is decided by the very act: EEXIST when it is not. */
export function renameToFree(from: Place, to: Place): number {
  const failure = renameAt(from, to, RENAME_NOREPLACE);
  if (failure !== -EINVAL && failure !== -ENOSYS) return failure;
  // Some filesystems cannot. For a file, a second name and then the end of the first comes to the same.
  const stat = statAt(from.directory, from.path, AT_SYMLINK_NOFOLLOW);
  if (typeof stat === "number" || stat.type === S_IFDIR) return failure;
  const linked = linkAt(from, to);
  return linked < 0 ? linked : unlinkAt(from.directory, from.path);
}

export function chmod({ path, mode, followSymlinks }: ChmodRequest): void {
  const target = toBytePath(path);
  if (followSymlinks) return void must(chmodAt(AT_FDCWD, target, mode));
  const fd = mustBeLinkFree(openPath(target, O_PATH | O_NOFOLLOW, { followSymlinks }));
  try {
    if (must(statFd(fd)).type === S_IFLNK) throw isALink();
    // A descriptor that needs no permission to read has no other way to a chmod.
    must(chmodAt(AT_FDCWD, `/proc/self/fd/${fd}` as ByteString, mode));
  } finally {
    closeFd(fd);
  }
}

export function symlink({ path, target }: SymlinkRequest): void {
  must(symlinkAt(toByteString(target), { directory: AT_FDCWD, path: toBytePath(path) }));
}
