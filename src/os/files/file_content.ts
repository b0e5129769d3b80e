/**
 * Reading and writing file content.
 *
 * Reads that need no device, and small writes, run on the event loop's thread. Calls that may wait for a device have a
 * twin that runs on a thread of the runtime's pool and returns a promise; `src/fs/blocking_calls.ts` bounds how many of
 * those there are. Results follow the kernel: a number that is not negative, or minus the error number.
 */

import { fileSymbols, settle } from "./file_symbols.ts";
import { allocate, type CBuffer, whilePinned } from "../libc.ts";

/** Do not wait for a device: fail with EAGAIN when the bytes are not in memory. */
const RWF_NOWAIT = 8;

const LOCK_EX = 2;
const LOCK_NB = 4;

/** A buffer with a known address, so that any part of it can be read into without asking for the address again. */
export class ReadTarget {
  readonly bytes: CBuffer;
  readonly #address: bigint;
  /** A `struct iovec`: address, length. */
  readonly #vector = allocate(16);
  readonly #view = new DataView(this.#vector.buffer);

  constructor(bytes: CBuffer) {
    this.bytes = bytes;
    this.#address = fileSymbols().addressOf(bytes, bytes, 0n);
  }

  /** Fills `part`, a part of this buffer, with bytes that are in memory. EAGAIN when the device is needed. */
  readNow(fd: number, part: CBuffer, offset: number): number {
    this.#view.setBigUint64(0, this.#address + BigInt(part.byteOffset - this.bytes.byteOffset), true);
    this.#view.setUint32(8, part.length, true);
    const { preadv2 } = fileSymbols();
    return settle(() => preadv2(fd, this.#vector, 1, BigInt(offset), RWF_NOWAIT));
  }
}

export function readAt(fd: number, into: CBuffer, offset: number): number {
  const { pread } = fileSymbols();
  return settle(() => pread(fd, into, BigInt(into.length), BigInt(offset)));
}

/** -1 for any failure: repeat it with `readAt` to learn which. */
export function readAtOnPool(fd: number, into: CBuffer, offset: number): Promise<number> {
  return whilePinned([into], () => fileSymbols().preadOnPool(fd, into, BigInt(into.length), BigInt(offset)));
}

export function writeAt(fd: number, bytes: CBuffer, offset: number): number {
  const { pwrite } = fileSymbols();
  return settle(() => pwrite(fd, bytes, BigInt(bytes.length), BigInt(offset)));
}

/** Writes at the file's own position. A terminal has no other. */
export function writeNext(fd: number, bytes: CBuffer): number {
  const { write } = fileSymbols();
  return settle(() => write(fd, bytes, BigInt(bytes.length)));
}

/** -1 for any failure: repeat it with `writeAt` to learn which. */
export function writeAtOnPool(fd: number, bytes: CBuffer, offset: number): Promise<number> {
  return whilePinned([bytes], () => fileSymbols().pwriteOnPool(fd, bytes, BigInt(bytes.length), BigInt(offset)));
}

export function truncate(fd: number, size: number): number {
  const { ftruncate } = fileSymbols();
  return settle(() => ftruncate(fd, BigInt(size)));
}

/** -1 for any failure: repeat it with `truncate` to learn which. */
export function truncateOnPool(fd: number, size: number): Promise<number> {
  return fileSymbols().ftruncateOnPool(fd, BigInt(size));
}

/** 0 once the content is on the device; -1 when it may not be. The kernel reports a failure only once. */
export function syncOnPool(fd: number): Promise<number> {
  return fileSymbols().fsyncOnPool(fd);
}

/** Bytes copied between the files' own positions inside the kernel; 0 at the end. */
export function copyRange(from: number, to: number, length: number): number {
  const { copy_file_range } = fileSymbols();
  return settle(() => copy_file_range(from, null, to, null, BigInt(length), 0));
}

/** -1 for any failure: repeat it with `copyRange` to learn which. */
export function copyRangeOnPool(from: number, to: number, length: number): Promise<number> {
  return fileSymbols().copyRangeOnPool(from, null, to, null, BigInt(length), 0);
}

/** The advisory lock of the whole file, until the descriptor is closed: EAGAIN when another holder has it. */
export function lockNow(fd: number): number {
  const { flock } = fileSymbols();
  return settle(() => flock(fd, LOCK_EX | LOCK_NB));
}
