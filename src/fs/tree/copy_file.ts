/** Copies the content and mode of one regular file to another, inside the kernel where possible. */

import { ENXIO, ESPIPE } from "../../os/errno.ts";
import {
  chmodFd,
  closeFd,
  O_CREAT,
  O_NOCTTY,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_WRONLY,
  openAt,
  type Place,
} from "../../os/files/file_calls.ts";
import { copyRange, copyRangeOnPool, ReadTarget, truncate, writeAt } from "../../os/files/file_content.ts";
import { type FileStat, S_IFCHR, S_IFREG, statFd } from "../../os/files/file_stat.ts";
import { allocate } from "../../os/libc.ts";
import { readNow, readOnPool, SET_ID_BITS, writeInOrder } from "../content.ts";
import type { IoContext } from "../io_context.ts";
import { COPY_CHUNK_BYTES, SMALL_READ_BYTES } from "../limits.ts";
import { must, notAFile } from "../map_error.ts";

export interface CopyFileOptions {
  /** Whether a link at the destination is followed. One at the source never is. */
  readonly mayFollow: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface Opened {
  readonly fd: number;
  readonly stat: FileStat;
}

export async function copyFile(io: IoContext, from: Place, to: Place, options: CopyFileOptions): Promise<void> {
  const { signal } = options;
  const source = openEnd(from, O_RDONLY | O_NOFOLLOW);
  try {
    const flags = O_WRONLY | O_CREAT | (options.mayFollow ? 0 : O_NOFOLLOW);
    const destination = openEnd(to, flags, { mode: source.stat.mode & 0o777, mayBeDevice: options.mayFollow });
    try {
      if (destination.stat.type !== S_IFREG) await copyByHand(io, source.fd, destination.fd, { offset: 0, signal });
      // The destination was not emptied when it was opened: it may be the source itself, and then nothing is copied.
      else if (destination.stat.identity !== source.stat.identity) {
        // The mode first: the content may be secret. If that is refused, nothing has been changed.
        const { mode } = source.stat;
        if (destination.stat.mode !== mode) must(chmodFd(destination.fd, mode));
        const size = await copyContent(io, source, destination.fd, signal);
        // Cut at the end and not emptied at the beginning, for the reason given in `write_file.ts`.
        if (destination.stat.size > size) must(truncate(destination.fd, size));
        // Writing clears these bits again, unless we are root with all of root's capabilities.
        if ((mode & SET_ID_BITS) !== 0) must(chmodFd(destination.fd, mode));
      }
    } catch (error) {
      closeFd(destination.fd);
      throw error;
    }
    must(closeFd(destination.fd));
  } finally {
    closeFd(source.fd);
  }
}

/** Opens a regular file or, if allowed, a device like /dev/null, as for `fs/writeFile`. Never waits for a device. */
function openEnd({ directory, path }: Place, flags: number, { mode = 0, mayBeDevice = false } = {}): Opened {
  const fd = openAt(directory, path, flags | O_NONBLOCK | O_NOCTTY, mode);
  if (fd === -ENXIO) throw notAFile(path);
  must(fd);
  try {
    const stat = must(statFd(fd));
    if (stat.type !== S_IFREG && !(mayBeDevice && stat.type === S_IFCHR)) throw notAFile(path);
    return { fd, stat };
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

/** Returns the number of bytes. */
async function copyContent(io: IoContext, source: Opened, to: number, signal?: AbortSignal): Promise<number> {
  if (copySmall(source, to)) return source.stat.size;
  let copied = 0;
  for (;;) {
    const count = await io.blocking.run(() => copyRangeOnPool(source.fd, to, COPY_CHUNK_BYTES));
    // A failure on the pool does not say why. Asking again on this thread does, and succeeds if the failure has passed.
    const settled = count >= 0 ? count : copyRange(source.fd, to, COPY_CHUNK_BYTES);
    // Not every pair of filesystems can do it, and some files of the kernel claim to be empty.
    if (settled <= 0) return await copyByHand(io, source.fd, to, { offset: copied, signal });
    copied += settled;
    signal?.throwIfAborted();
  }
}

let shared: ReadTarget | undefined;

/** Copies a small file that is in memory, on this thread. False in any other case: copy it from its beginning. */
function copySmall({ fd, stat }: Opened, to: number): boolean {
  if (stat.size >= SMALL_READ_BYTES) return false;
  shared ??= new ReadTarget(allocate(SMALL_READ_BYTES));
  // One byte more than expected shows whether that was all: files of the kernel claim to be empty.
  const count = readNow(fd, shared, shared.bytes.subarray(0, stat.size + 1), 0);
  if (count !== stat.size) return false;
  if (count === 0) return true;
  const written = writeAt(to, shared.bytes.subarray(0, count), 0);
  return written !== -ESPIPE && must(written) === count;
}

async function copyByHand(
  io: IoContext,
  from: number,
  to: number,
  options: { offset: number; signal?: AbortSignal | undefined },
): Promise<number> {
  const target = new ReadTarget(allocate(SMALL_READ_BYTES));
  const slice = io.pacer.slice(options.signal);
  for (let { offset } = options;;) {
    const count = readNow(from, target, target.bytes, offset) ?? await readOnPool(io, from, target.bytes, offset);
    if (count === 0) return offset;
    await writeInOrder(io, to, target.bytes.subarray(0, count), offset);
    offset += count;
    if (slice.isOver) await slice.rest();
  }
}
