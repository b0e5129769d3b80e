/**
 * `fs/rename`, `fs/chmod`, `fs/setTimes` and `fs/symlink`: operations that change a name, mode or time, but no content.
 */

import { type ByteString, toByteString } from "../os/files/byte_string.ts";
import { EINVAL, ENOENT, ENOSYS } from "../os/errno.ts";
import {
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  chmodAt,
  closeFd,
  linkAt,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_PATH,
  O_RDONLY,
  openAt,
  type Place,
  RENAME_NOREPLACE,
  renameAt,
  setModifiedAt,
  symlinkAt,
  unlinkAt,
} from "../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../os/files/file_stat.ts";
import { lastByteName, parentBytePath, toBytePath } from "./byte_path.ts";
import { isPlaceholder } from "./tree/directory_reader.ts";
import { syncToDevice } from "./content.ts";
import type { ChmodRequest, RenameRequest, SetTimesRequest, SymlinkRequest } from "./file_system.ts";
import type { IoContext } from "./io_context.ts";
import { isALink, must, OsError } from "./map_error.ts";
import { mustBeLinkFree, openPath } from "./open_path.ts";

export async function rename(io: IoContext, request: RenameRequest): Promise<void> {
  if (request.flush !== true) return renameNow(request);
  // The content first: after a crash a name must not lead to a file without it.
  await flushPath(io, toBytePath(request.sourcePath), O_NOFOLLOW);
  renameNow(request);
  await flushPath(io, parentBytePath(toBytePath(request.destinationPath)), O_DIRECTORY);
}

/** Only regular files and directories have something to flush. */
async function flushPath(io: IoContext, path: ByteString, flags: number): Promise<void> {
  const stat = must(statAt(AT_FDCWD, path, (flags & O_NOFOLLOW) === 0 ? 0 : AT_SYMLINK_NOFOLLOW));
  if (stat.type !== S_IFREG && stat.type !== S_IFDIR) return;
  const fd = must(openAt(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | flags));
  try {
    await syncToDevice(io, fd);
  } finally {
    closeFd(fd);
  }
}

function renameNow({ sourcePath, destinationPath, overwrite }: RenameRequest): void {
  const from: Place = { directory: AT_FDCWD, path: toBytePath(sourcePath) };
  const to: Place = { directory: AT_FDCWD, path: toBytePath(destinationPath) };
  if (isPlaceholder(AT_FDCWD, from.path)) throw new OsError(ENOENT);
  if (!overwrite) return void must(renameToFree(from, to));
  must(renameAt(from, to));
  // If both names are of the same file, the kernel leaves both. The caller wants the old one to be gone.
  if (areTwoNamesOfOneFile(from, to)) must(unlinkAt(from.directory, from.path));
}

function areTwoNamesOfOneFile(one: Place, other: Place): boolean {
  const stat = statAt(one.directory, one.path, AT_SYMLINK_NOFOLLOW);
  if (typeof stat === "number" || stat.links < 2 || stat.type === S_IFDIR) return false;
  const twin = statAt(other.directory, other.path, AT_SYMLINK_NOFOLLOW);
  if (typeof twin === "number" || twin.identity !== stat.identity) return false;
  // Two paths can lead to the same name.
  return lastByteName(one.path) !== lastByteName(other.path) ||
    must(statAt(one.directory, parentBytePath(one.path))).identity !==
      must(statAt(other.directory, parentBytePath(other.path))).identity;
}

/** Renames to a name that must be free. The rename itself decides: EEXIST when it is not free. */
export function renameToFree(from: Place, to: Place): number {
  const failure = renameAt(from, to, RENAME_NOREPLACE);
  if (failure !== -EINVAL && failure !== -ENOSYS) return failure;
  // Some filesystems cannot do that. For a file, a second name and then removing the first has the same effect.
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
    // A descriptor opened without read permission can only be changed this way.
    must(chmodAt(AT_FDCWD, `/proc/self/fd/${fd}` as ByteString, mode));
  } finally {
    closeFd(fd);
  }
}

export function setTimes({ path, modifiedAtMs, followSymlinks }: SetTimesRequest): void {
  const target = toBytePath(path);
  if (followSymlinks) return void must(setModifiedAt(AT_FDCWD, target, modifiedAtMs));
  const fd = mustBeLinkFree(openPath(target, O_PATH | O_NOFOLLOW, { followSymlinks }));
  try {
    if (must(statFd(fd)).type === S_IFLNK) throw isALink();
    // As with the mode.
    must(setModifiedAt(AT_FDCWD, `/proc/self/fd/${fd}` as ByteString, modifiedAtMs));
  } finally {
    closeFd(fd);
  }
}

export function symlink({ path, target }: SymlinkRequest): void {
  must(symlinkAt(toByteString(target), { directory: AT_FDCWD, path: toBytePath(path) }));
}
