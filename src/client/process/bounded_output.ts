/**
 * The first and the last part of what was written, within a bound. The middle is dropped and counted.
 *
 * Chunks are kept as they came, so that adding copies nothing.
 */

import { concatBytes } from "../../bytes.ts";

/** Chunks at the end are dropped whole; emptied slots are reclaimed from this many on. */
const MIN_RECLAIMED_SLOTS = 64;

/** See the head of the module. */
export class BoundedOutput {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailStart = 0;
  #tailBytes = 0;
  #totalBytes = 0;

  /** Half of the bound is for the beginning. With 0 for the head only the newest is kept. */
  constructor(maxBytes: number, headBytes: number = Math.floor(maxBytes / 2)) {
    this.#headLimit = headBytes;
    this.#tailLimit = maxBytes - headBytes;
  }

  /** How many bytes were added. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** How many bytes were dropped. */
  get droppedBytes(): number {
    return this.#totalBytes - this.#headBytes - Math.min(this.#tailBytes, this.#tailLimit);
  }

  /** Keeps the array: it must not be changed afterwards. */
  add(bytes: Uint8Array): void {
    this.#totalBytes += bytes.length;
    const room = this.#headLimit - this.#headBytes;
    if (room > 0) {
      const part = bytes.length <= room ? bytes : bytes.slice(0, room);
      this.#head.push(part);
      this.#headBytes += part.length;
      if (part.length === bytes.length) return;
      bytes = bytes.subarray(part.length);
    }
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    // The oldest chunk stays as long as a part of it counts.
    while (this.#tailBytes - this.#tail[this.#tailStart]!.length >= this.#tailLimit) {
      this.#tailBytes -= this.#tail[this.#tailStart]!.length;
      this.#tail[this.#tailStart++] = EMPTY;
    }
    if (this.#tailStart >= MIN_RECLAIMED_SLOTS && this.#tailStart * 2 > this.#tail.length) {
      this.#tail = this.#tail.slice(this.#tailStart);
      this.#tailStart = 0;
    }
  }

  /** The first part. */
  head(): Uint8Array<ArrayBuffer> {
    return concatBytes(this.#head);
  }

  /** The last part. It follows the first one directly if nothing was dropped. */
  tail(): Uint8Array<ArrayBuffer> {
    const whole = concatBytes(this.#tail.slice(this.#tailStart));
    return whole.length > this.#tailLimit ? whole.slice(whole.length - this.#tailLimit) : whole;
  }

  /** Both parts in one array. */
  bytes(): Uint8Array<ArrayBuffer> {
    return concatBytes([this.head(), this.tail()]);
  }
}

const EMPTY = new Uint8Array(0);
