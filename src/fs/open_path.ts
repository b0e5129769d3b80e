/**
 * Opening paths with and without links.
 *
 * Where links are forbidden, none is ever followed: the kernel refuses while it resolves the path, or, where it has no
 * such call, each component is opened from the one before with O_NOFOLLOW. Nobody looks first and opens then, so
 * swapping a link in at any moment leads nowhere.
 */

import type { ByteString } from "../os/byte_string.ts";
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
} from "../os/file_calls.ts";
import { statFd } from "../os/file_stat.ts";
import { componentsOf, nameOf, parentOf, ROOT } from "./byte_path.ts";
import { crossesALink, must, OsError } from "./map_error.ts";

/** Undefined: not tried yet. Old kernels do not have openat2 and some container filters refuse it. */
let hasOpenat2: boolean | undefined;

/** Opens a path; a descriptor, or minus the error number. ELOOP or ENOTDIR when there is a link where none may be. */
export function openPath(path: ByteString, flags: number, options: { followSymlinks: boolean; mode?: number }): number {
  const mode = options.mode ?? 0;
  if (options.followSymlinks) return openAt(AT_FDCWD, path, flags, mode);
  const fd = canUseOpenat2() ? openWithoutLinks(path, flags, mode) : -ENAMETOOLONG;
  // No call takes a path of more than 4095 bytes, but component by component there is no such limit.
  return fd === -ENAMETOOLONG ? openByComponents(path, flags, mode) : fd;
}

function canUseOpenat2(): boolean {
  if (hasOpenat2 !== undefined) return hasOpenat2;
  const fd = openWithoutLinks(ROOT, O_PATH | O_DIRECTORY);
  // Out of descriptors says nothing about the call.
  if (fd === -EMFILE) return true;
  if (fd >= 0) closeFd(fd);
  return hasOpenat2 = fd >= 0;
}

/** `openWithoutLinks` for systems that lack it: one open per component, each of which must not be a link. */
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

/** Like `must`, for a path that was opened without links: says so when that is why it failed. */
export function mustBeLinkFree(result: number): number {
  if (result === -ELOOP) throw crossesALink();
  return must(result);
}

/** A directory and a name in it that is not followed any further. The descriptor belongs to the receiver. */
export interface Location {
  readonly directory: number;
  readonly name: ByteString;
}

/** More links in a row than this are a loop: the kernel's own figure. */
export const MAX_LINKS = 40;

/**
 * Where the content of a path lives or would be created: links in the last component are resolved, so that the name
 * found is no link (unless one is put there later, and then nobody follows it).
 */
export function locate(path: ByteString, options: { followSymlinks: boolean }): Location {
  if (path === ROOT) throw new OsError(EISDIR);
  let directory = openDirectory(AT_FDCWD, parentOf(path), options);
  let name = nameOf(path);
  try {
    for (let links = 0; options.followSymlinks; links++) {
      const target = targetOfLink(directory, name);
      if (target === null) break;
      if (links === MAX_LINKS) throw new OsError(ELOOP);
      const parent = target.includes("/") ? parentOf(target) : "." as ByteString;
      const next = openDirectory(directory, parent, options);
      closeFd(directory);
      directory = next;
      name = nameOf(target);
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
  if (link < 0) return null; // Nothing there, or whoever uses the name finds out what else.
  try {
    const target = readLinkAt(link, "" as ByteString);
    if (typeof target === "number") return null;
    if (!mayFollow(directory, link)) throw new OsError(EACCES);
    return target;
  } finally {
    closeFd(link);
  }
}

/** Both bits: a directory in which everybody may create names, and remove only their own. */
const STICKY_FOR_ALL = 0o1002;

/** In a sandbox: everybody whom it does not know. */
const UNKNOWN_UID = 65_534;

/**
 * The rule the kernel has for itself on nearly all systems (`fs.protected_symlinks`), and which it cannot apply to links
 * that are followed here: in a place like /tmp only one's own links are followed, and those of the directory's owner. A
 * link that somebody else has put there could lead to any file of ours.
 */
function mayFollow(directory: number, link: number): boolean {
  const place = must(statFd(directory));
  if ((place.mode & STICKY_FOR_ALL) !== STICKY_FOR_ALL) return true;
  const { uid } = must(statFd(link));
  return uid === Deno.uid() || (uid === place.uid && uid !== UNKNOWN_UID);
}

/** Readable, so that it can be synced, if that is allowed. */
function openDirectory(from: number, path: ByteString, { followSymlinks }: { followSymlinks: boolean }): number {
  if (!followSymlinks) {
    const readable = openPath(path, O_RDONLY | O_DIRECTORY, { followSymlinks });
    return mustBeLinkFree(readable >= 0 ? readable : openPath(path, O_PATH | O_DIRECTORY, { followSymlinks }));
  }
  const readable = openAt(from, path, O_RDONLY | O_DIRECTORY);
  return must(readable >= 0 ? readable : openAt(from, path, O_PATH | O_DIRECTORY));
}
