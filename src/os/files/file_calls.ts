/**
 * Opening, naming and removing files, on the event loop's thread: about a microsecond each on a local filesystem.
 *
 * Results follow the kernel: a number that is not negative, or minus the error number. Nothing is decided here, and
 * only interruptions are retried. `directory` is a descriptor or `AT_FDCWD`, which is right for absolute paths.
 */

import { type ByteString, byteStringOf, writeCString } from "./byte_string.ts";
import { O_CLOEXEC } from "../descriptor.ts";
import { ENAMETOOLONG } from "../errno.ts";
import { fileSymbols, firstPath, readErrno, secondPath, settle } from "./file_symbols.ts";
import { allocate, type CBuffer } from "../libc.ts";

export { O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR } from "../descriptor.ts";

const isArm = Deno.build.arch === "aarch64";

export const O_WRONLY = 1;
export const O_CREAT = 0o100;
export const O_EXCL = 0o200;
export const O_PATH = 0o10000000;
export const O_DIRECTORY = isArm ? 0o40000 : 0o200000;
export const O_NOFOLLOW = isArm ? 0o100000 : 0o400000;
/** A file without a name, in the directory that is opened. EOPNOTSUPP, or EISDIR, where there is no such thing. */
export const O_TMPFILE = 0o20000000 | O_DIRECTORY;

export const AT_FDCWD = -100;
export const AT_SYMLINK_NOFOLLOW = 0x100;
export const AT_REMOVEDIR = 0x200;
const AT_EACCESS = 0x200;
const AT_SYMLINK_FOLLOW = 0x400;
const W_OK = 2;

export const RENAME_NOREPLACE = 1;

const SYS_OPENAT2 = 437n; // The same on every architecture.
const RESOLVE_NO_SYMLINKS = 0x04;
const OPEN_HOW_BYTES = 24;

/** For what the kernel writes back: no path or link target is longer. */
const longText = allocate(4096);

// ---------------------------------------------------------------- opening

/** Always close-on-exec. */
export function openAt(directory: number, path: ByteString, flags: number, mode = 0): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { openat } = fileSymbols();
  return settle(() => openat(directory, firstPath, flags | O_CLOEXEC, mode));
}

const openHow = allocate(OPEN_HOW_BYTES);
const openHowView = new DataView(openHow.buffer);
openHowView.setUint32(16, RESOLVE_NO_SYMLINKS, true);

/**
 * Opens an absolute path. No component may be a link: ELOOP when one is. With `O_PATH | O_NOFOLLOW` the last component
 * may be a link, which is then opened itself. The kernel checks while it resolves the path, so nothing can be swapped
 * in between. ENOSYS or EPERM where the kernel or a filter does not allow the call.
 */
export function openWithoutLinks(path: ByteString, flags: number, mode = 0): number {
  return openWithoutLinksAt(AT_FDCWD, path, flags, mode);
}

/** The same for a path that is relative to a directory. */
export function openWithoutLinksAt(directory: number, path: ByteString, flags: number, mode = 0): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  openHowView.setUint32(0, (flags | O_CLOEXEC) >>> 0, true);
  openHowView.setUint32(8, (flags & O_CREAT) === 0 ? 0 : mode, true);
  const { syscall } = fileSymbols();
  return settle(() => syscall(SYS_OPENAT2, directory, firstPath, openHow, BigInt(OPEN_HOW_BYTES)));
}

/**
 * Frees the number in any case, so the call must not be repeated. A failure means that written data may be lost:
 * network filesystems and quotas report late.
 */
export function closeFd(fd: number): number {
  return fileSymbols().close(fd) === 0 ? 0 : -readErrno();
}

/** The path with every link resolved, or minus the error number. */
export function realPath(path: ByteString): ByteString | number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { realpath } = fileSymbols();
  const failure = settle(() => (realpath(firstPath, longText) === 0n ? -1 : 0));
  return failure < 0 ? failure : byteStringOf(longText.subarray(0, longText.indexOf(0)));
}

/** 0 when the effective user may write to it. */
export function mayWriteAt(directory: number, path: ByteString): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { faccessat } = fileSymbols();
  return settle(() => faccessat(directory, firstPath, W_OK, AT_EACCESS));
}

export function chmodFd(fd: number, mode: number): number {
  const { fchmod } = fileSymbols();
  return settle(() => fchmod(fd, mode));
}

/** Follows a link. */
export function chmodAt(directory: number, path: ByteString, mode: number): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { fchmodat } = fileSymbols();
  return settle(() => fchmodat(directory, firstPath, mode, 0));
}

/** Two `struct timespec`, of access and modification: seconds and nanoseconds, 64 bits each. */
const times = allocate(32);
const timesView = new DataView(times.buffer);
/** In place of nanoseconds: this time stays as it is. */
const UTIME_OMIT = (1n << 30n) - 2n;

function writeTimes(modifiedAtMs: number): void {
  timesView.setBigInt64(8, UTIME_OMIT, true);
  timesView.setBigInt64(16, BigInt(Math.floor(modifiedAtMs / 1000)), true);
  timesView.setBigInt64(24, BigInt(modifiedAtMs % 1000) * 1_000_000n, true);
}

/** Whole milliseconds since 1970. */
export function setModifiedFd(fd: number, modifiedAtMs: number): number {
  writeTimes(modifiedAtMs);
  const { futimens } = fileSymbols();
  return settle(() => futimens(fd, times));
}

/** The same by path. Follows a link. */
export function setModifiedAt(directory: number, path: ByteString, modifiedAtMs: number): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  writeTimes(modifiedAtMs);
  const { utimensat } = fileSymbols();
  return settle(() => utimensat(directory, firstPath, times, 0));
}

export function chownFd(fd: number, uid: number, gid: number): number {
  const { fchown } = fileSymbols();
  return settle(() => fchown(fd, uid, gid));
}

// ---------------------------------------------------------------- directories and links

/** Whole directory records, as many as fit; 0 at the end. */
export function readRecords(fd: number, into: CBuffer): number {
  const { getdents64 } = fileSymbols();
  return settle(() => getdents64(fd, into, BigInt(into.length)));
}

export function makeDirectoryAt(directory: number, path: ByteString, mode = 0o777): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { mkdirat } = fileSymbols();
  return settle(() => mkdirat(directory, firstPath, mode));
}

/** Removes the name; an empty directory with `AT_REMOVEDIR`. Never follows a link. */
export function unlinkAt(directory: number, path: ByteString, flags = 0): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { unlinkat } = fileSymbols();
  return settle(() => unlinkat(directory, firstPath, flags));
}

export interface Place {
  readonly directory: number;
  readonly path: ByteString;
}

export function renameAt(from: Place, to: Place, flags = 0): number {
  if (!writeCString(from.path, firstPath) || !writeCString(to.path, secondPath)) return -ENAMETOOLONG;
  const { renameat2 } = fileSymbols();
  return settle(() => renameat2(from.directory, firstPath, to.directory, secondPath, flags));
}

/** A second name for the same file; a link is not followed. */
export function linkAt(from: Place, to: Place): number {
  if (!writeCString(from.path, firstPath) || !writeCString(to.path, secondPath)) return -ENAMETOOLONG;
  const { linkat } = fileSymbols();
  return settle(() => linkat(from.directory, firstPath, to.directory, secondPath, 0));
}

/** Gives a file that was opened with `O_TMPFILE` its name. Needs /proc. */
export function nameFile(fd: number, place: Place): number {
  if (!writeCString(`/proc/self/fd/${fd}` as ByteString, firstPath)) return -ENAMETOOLONG;
  if (!writeCString(place.path, secondPath)) return -ENAMETOOLONG;
  const { linkat } = fileSymbols();
  return settle(() => linkat(AT_FDCWD, firstPath, place.directory, secondPath, AT_SYMLINK_FOLLOW));
}

export function symlinkAt(target: ByteString, place: Place): number {
  if (!writeCString(target, firstPath) || !writeCString(place.path, secondPath)) return -ENAMETOOLONG;
  const { symlinkat } = fileSymbols();
  return settle(() => symlinkat(firstPath, place.directory, secondPath));
}

/** Where a link leads, or minus the error number: EINVAL when it is not a link. */
export function readLinkAt(directory: number, path: ByteString): ByteString | number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { readlinkat } = fileSymbols();
  const length = settle(() => readlinkat(directory, firstPath, longText, BigInt(longText.length)));
  return length < 0 ? length : byteStringOf(longText.subarray(0, length));
}
