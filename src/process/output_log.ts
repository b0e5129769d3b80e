/**
 * The output of one process that can still be read: the newest chunks, up to a number of bytes and of chunks.
 *
 * Promises: chunks stay whole and in order, the oldest go first, and a read at any cursor returns every retained chunk
 * after it. No I/O and no clock; numbering and waiting belong to the process. Appending is constant time on average.
 */

import type { OutputStream } from "./backend.ts";

/** A piece of output as it was numbered. The bytes are shared by everyone who gets the chunk: nobody changes them. */
export interface OutputChunk {
  readonly seq: number;
  readonly stream: OutputStream;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface OutputLogLimits {
  readonly maxBytes: number;
  readonly maxChunks: number;
}

/** Dropped slots are reclaimed in bulk, from this many on. */
const MIN_RECLAIMED_SLOTS = 64;

export class OutputLog {
  readonly #limits: OutputLogLimits;
  /** Slots before `#first` are dropped chunks, emptied so that they hold no bytes. */
  #slots: (OutputChunk | undefined)[] = [];
  #first = 0;
  #bytes = 0;

  constructor(limits: OutputLogLimits) {
    this.#limits = limits;
  }

  get retainedBytes(): number {
    return this.#bytes;
  }

  get retainedChunks(): number {
    return this.#slots.length - this.#first;
  }

  /** Adds the newest chunk: its seq is above all before it. */
  append(chunk: OutputChunk): void {
    this.#slots.push(chunk);
    this.#bytes += chunk.bytes.length;
    while (this.#bytes > this.#limits.maxBytes || this.retainedChunks > this.#limits.maxChunks) this.#dropOldest();
  }

  /**
   * The retained chunks after `afterSeq`, ascending. With `maxBytes` only as many as fit into it, but one at least, so
   * that a reader with a small budget gets on.
   */
  read(afterSeq: number, maxBytes: number | null): OutputChunk[] {
    const from = this.#firstAfter(afterSeq);
    if (maxBytes === null) return this.#slots.slice(from) as OutputChunk[];

    let bytes = 0;
    let end = from;
    while (end < this.#slots.length) {
      bytes += this.#slots[end]!.bytes.length;
      if (bytes > maxBytes && end > from) break;
      end++;
      if (bytes >= maxBytes) break;
    }
    return this.#slots.slice(from, end) as OutputChunk[];
  }

  hasAfter(afterSeq: number): boolean {
    const newest = this.#slots.at(-1);
    return newest !== undefined && newest.seq > afterSeq;
  }

  *[Symbol.iterator](): Generator<OutputChunk> {
    for (let at = this.#first; at < this.#slots.length; at++) yield this.#slots[at]!;
  }

  #dropOldest(): void {
    this.#bytes -= this.#slots[this.#first]!.bytes.length;
    this.#slots[this.#first++] = undefined;
    if (this.#first >= MIN_RECLAIMED_SLOTS && this.#first * 2 >= this.#slots.length) {
      this.#slots.splice(0, this.#first);
      this.#first = 0;
    }
  }

  /** Index of the first retained chunk with a higher seq. Numbers have gaps here, so it is searched for. */
  #firstAfter(afterSeq: number): number {
    let low = this.#first;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#slots[middle]!.seq > afterSeq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/**
 * The same bytes in a form that may be retained: a view of a much larger buffer would keep all of it alive, and the
 * byte cap would not mean memory. A quarter of slack is cheaper than a copy.
 */
export function withoutPinning(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const slack = bytes.buffer.byteLength - bytes.byteLength;
  return slack * 4 > bytes.byteLength ? bytes.slice() : bytes;
}
