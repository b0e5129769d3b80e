/** `fs/readFile`: whole files or a range of one, at most 512 MiB at once. */

import { EINVAL } from "../os/errno.ts";
import { closeFd } from "../os/files/file_calls.ts";
import { ReadTarget } from "../os/files/file_content.ts";
import { allocate } from "../os/libc.ts";
import { toBytePath } from "./byte_path.ts";
import { openRegular, readNow, readOnPool, readPieces } from "./content.ts";
import type { ByteSink, ContentReceivers, ReadFileRequest } from "./file_system.ts";
import { bringIntoMemory, type FileRange, FileSource } from "./file_source.ts";
import type { IoContext } from "./io_context.ts";
import {
  LARGE_READ_BYTES,
  MAX_OFFSET,
  MAX_READ_FILE_BYTES,
  PIECE_BYTES,
  SHORT_READ_BYTES,
  SMALL_READ_BYTES,
  UNKNOWN_LENGTH_BYTES,
} from "./limits.ts";
import { OsError, tooLarge } from "./map_error.ts";

/** For files whose size says little, as in /proc. Less than a piece, and a multiple of 3. */
const SMALL_PIECE_BYTES = 48 * 1024;

export async function readFile(
  io: IoContext,
  request: ReadFileRequest,
  { sink, signal, large }: ContentReceivers,
): Promise<void> {
  let range = openRange(io, request);
  const waiting = range.length > SHORT_READ_BYTES ? large?.makeRoom(range.length) : undefined;
  if (waiting !== undefined) {
    // No file is held open while waiting.
    closeFd(range.fd);
    await waiting;
    signal?.throwIfAborted();
    range = openRange(io, request);
  }
  const { fd, offset, length: expected } = range;
  let isHandedOver = false;
  try {
    if (large !== undefined && expected >= LARGE_READ_BYTES) {
      if (await bringIntoMemory(io, range, signal)) {
        large.take(new FileSource(io, range));
        isHandedOver = true;
        return;
      }
      await large.makeRoomInMemory(expected);
    }
    // One byte more than allowed shows that the file has grown.
    const maxBytes = Math.min(request.length ?? Infinity, MAX_READ_FILE_BYTES + 1);
    if (readSmall(fd, sink, { offset, expected, maxBytes })) return;
    if (large !== undefined && expected > SHORT_READ_BYTES && expected < LARGE_READ_BYTES) {
      const bytes = await readWhole(io, fd, { offset, expected, maxBytes });
      signal?.throwIfAborted();
      if (bytes !== null) return large.takeBytes(bytes);
    }
    const pieceBytes = Math.min(Math.max(SMALL_PIECE_BYTES, multipleOf3(expected + 1)), PIECE_BYTES);
    const roomBytes = Math.max(expected, SHORT_READ_BYTES);
    const makeRoom = () => large?.makeRoomInMemory(Math.max(roomBytes, UNKNOWN_LENGTH_BYTES));
    const total = await readPieces(io, fd, sink, { offset, maxBytes, pieceBytes, signal, roomBytes, makeRoom });
    if (total > MAX_READ_FILE_BYTES) throw tooLarge();
  } finally {
    if (!isHandedOver) closeFd(fd);
  }
}

/** The smallest multiple of 3 that is at least this much. */
function multipleOf3(bytes: number): number {
  return Math.ceil(bytes / 3) * 3;
}

/** The file, and how much of it is wanted and exists. The descriptor is the caller's. */
function openRange(io: IoContext, request: ReadFileRequest): FileRange {
  const { offset } = request;
  const { fd, stat } = openRegular(toBytePath(request.path), request, io.guardOpen);
  const length = Math.min(request.length ?? Infinity, Math.max(0, stat.size - offset));
  if (offset < MAX_OFFSET && length <= MAX_READ_FILE_BYTES) return { fd, offset, length };
  closeFd(fd);
  throw offset < MAX_OFFSET ? tooLarge() : new OsError(EINVAL);
}

/**
 * The whole content in one array, if it is not longer than expected. Null: it is longer, and must be read again in
 * pieces.
 */
async function readWhole(
  io: IoContext,
  fd: number,
  { offset, expected, maxBytes }: { offset: number; expected: number; maxBytes: number },
): Promise<Uint8Array<ArrayBuffer> | null> {
  // Asking for one byte more shows that this was all.
  const target = new ReadTarget(allocate(Math.min(expected + 1, maxBytes)));
  let filled = 0;
  while (filled < target.bytes.length) {
    const part = target.bytes.subarray(filled);
    const count = readNow(fd, target, part, offset + filled) ?? await readOnPool(io, fd, part, offset + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled > expected ? null : target.bytes.subarray(0, filled);
}

let shared: ReadTarget | undefined;

/**
 * The usual case: a small file that is in memory. One call reads it whole into a buffer that all requests share, which
 * works because nothing can run between the call and the sink. In any other case it returns false, and nothing was
 * handed over.
 */
function readSmall(
  fd: number,
  sink: ByteSink,
  { offset, expected, maxBytes }: { offset: number; expected: number; maxBytes: number },
): boolean {
  if (expected >= SMALL_READ_BYTES) return false;
  shared ??= new ReadTarget(allocate(SMALL_READ_BYTES));
  // Asking for one byte more than expected shows that this was all.
  const part = shared.bytes.subarray(0, Math.min(expected + 1, maxBytes));
  const count = part.length === 0 ? 0 : readNow(fd, shared, part, offset);
  if (count !== expected) return false;
  if (count > 0) sink(part.subarray(0, count));
  return true;
}
