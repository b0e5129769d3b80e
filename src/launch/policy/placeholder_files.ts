/**
 * Placeholders on the real disk: created, locked and removed relative to an opened parent directory.
 *
 * The parent is opened without following links, so a program that swaps directories for links meanwhile cannot have
 * anything created or removed elsewhere. Locks belong to open files and end with them, even when this program dies.
 */

import { invalidRequest } from "../../errors.ts";
import { type ByteString, toByteString } from "../../os/files/byte_string.ts";
import { EEXIST, ENOENT, ENOSYS, EPERM, EROFS } from "../../os/errno.ts";
import {
  AT_FDCWD,
  AT_REMOVEDIR,
  AT_SYMLINK_NOFOLLOW,
  closeFd,
  makeDirectoryAt,
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_PATH,
  O_RDONLY,
  openAt,
  openWithoutLinks,
  unlinkAt,
} from "../../os/files/file_calls.ts";
import { type FileStat, S_IFDIR, S_IFREG, statAt, statFd } from "../../os/files/file_stat.ts";
import { fileSymbols, settle } from "../../os/files/file_symbols.ts";
import {
  looksLikePlaceholder,
  PLACEHOLDER_MODES,
  type PlaceholderClaim,
  type PlaceholderFiles,
} from "./placeholders.ts";
import type { MissingPath } from "./policy.ts";
import { lastName, parentPath } from "../../text_path.ts";

const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

export class RealPlaceholderFiles implements PlaceholderFiles {
  claim(missing: MissingPath): PlaceholderClaim | "occupied" | "busy" | "unneeded" {
    const parent = openParent(parentPath(missing.path));
    // The parent existed a moment ago, without links. Whatever is there now, the policy must be made again.
    if (parent < 0) return "occupied";
    const claim = claimIn(parent, missing);
    if (typeof claim === "string") closeFd(parent);
    return claim;
  }
}

function openParent(path: string): number {
  const parent = openWithoutLinks(toByteString(path), O_PATH | O_DIRECTORY);
  if (parent !== -ENOSYS && parent !== -EPERM) return parent;
  // An old kernel, or one that denies us the call: then only the last name is checked.
  return openAt(AT_FDCWD, toByteString(path), O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

/** Owns `parent` when it returns a claim. */
function claimIn(parent: number, { path, placeholder }: MissingPath): ReturnType<PlaceholderFiles["claim"]> {
  const name = toByteString(lastName(path));
  const made = make(parent, name, placeholder);
  if (made < 0 && made !== -EEXIST) {
    if (isClosedToChildren(parent, made)) return "unneeded";
    throw invalidRequest(`Cannot protect ${path}: no placeholder can be made there (os error ${-made})`);
  }

  const kind = placeholder === "directory" ? O_DIRECTORY : O_NONBLOCK;
  const fd = openAt(parent, name, O_RDONLY | O_NOFOLLOW | kind);
  if (fd < 0) return fd === -ENOENT ? "busy" : "occupied";
  const stat = statFd(fd);
  if (typeof stat === "number" || !isPlaceholder(stat, placeholder)) {
    closeFd(fd);
    return "occupied";
  }
  // It may have been removed between opening and locking. Then the lock is on a directory without a name.
  if (!lock(fd, LOCK_SH) || !isStillThere(parent, name, stat)) {
    closeFd(fd);
    return "busy";
  }
  return {
    release() {
      // The holder of this lock is the only one: all others hold the shared one.
      if (lock(fd, LOCK_EX) && isStillThere(parent, name, stat)) {
        // Fails when a program has put something into it. Then it belongs to that program, and stays.
        unlinkAt(parent, name, placeholder === "directory" ? AT_REMOVEDIR : 0);
      }
      closeFd(fd);
      closeFd(parent);
    },
  };
}

/** 0, or minus the error number. */
function make(parent: number, name: ByteString, placeholder: MissingPath["placeholder"]): number {
  const mode = PLACEHOLDER_MODES[placeholder];
  if (placeholder === "directory") return makeDirectoryAt(parent, name, mode);
  const fd = openAt(parent, name, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW, mode);
  if (fd < 0) return fd;
  closeFd(fd);
  return 0;
}

/**
 * Whether a child, too, cannot create anything in a directory where we could not. A directory of another user stays
 * closed to the child. But the child could open one of our own by changing its mode.
 */
function isClosedToChildren(parent: number, failure: number): boolean {
  if (failure === -EROFS) return true;
  const stat = statFd(parent);
  return typeof stat !== "number" && stat.uid !== Deno.uid();
}

function isPlaceholder(stat: FileStat, placeholder: MissingPath["placeholder"]): boolean {
  const type = placeholder === "directory" ? S_IFDIR : S_IFREG;
  return stat.type === type && stat.uid === Deno.uid() && (type === S_IFDIR || stat.size === 0) &&
    looksLikePlaceholder({ mode: stat.mode, isSymlink: false });
}

/** The same file under the same name, still empty and unchanged: a changed mode says that somebody uses it. */
function isStillThere(parent: number, name: ByteString, stat: FileStat): boolean {
  const now = statAt(parent, name, AT_SYMLINK_NOFOLLOW);
  return typeof now !== "number" && now.identity === stat.identity && now.mode === stat.mode &&
    (now.type === S_IFDIR || now.size === 0);
}

function lock(fd: number, kind: number): boolean {
  const { flock } = fileSymbols();
  return settle(() => flock(fd, kind | LOCK_NB)) === 0;
}
