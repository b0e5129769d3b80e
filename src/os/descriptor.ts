/**
 * File descriptors: the few calls that every other module here needs.
 *
 * All descriptors made here are close-on-exec, so none reaches a child by accident. A descriptor is a plain number,
 * owned by the caller.
 */

import { DomainError, internalError } from "../errors.ts";
import { describeErrno } from "./errno.ts";
import { allocate, type CBuffer, cString, lastErrno, libc, libcFunctions } from "./libc.ts";

// Values shared by x86-64 and arm64. O_DIRECTORY, O_NOFOLLOW and O_DIRECT are not, and are not used.
export const O_RDONLY = 0;
export const O_RDWR = 2;
export const O_NOCTTY = 0o400;
export const O_NONBLOCK = 0o4000;
export const O_CLOEXEC = 0o2000000;

const F_SETFD = 2;
const F_SETFL = 4;
const F_DUPFD_CLOEXEC = 1030;
const F_SETPIPE_SZ = 1031;
const FD_CLOEXEC = 1;

/** Borrowed buffers, as in `libc.ts`. */
export const descriptorFunctions = libcFunctions({
  write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  /** Fills two i32: read end, write end. Both are the caller's. */
  pipe2: { parameters: ["buffer", "i32"], result: "i32" },
  ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
});

/** An expected failure of the operating system, in its own words. */
export function failure(errno: number): Error {
  return internalError(describeErrno(errno));
}

/** The same, with a detail for the log. */
export function detailedFailure(errno: number, detail: string): Error {
  return new DomainError("internal", describeErrno(errno), { detail });
}

export interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

export function openPipe(): Pipe {
  const ends = allocate(8);
  if (descriptorFunctions().pipe2(ends, O_CLOEXEC) !== 0) throw failure(lastErrno());
  const view = new DataView(ends.buffer);
  return { readEnd: view.getInt32(0, true), writeEnd: view.getInt32(4, true) };
}

/** Opens a path without any checks of ours; -1 when that is not possible. */
export function openDescriptor(path: string | Uint8Array, flags: number): number {
  return libc().open(cString(path), flags | O_CLOEXEC, 0);
}

/** A second descriptor for the same open file, so that two owners can each close their own. */
export function duplicate(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw failure(lastErrno());
  return copy;
}

/** The same with a number of at least `lowest`. */
export function raiseDescriptor(fd: number, lowest: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, lowest);
  if (copy < 0) throw failure(lastErrno());
  return copy;
}

/** From now on reads and writes through this open file return instead of waiting. */
export function setNonblocking(fd: number): void {
  // Pipe ends carry no other status flag that could be lost by setting instead of adding.
  if (libc().fcntl(fd, F_SETFL, O_NONBLOCK) !== 0) throw failure(lastErrno());
}

/** Lets a pipe hold more. Only a wish: the pipes of a user share a limit, and what is not a pipe has no size. */
export function setPipeCapacity(fd: number, bytes: number): void {
  libc().fcntl(fd, F_SETPIPE_SZ, bytes);
}

export function setCloseOnExec(fd: number): void {
  // Fails only for a descriptor that is already closed, which is fine.
  libc().fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/** Bytes read; 0 at the end of the file; negative when there is nothing to read now or the read failed. */
export function readInto(fd: number, buffer: CBuffer): number {
  return libc().read(fd, buffer, BigInt(buffer.length));
}

const FIONREAD = 0x541bn;
const countBytes = allocate(4);
const countView = new DataView(countBytes.buffer);

/** Bytes that could be read now; 0 also where that is not known. Unlike a read it never waits. */
export function readableBytes(fd: number): number {
  return descriptorFunctions().ioctl(fd, FIONREAD, countBytes) === 0 ? countView.getInt32(0, true) : 0;
}

/** Bytes the kernel took; negative when it takes none now or never will. */
export function writeFrom(fd: number, bytes: CBuffer): number {
  return descriptorFunctions().write(fd, bytes, BigInt(bytes.length));
}

/** Linux frees the number even when it reports an error, so there is nothing to check or repeat. */
export function closeDescriptor(fd: number): void {
  libc().close(fd);
}

/** Ends one or both directions of a connection. The descriptor still belongs to its owner. */
export function shutDownSocket(fd: number, how: number): boolean {
  return descriptorFunctions().shutdown(fd, how) === 0;
}
