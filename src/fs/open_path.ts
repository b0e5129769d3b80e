/**
 * Opens paths with and without following links.
 *
 * Where links are forbidden, none is ever followed: the kernel refuses while it resolves the path. Where it has no such
 * call, each component is opened from the one before with O_NOFOLLOW. There is no check before the open, so swapping in
 * a link at any moment leads nowhere.
 */

import type { ByteString } from "../os/files/byte_string.ts";
import { EACCES, EISDIR, ELOOP, EMFILE, ENAMETOOLONG } from "../os/errno.ts";
import {
  AT_FDCWD,
  closeFd,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_PATH,
  O_RDONLY,
  openAt,
  openWithoutLinks,
  readLinkAt,
} from "../os/files/file_calls.ts";
import { statFd } from "../os/files/file_stat.ts";
import { ownUid } from "../os/own_ids.ts";
import { componentsOf, lastByteName, parentBytePath, ROOT } from "./byte_path.ts";
import { crossesALink, must, OsError } from "./map_error.ts";

/** Undefined: not tried yet. Old kernels do not have openat2 and some container filters refuse it. */
let hasOpenat2: boolean | undefined;

/** Opens a path. Returns a descriptor, or minus the error number: ELOOP or ENOTDIR for a forbidden link. */
export function openPath(path: ByteString, flags: number, options: { followSymlinks: boolean; mode?: number }): number {
  const mode = options.mode ?? 0;
  if (options.followSymlinks) return openAt(AT_FDCWD, path, flags, mode);
  const fd = canUseOpenat2() ? openWithoutLinks(path, flags, mode) : -ENAMETOOLONG;
  // No call takes a path of more than 4095 bytes. Component by component there is no such limit.
  return fd === -ENAMETOOLONG ? openByComponents(path, flags, mode) : fd;
}

function canUseOpenat2(): boolean {
  if (hasOpenat2 !== undefined) return hasOpenat2;
  const fd = openWithoutLinks(ROOT, O_PATH | O_DIRECTORY);
  // Running out of descriptors says nothing about the call.
  if (fd === -EMFILE) return true;
  if (fd >= 0) closeFd(fd);
  return hasOpenat2 = fd >= 0;
}

/** `openWithoutLinks` for systems without openat2: one open per component, none of which may be a link. */
export function openByComponents(path: ByteString, flags: number, mode = 0): number {
  const components = componentsOf(path);
  const last = components.pop();
  if (last === undefined) return openAt(AT_FDCWD, ROOT, flags, mode);
  let directory = openAt(AT_FDCWD, ROOT, O_PATH | O_DIRECTORY);
  for (const component of components) {
    if (directory < 0) return directory;
    const next = openAt(directory, component, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    closeFd(directory);
    directory = next;
  }
  if (directory < 0) return directory;
  const fd = openAt(directory, last, flags | O_NOFOLLOW, mode);
  closeFd(directory);
  return fd;
}

/** Like `must`, for a path that was opened without links. Says so when a link is why it failed. */
export function mustBeLinkFree(result: number): number {
  if (result === -ELOOP) throw crossesALink();
  return must(result);
}

/** A directory and a name in it that is not followed any further. The descriptor belongs to the caller. */
export interface Location {
  readonly directory: number;
  readonly name: ByteString;
}

/** More links in a row than this are a loop: the kernel's own figure. */
export const MAX_LINKS = 40;

/**
 * Where the content of a path is, or would be created. Links in the last component are resolved, so the name found is
 * not a link. If one is put there later, it is not followed.
 */
export function locate(path: ByteString, options: { followSymlinks: boolean }): Location {
  if (path === ROOT) throw new OsError(EISDIR);
  let directory = openDirectory(AT_FDCWD, parentBytePath(path), options);
  let name = lastByteName(path);
  try {
    for (let links = 0; options.followSymlinks; links++) {
      const target = targetOfLink(directory, name);
      if (target === null) break;
      if (links === MAX_LINKS) throw new OsError(ELOOP);
      const parent = target.includes("/") ? parentBytePath(target) : "." as ByteString;
      const next = openDirectory(directory, parent, options);
      closeFd(directory);
      directory = next;
      name = lastByteName(target);
      // `a/..` and the like name a directory, which has no content to write.
      if (name === "" || name === "." || name === "..") throw new OsError(EISDIR);
    }
    return { directory, name };
  } catch (error) {
    closeFd(directory);
    throw error;
  }
}

/** Null when there is no link at the name. */
function targetOfLink(directory: number, name: ByteString): ByteString | null {
  const link = openAt(directory, name, O_PATH | O_NOFOLLOW);
  if (link < 0) return null; // Nothing is there. Any other problem shows when the name is used.
  try {
    const target = readLinkAt(link, "" as ByteString);
    if (typeof target === "number") return null;
    if (!mayFollow(directory, link)) throw new OsError(EACCES);
    return target;
  } finally {
    closeFd(link);
  }
}

/** Both bits: in this directory everybody may create names, and remove only their own. */
const STICKY_FOR_ALL = 0o1002;

/** The uid that a sandbox shows for all users it does not know. */
const UNKNOWN_UID = 65_534;

/**
 * The rule that the kernel has on nearly all systems (`fs.protected_symlinks`). The kernel cannot apply it here,
 * because this code follows the links itself. In a place like /tmp only links of ours and of the directory's owner are
 * followed: another user's link could lead to any file of ours.
 */
function mayFollow(directory: number, link: number): boolean {
  const place = must(statFd(directory));
  if ((place.mode & STICKY_FOR_ALL) !== STICKY_FOR_ALL) return true;
  const { uid } = must(statFd(link));
  return uid === ownUid() || (uid === place.uid && uid !== UNKNOWN_UID);
}

/** Readable if permitted, so that it can be synced. */
function openDirectory(from: number, path: ByteString, { followSymlinks }: { followSymlinks: boolean }): number {
  if (!followSymlinks) {
    const readable = openPath(path, O_RDONLY | O_DIRECTORY, { followSymlinks });
    return mustBeLinkFree(readable >= 0 ? readable : openPath(path, O_PATH | O_DIRECTORY, { followSymlinks }));
  }
  const readable = openAt(from, path, O_RDONLY | O_DIRECTORY);
  return must(readable >= 0 ? readable : openAt(from, path, O_PATH | O_DIRECTORY));
}
