/**
 * How much output was dropped, and where: what a reader with an old cursor has missed.
 *
 * The sizes of the latest dropped chunks are remembered, so the answer is exact for a cursor among them. It is also
 * exact for a reader that starts at the beginning. For a cursor between the two it is too small.
 */

import { MAX_REMEMBERED_DROPPED_SIZES } from "../limits.ts";

const FIRST_ALLOCATION = 64;

export class DroppedSizes {
  readonly #capacity: number;
  /** By number, modulo its length: a ring once it has reached its capacity. */
  #sizes = new Uint32Array(0);
  #firstSeq = Infinity;
  #lastSeq = 0;
  #remembered = 0;
  #totalBytes = 0;

  constructor(capacity: number = MAX_REMEMBERED_DROPPED_SIZES) {
    this.#capacity = capacity;
  }

  get allocatedBytes(): number {
    return this.#sizes.byteLength;
  }

  /** A chunk was dropped; its number is above all before it. Numbers that are skipped held no output. */
  add(seq: number, bytes: number): void {
    if (this.#firstSeq === Infinity) {
      this.#firstSeq = seq;
      this.#lastSeq = seq - 1;
    }
    const skipped = Math.min(seq - this.#lastSeq - 1, this.#capacity);
    for (let at = seq - skipped; at < seq; at++) this.#put(at, 0);
    this.#put(seq, bytes);
    this.#totalBytes += bytes;
  }

  /** Bytes dropped of all that came after this number. */
  after(seq: number): number {
    if (seq < this.#firstSeq) return this.#totalBytes;
    let sum = 0;
    const from = Math.max(seq + 1, this.#lastSeq - this.#remembered + 1);
    for (let at = from; at <= this.#lastSeq; at++) sum += this.#sizes[at % this.#sizes.length]!;
    return sum;
  }

  #put(seq: number, bytes: number): void {
    this.#lastSeq = seq;
    if (this.#remembered === this.#sizes.length && this.#remembered < this.#capacity) this.#grow();
    this.#sizes[seq % this.#sizes.length] = bytes;
    this.#remembered = Math.min(this.#remembered + 1, this.#sizes.length);
  }

  #grow(): void {
    const larger = new Uint32Array(Math.min(this.#capacity, Math.max(FIRST_ALLOCATION, this.#sizes.length * 2)));
    for (let at = this.#lastSeq - this.#remembered; at < this.#lastSeq; at++) {
      larger[at % larger.length] = this.#sizes[at % this.#sizes.length]!;
    }
    this.#sizes = larger;
  }
}
