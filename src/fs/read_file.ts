/** `fs/readFile`: whole files or a range of one, at most 512 MiB at once. */

import { EINVAL } from "../os/errno.ts";
import { closeFd } from "../os/file_calls.ts";
import { ReadTarget } from "../os/file_content.ts";
import { allocate } from "../os/libc.ts";
import { toBytePath } from "./byte_path.ts";
import { openRegular, readNow, readPieces } from "./content.ts";
import type { ByteSink, LargeContentReceiver, ReadFileRequest } from "./file_system.ts";
import { bringIntoMemory, type FileRange, FileSource } from "./file_source.ts";
import type { IoContext } from "./io_context.ts";
import { LARGE_READ_BYTES, MAX_READ_FILE_BYTES, PIECE_BYTES, SMALL_READ_BYTES } from "./limits.ts";
import { OsError, tooLarge } from "./map_error.ts";

/** File positions are signed in the kernel. */
const MAX_OFFSET = 2 ** 63 - 1;

/** For files whose size says little, as in /proc: less than a piece, and a multiple of 3. */
const SMALL_PIECE_BYTES = 48 * 1024;

export interface ContentReceivers {
  readonly sink: ByteSink;
  readonly signal?: AbortSignal | undefined;
  readonly large?: LargeContentReceiver | undefined;
}

export async function readFile(
  io: IoContext,
  request: ReadFileRequest,
  { sink, signal, large }: ContentReceivers,
): Promise<void> {
  let range = openRange(request);
  if (large !== undefined && range.length >= LARGE_READ_BYTES) {
    // Who has to wait holds no file open meanwhile.
    closeFd(range.fd);
    await large.makeRoom();
    signal?.throwIfAborted();
    range = openRange(request);
  }
  const { fd, offset, length: expected } = range;
  let isHandedOver = false;
  try {
    if (large !== undefined && expected >= LARGE_READ_BYTES && await bringIntoMemory(io, range, signal)) {
      large.take(new FileSource(io, range));
      isHandedOver = true;
      return;
    }
    // One byte more than allowed shows that the file has grown.
    const maxBytes = Math.min(request.length ?? Infinity, MAX_READ_FILE_BYTES + 1);
    if (readSmall(fd, sink, { offset, expected, maxBytes })) return;
    const pieceBytes = Math.min(Math.max(SMALL_PIECE_BYTES, multipleOf3(expected + 1)), PIECE_BYTES);
    const total = await readPieces(io, fd, sink, { offset, maxBytes, pieceBytes, signal });
    if (total > MAX_READ_FILE_BYTES) throw tooLarge();
  } finally {
    if (!isHandedOver) closeFd(fd);
  }
}

/** Not less than this. */
function multipleOf3(bytes: number): number {
  return Math.ceil(bytes / 3) * 3;
}

/** The file, and how much of it is wanted and there. The descriptor is the caller's. */
function openRange(request: ReadFileRequest): FileRange {
  const { offset } = request;
  const { fd, stat } = openRegular(toBytePath(request.path), request);
  const length = Math.min(request.length ?? Infinity, Math.max(0, stat.size - offset));
  if (offset < MAX_OFFSET && length <= MAX_READ_FILE_BYTES) return { fd, offset, length };
  closeFd(fd);
  throw offset < MAX_OFFSET ? tooLarge() : new OsError(EINVAL);
}

let shared: ReadTarget | undefined;

/**
 * The usual case: a small file that is in memory, read whole by one call into an area that all requests share, which
 * works because nothing can come between the call and the sink. False, and nothing was handed over, in any other case.
 */
function readSmall(
  fd: number,
  sink: ByteSink,
  { offset, expected, maxBytes }: { offset: number; expected: number; maxBytes: number },
): boolean {
  if (expected >= SMALL_READ_BYTES) return false;
  shared ??= new ReadTarget(allocate(SMALL_READ_BYTES));
  // Asking for one byte more than expected tells that this was all.
  const part = shared.bytes.subarray(0, Math.min(expected + 1, maxBytes));
  const count = part.length === 0 ? 0 : readNow(fd, shared, part, offset);
  if (count !== expected) return false;
  if (count > 0) sink(part.subarray(0, count));
  return true;
}
