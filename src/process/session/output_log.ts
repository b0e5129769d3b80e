/**
 * The output of one process that can still be read: the newest chunks, up to a number of bytes and of chunks.
 *
 * Promises: chunks stay whole and in order, the oldest go first, and a read at any cursor returns every retained chunk
 * after it. Where unacknowledged chunks are held, the caps are for the others. No I/O and no clock; numbering and waiting
 * belong to the process. Appending takes constant time on average.
 * A log that is complete can be packed, so that it costs little more than its bytes.
 */

import type { OutputStream } from "../backend.ts";
import { DroppedSizes } from "./dropped_sizes.ts";
import { BYTES_PER_LOOSE_CHUNK, isWorthPacking, overheadOf, PackedChunks } from "./packed_chunks.ts";

/** A piece of output as it was numbered. The bytes are shared by everyone who gets the chunk: nobody changes them. */
export interface OutputChunk {
  readonly seq: number;
  readonly stream: OutputStream;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface OutputLogOptions {
  readonly maxBytes: number;
  readonly maxChunks: number;
  /** Nothing is dropped before it was acknowledged, whatever the caps say. */
  readonly holdsUnacknowledged?: boolean;
  /** Called with each chunk that is not retained any more, oldest first. */
  readonly onDropped?: (chunk: OutputChunk) => void;
}

/** Dropped slots are reclaimed in bulk, from this many on. */
const MIN_RECLAIMED_SLOTS = 64;

export class OutputLog {
  readonly #options: OutputLogOptions;
  readonly #droppedSizes = new DroppedSizes();
  /** Slots before `#first` are dropped chunks, emptied so that they hold no bytes. */
  #slots: (OutputChunk | undefined)[] = [];
  #first = 0;
  #bytes = 0;
  /** Chunks after this number are not dropped. */
  #acknowledgedSeq: number;
  /** In place of the slots, once the log is complete. */
  #packed: PackedChunks | null = null;

  constructor(options: OutputLogOptions) {
    this.#options = options;
    this.#acknowledgedSeq = options.holdsUnacknowledged === true ? 0 : Infinity;
  }

  get retainedBytes(): number {
    return this.#bytes;
  }

  get retainedChunks(): number {
    return this.#end - this.#first;
  }

  /** Memory held, about. */
  get allocatedBytes(): number {
    const overhead = overheadOf(this.retainedChunks, { packed: this.#packed !== null });
    return this.#bytes + overhead + this.#droppedSizes.allocatedBytes;
  }

  /** The number of the oldest retained chunk; null when there is none. */
  get firstSeq(): number | null {
    return this.retainedChunks === 0 ? null : this.#at(this.#first).seq;
  }

  /** Bytes after this number that are not retained any more. Too few for very old numbers (see `DroppedSizes`). */
  droppedBytesAfter(seq: number): number {
    return this.#droppedSizes.after(seq);
  }

  /** Adds the newest chunk: its seq is above all before it. */
  append(chunk: OutputChunk): void {
    this.#slots.push(chunk);
    this.#bytes += chunk.bytes.length;
    this.#dropExcess();
  }

  /** Chunks up to this number may be dropped from now on. Returns what those cost in memory that might not before. */
  acknowledge(seq: number): number {
    if (seq <= this.#acknowledgedSeq) return 0;
    let bytes = 0;
    const end = this.#firstAfter(seq);
    for (let at = this.#firstAfter(this.#acknowledgedSeq); at < end; at++) bytes += chunkCost(this.#at(at));
    this.#acknowledgedSeq = seq;
    if (this.#packed === null) this.#dropExcess();
    return bytes;
  }

  /** Nothing more will be appended: takes as little memory as it can. */
  pack(): void {
    if (this.#packed !== null || !isWorthPacking({ chunks: this.retainedChunks, bytes: this.#bytes })) return;
    this.#packed = new PackedChunks(this.#slots.slice(this.#first) as OutputChunk[]);
    this.#slots = [];
    this.#first = 0;
  }

  /**
   * The retained chunks after `afterSeq`, ascending. With `maxBytes` only as many as fit, but at least one, so that a
   * reader with a small budget makes progress.
   */
  read(afterSeq: number, maxBytes: number | null): OutputChunk[] {
    const from = this.#firstAfter(afterSeq);
    if (maxBytes === null) return this.#slice(from, this.#end);

    let bytes = 0;
    let end = from;
    while (end < this.#end) {
      bytes += this.#at(end).bytes.length;
      if (bytes > maxBytes && end > from) break;
      end++;
      if (bytes >= maxBytes) break;
    }
    return this.#slice(from, end);
  }

  hasAfter(afterSeq: number): boolean {
    return this.retainedChunks > 0 && this.#at(this.#end - 1).seq > afterSeq;
  }

  *[Symbol.iterator](): Generator<OutputChunk> {
    for (let at = this.#first; at < this.#end; at++) yield this.#at(at);
  }

  get #end(): number {
    return this.#packed?.length ?? this.#slots.length;
  }

  #at(index: number): OutputChunk {
    return this.#packed?.at(index) ?? this.#slots[index]!;
  }

  #slice(from: number, end: number): OutputChunk[] {
    if (this.#packed === null) return this.#slots.slice(from, end) as OutputChunk[];
    return Array.from({ length: end - from }, (_, index) => this.#at(from + index));
  }

  #dropExcess(): void {
    while (this.#bytes > this.#options.maxBytes || this.retainedChunks > this.#options.maxChunks) {
      if (this.#slots[this.#first]!.seq > this.#acknowledgedSeq) return;
      this.#dropOldest();
    }
  }

  #dropOldest(): void {
    const oldest = this.#slots[this.#first]!;
    this.#bytes -= oldest.bytes.length;
    this.#slots[this.#first++] = undefined;
    this.#droppedSizes.add(oldest.seq, oldest.bytes.length);
    this.#options.onDropped?.(oldest);
    if (this.#first >= MIN_RECLAIMED_SLOTS && this.#first * 2 >= this.#slots.length) {
      this.#slots.splice(0, this.#first);
      this.#first = 0;
    }
  }

  /** Index of the first retained chunk with a higher seq. Numbers have gaps here, so it is searched for. */
  #firstAfter(afterSeq: number): number {
    let low = this.#first;
    let high = this.#end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle).seq > afterSeq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** What a chunk costs in memory while it is not packed. */
export function chunkCost({ bytes }: OutputChunk): number {
  return bytes.length + BYTES_PER_LOOSE_CHUNK;
}

/**
 * The same bytes in a form that may be retained: a view of a much larger buffer would keep all of it alive, and the
 * byte limit would not mean memory. A quarter of slack is cheaper than a copy.
 */
export function withoutPinning(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const slack = bytes.buffer.byteLength - bytes.byteLength;
  return slack * 4 > bytes.byteLength ? bytes.slice() : bytes;
}
