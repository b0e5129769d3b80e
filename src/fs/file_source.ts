/** The content of an open file, read while it is passed on, and how it is made ready for that. */

import type { ByteSource } from "../bytes.ts";
import { EAGAIN } from "../os/errno.ts";
import { closeFd } from "../os/file_calls.ts";
import { ReadTarget } from "../os/file_content.ts";
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
 * Has what is missing of the range read into memory, as far as a look here and there tells. Only then should it be read
 * while it leaves: a device that takes its time would hold up everything that leaves behind it, and a failure could no
 * longer be answered. False where the filesystem does not say what is in memory.
 */
export async function bringIntoMemory(
  io: IoContext,
  { fd, offset, length }: FileRange,
  signal?: AbortSignal,
): Promise<boolean> {
  const look = new ReadTarget(allocate(1));
  let area: Uint8Array<ArrayBuffer> | null = null;
  for (let at = 0; at < length; at += RESIDENCY_STEP_BYTES) {
    // The last byte of a stretch: what the kernel reads ahead of us comes from its front.
    const found = look.readNow(fd, look.bytes, offset + Math.min(at + RESIDENCY_STEP_BYTES, length) - 1);
    if (found >= 0) continue;
    if (found !== -EAGAIN) return false;
    area ??= allocate(RESIDENCY_STEP_BYTES);
    await readOnPool(io, fd, area, offset + at);
    signal?.throwIfAborted();
  }
  return true;
}

/** Areas of closed sources, so that a client that reads one file after another does not keep the collector busy. */
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
  /** Somebody has a piece of the area and may still look at it. */
  #isLent = false;
  #isClosed = false;

  constructor(io: IoContext, { fd, offset, length }: FileRange) {
    this.#io = io;
    this.#fd = fd;
    this.#offset = offset;
    this.length = this.#remaining = length;
  }

  /** Rejects when the content cannot be read, and once closed. */
  async next(): Promise<Uint8Array | null> {
    const wanted = Math.min(STREAMED_PIECE_BYTES, this.#remaining);
    let filled = 0;
    while (filled < wanted) {
      this.#mustBeWanted();
      const count = await this.#read(this.#target.bytes.subarray(filled, wanted));
      // Closed meanwhile: the area may be another's by now.
      this.#mustBeWanted();
      if (count === 0) {
        // The file has become shorter. Should it grow again, what comes then does not belong to what came before.
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
    // A thread that still reads must not meet another file under this number.
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
