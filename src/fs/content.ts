/**
 * Reads and writes the content of open files, and never makes the event loop wait for a device.
 *
 * Content in memory is read at once; for the rest a thread waits. Writes go to the page cache, which is quick unless
 * they are large or clean pages are scarce. So large writes are left to a thread too.
 */

import type { Bytes } from "../bytes.ts";
import type { ByteString } from "../os/files/byte_string.ts";
import { EAGAIN, EIO, ENXIO, ESPIPE } from "../os/errno.ts";
import { closeFd, O_NOCTTY, O_NONBLOCK, O_RDONLY } from "../os/files/file_calls.ts";
import {
  readAt,
  readAtOnPool,
  ReadTarget,
  syncOnPool,
  truncate,
  truncateOnPool,
  writeAt,
  writeAtOnPool,
  writeNext,
} from "../os/files/file_content.ts";
import { type FileStat, S_IFREG, statFd } from "../os/files/file_stat.ts";
import { allocate } from "../os/libc.ts";
import type { ByteSink } from "./file_system.ts";
import type { IoContext, OpenGuard } from "./io_context.ts";
import { PIECE_BYTES, SMALL_READ_BYTES, SMALL_WRITE_BYTES, WRITE_CHUNK_BYTES } from "./limits.ts";
import { must, notAFile, OsError } from "./map_error.ts";
import { mustBeLinkFree, openPath } from "./open_path.ts";

/** Set-user-id and set-group-id. */
export const SET_ID_BITS = 0o6000;

export interface OpenedFile {
  readonly fd: number;
  readonly stat: FileStat;
}

/** Opens a regular file. Never waits: a fifo or a device is opened without waiting, and refused. */
export function openRegular(
  path: ByteString,
  options: { followSymlinks: boolean; flags?: number; mode?: number },
  guardOpen?: OpenGuard,
): OpenedFile {
  const open = (): number => openPath(path, (options.flags ?? O_RDONLY) | O_NONBLOCK | O_NOCTTY, options);
  const fd = guardOpen === undefined ? open() : guardOpen(open);
  // A socket, a device without a driver, or a fifo that nobody reads.
  if (fd === -ENXIO) throw notAFile(path);
  if (options.followSymlinks) must(fd);
  else mustBeLinkFree(fd);
  try {
    const stat = must(statFd(fd));
    if (stat.type !== S_IFREG) throw notAFile(path);
    return { fd, stat };
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

/** The number of bytes read into `part` without waiting, 0 at the end; null when a thread must wait for them. */
export function readNow(fd: number, target: ReadTarget, part: Bytes, offset: number): number | null {
  const count = target.readNow(fd, part, offset);
  if (count >= 0) return count;
  if (count === -EAGAIN || part.length > SMALL_READ_BYTES) return null;
  // The filesystem cannot tell (tmpfs, overlayfs, procfs …). For so few bytes, asking a thread takes longer than
  // reading.
  return must(readAt(fd, part, offset));
}

/** Waits for a device on another thread. */
export async function readOnPool(io: IoContext, fd: number, part: Bytes, offset: number): Promise<number> {
  const count = await io.blocking.run(() => readAtOnPool(fd, part, offset));
  // The thread cannot tell why it failed. The same call here fails again at once, and reports the reason.
  return count >= 0 ? count : must(readAt(fd, part, offset));
}

export interface PieceOptions {
  readonly offset: number;
  /** At most this much in all. */
  readonly maxBytes: number;
  /** A multiple of 3. */
  readonly pieceBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** `makeRoom` is called and awaited once, when there is more content than this. */
  readonly roomBytes?: number;
  readonly makeRoom?: () => void | Promise<void>;
}

/** Hands the content to the sink until the end, in full pieces except the last. Returns the number of bytes. */
export async function readPieces(io: IoContext, fd: number, sink: ByteSink, options: PieceOptions): Promise<number> {
  const { offset, maxBytes, pieceBytes = PIECE_BYTES, signal, makeRoom } = options;
  let { roomBytes = Infinity } = options;
  const target = new ReadTarget(allocate(pieceBytes));
  const slice = io.pacer.slice(signal);
  let total = 0;
  let filled = 0;
  while (total < maxBytes) {
    const part = target.bytes.subarray(filled, filled + Math.min(pieceBytes - filled, maxBytes - total));
    const count = readNow(fd, target, part, offset + total) ?? await readOnPool(io, fd, part, offset + total);
    if (count === 0) break;
    total += count;
    filled += count;
    if (total > roomBytes) {
      roomBytes = Infinity;
      await makeRoom?.();
    }
    if (filled === pieceBytes) {
      sink(target.bytes);
      filled = 0;
    }
    if (slice.isOver) await slice.rest();
  }
  if (filled > 0) sink(target.bytes.subarray(0, filled));
  return total;
}

export async function writeAll(io: IoContext, fd: number, bytes: Bytes, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const part = bytes.subarray(written, written + WRITE_CHUNK_BYTES);
    const count = part.length <= SMALL_WRITE_BYTES
      ? must(writeAt(fd, part, offset + written))
      : await writeOnPool(io, fd, part, offset + written);
    if (count === 0) throw new OsError(EIO); // Cannot happen to a regular file; it would loop for ever.
    written += count;
  }
}

/**
 * `writeAll` for content that is written from beginning to end. Terminals, and files of the kernel such as
 * /proc/self/comm, have no positions and take bytes in order.
 */
export async function writeInOrder(io: IoContext, fd: number, bytes: Bytes, offset: number): Promise<void> {
  try {
    await writeAll(io, fd, bytes, offset);
  } catch (error) {
    if (!(error instanceof OsError) || error.errno !== ESPIPE) throw error;
    for (let written = 0; written < bytes.length;) {
      const count = must(writeNext(fd, bytes.subarray(written)));
      if (count === 0) throw new OsError(EIO); // It would loop for ever.
      written += count;
    }
  }
}

async function writeOnPool(io: IoContext, fd: number, part: Bytes, offset: number): Promise<number> {
  const count = await io.blocking.run(() => writeAtOnPool(fd, part, offset));
  // Writing the same bytes to the same place again does no harm, and reports why it failed.
  return count >= 0 ? count : must(writeAt(fd, part, offset));
}

/** Removes all content. This may wait until the old content is on the device. */
export async function empty(io: IoContext, fd: number): Promise<void> {
  if (await io.blocking.run(() => truncateOnPool(fd, 0)) !== 0) must(truncate(fd, 0));
}

/** Resolves when the content is on the device. */
export async function syncToDevice(io: IoContext, fd: number): Promise<void> {
  // The kernel reports a lost write once, to the thread that asked, so the reason is not known here.
  if (await io.blocking.run(() => syncOnPool(fd)) !== 0) throw new OsError(EIO);
}
