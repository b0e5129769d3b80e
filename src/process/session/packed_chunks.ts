/**
 * Many small chunks of output in four arrays, for a log that will not grow any more.
 *
 * An array of its own costs a chunk some 200 bytes whatever it holds, so 50000 chunks of a few bytes would cost 10 MiB.
 * Packed, a chunk costs its bytes and 13 more. The chunks come out as they went in.
 */

import type { OutputStream } from "../backend.ts";
import type { OutputChunk } from "./output_log.ts";

const STREAMS: readonly OutputStream[] = ["stdout", "stderr", "pty"];

/** Below this size on average, a chunk's own array costs a noticeable part of what it holds. */
const SMALL_CHUNK_BYTES = 4096;

/** Fewer than this are not worth the copy. */
const MIN_PACKED_CHUNKS = 8;

/** What the arrays take for each chunk. */
const BYTES_PER_PACKED_CHUNK = 8 + 4 + 1;

/** What a chunk that is not packed costs besides its bytes: two objects and an array buffer. */
export const BYTES_PER_LOOSE_CHUNK = 200;

export class PackedChunks {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #seqs: Float64Array;
  readonly #ends: Uint32Array;
  readonly #streams: Uint8Array;

  constructor(chunks: readonly OutputChunk[]) {
    this.#seqs = Float64Array.from(chunks, ({ seq }) => seq);
    this.#streams = Uint8Array.from(chunks, ({ stream }) => STREAMS.indexOf(stream));
    this.#ends = new Uint32Array(chunks.length);
    this.#bytes = new Uint8Array(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0));
    let end = 0;
    chunks.forEach(({ bytes }, index) => {
      this.#bytes.set(bytes, end);
      this.#ends[index] = end += bytes.length;
    });
  }

  get length(): number {
    return this.#seqs.length;
  }

  at(index: number): OutputChunk {
    const start = index === 0 ? 0 : this.#ends[index - 1]!;
    return {
      seq: this.#seqs[index]!,
      stream: STREAMS[this.#streams[index]!]!,
      bytes: this.#bytes.subarray(start, this.#ends[index]),
    };
  }
}

/** Whether packing these would save more than it costs. */
export function isWorthPacking(log: { readonly chunks: number; readonly bytes: number }): boolean {
  return log.chunks >= MIN_PACKED_CHUNKS && log.bytes < log.chunks * SMALL_CHUNK_BYTES;
}

/** What chunks cost in memory besides their bytes. */
export function overheadOf(chunks: number, options: { readonly packed: boolean }): number {
  return chunks * (options.packed ? BYTES_PER_PACKED_CHUNK : BYTES_PER_LOOSE_CHUNK);
}
