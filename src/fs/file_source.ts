/** The content of an open file, read while it is sent, and how it is prepared for that. */

import type { ByteSource } from "../bytes.ts";
import { EAGAIN } from "../os/errno.ts";
import { closeFd } from "../os/files/file_calls.ts";
import { ReadTarget } from "../os/files/file_content.ts";
import { allocate } from "../os/libc.ts";
import { readNow, readOnPool } from "./content.ts";
import type { IoContext } from "./io_context.ts";
import { RESIDENCY_STEP_BYTES, STREAMED_PIECE_BYTES } from "./limits.ts";

export interface FileRange {
  readonly fd: number;
  readonly offset: number;
  readonly length: number;
}

/**
 * Reads missing parts of the range into memory, judged by samples. A file should be sent while it is read only after
 * this: a slow device would hold up everything behind it on the connection, and a failure could no longer be answered.
 * False where the filesystem does not say what is in memory.
 */
export async function bringIntoMemory(
  io: IoContext,
  { fd, offset, length }: FileRange,
  signal?: AbortSignal,
): Promise<boolean> {
  const look = new ReadTarget(allocate(1));
  let area: Uint8Array<ArrayBuffer> | null = null;
  for (let at = 0; at < length; at += RESIDENCY_STEP_BYTES) {
    // The last byte of a stretch: the kernel's read-ahead starts at its front.
    const found = look.readNow(fd, look.bytes, offset + Math.min(at + RESIDENCY_STEP_BYTES, length) - 1);
    if (found >= 0) continue;
    if (found !== -EAGAIN) return false;
    area ??= allocate(RESIDENCY_STEP_BYTES);
    await readOnPool(io, fd, area, offset + at);
    signal?.throwIfAborted();
  }
  return true;
}

/** Buffers of closed sources. Reusing them keeps the garbage collector idle when a client reads many files. */
const spareTargets: ReadTarget[] = [];
const MAX_SPARE_TARGETS = 4;

/** Owns the descriptor. */
export class FileSource implements ByteSource {
  readonly length: number;
  readonly heldBytes = STREAMED_PIECE_BYTES;
  readonly #io: IoContext;
  readonly #fd: number;
  readonly #target = spareTargets.pop() ?? new ReadTarget(allocate(STREAMED_PIECE_BYTES));
  #offset: number;
  #remaining: number;
  #isReading = false;
  /** A piece of the buffer is still in use. */
  #isLent = false;
  #isClosed = false;

  constructor(io: IoContext, { fd, offset, length }: FileRange) {
    this.#io = io;
    this.#fd = fd;
    this.#offset = offset;
    this.length = this.#remaining = length;
  }

  /** Rejects when the content cannot be read, and after `close`. */
  async next(): Promise<Uint8Array | null> {
    const wanted = Math.min(STREAMED_PIECE_BYTES, this.#remaining);
    let filled = 0;
    while (filled < wanted) {
      this.#mustBeWanted();
      const count = await this.#read(this.#target.bytes.subarray(filled, wanted));
      // Closed meanwhile: the buffer may belong to another source now.
      this.#mustBeWanted();
      if (count === 0) {
        // The file has become shorter. If it grows again, the new bytes do not belong to the old content.
        this.#remaining = filled;
        break;
      }
      filled += count;
      this.#offset += count;
    }
    this.#remaining -= filled;
    this.#isLent = filled > 0;
    return filled === 0 ? null : this.#target.bytes.subarray(0, filled);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A thread may still be reading: this descriptor number must not become another file's.
    if (!this.#isReading) this.#release();
  }

  #release(): void {
    closeFd(this.#fd);
    if (!this.#isLent && spareTargets.length < MAX_SPARE_TARGETS) spareTargets.push(this.#target);
  }

  #mustBeWanted(): void {
    if (this.#isClosed) throw new Error("content is not wanted any more");
  }

  async #read(part: Uint8Array<ArrayBuffer>): Promise<number> {
    const count = readNow(this.#fd, this.#target, part, this.#offset);
    if (count !== null) return count;
    this.#isReading = true;
    try {
      return await readOnPool(this.#io, this.#fd, part, this.#offset);
    } finally {
      this.#isReading = false;
      if (this.#isClosed) this.#release();
    }
  }
}
