/**
 * The content of a file, read while it is sent. The runtime does not say what is in memory, so unlike `file_source.ts`
 * this may wait for a device meanwhile.
 */

import type { ByteSource } from "../../bytes.ts";
import { STREAMED_PIECE_BYTES } from "../limits.ts";
import type { RuntimeFile } from "./runtime_file.ts";

/** Owns the file. */
export class RuntimeFileSource implements ByteSource {
  readonly length: number;
  readonly heldBytes = STREAMED_PIECE_BYTES;
  readonly #file: RuntimeFile;
  readonly #area = new Uint8Array(STREAMED_PIECE_BYTES);
  #offset: number;
  #remaining: number;
  #isReading = false;
  #isClosed = false;

  constructor(file: RuntimeFile, offset: number, length: number) {
    this.#file = file;
    this.#offset = offset;
    this.length = this.#remaining = length;
  }

  /** Rejects when the content cannot be read, and after `close`. */
  async next(): Promise<Uint8Array | null> {
    this.#mustBeWanted();
    const part = this.#area.subarray(0, Math.min(this.#area.length, this.#remaining));
    const count = part.length === 0 ? 0 : await this.#read(part);
    this.#mustBeWanted();
    this.#offset += count;
    // The file has become shorter. If it grows again, the new bytes do not belong to the old content.
    this.#remaining = count < part.length ? 0 : this.#remaining - count;
    return count === 0 ? null : part.subarray(0, count);
  }

  close(): void {
    this.#isClosed = true;
    // A thread may still be reading: this descriptor number must not become another file's.
    if (!this.#isReading) this.#file.drop();
  }

  async #read(part: Uint8Array<ArrayBuffer>): Promise<number> {
    this.#isReading = true;
    try {
      return await this.#file.readAt(part, this.#offset);
    } finally {
      this.#isReading = false;
      if (this.#isClosed) this.#file.drop();
    }
  }

  #mustBeWanted(): void {
    if (this.#isClosed) throw new Error("content is not wanted any more");
  }
}
