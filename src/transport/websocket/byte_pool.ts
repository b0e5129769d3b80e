/**
 * A few large buffers shared by all connections for bulk sending, so that a flood neither allocates per write nor
 * leaves a large buffer with every connection.
 */

import type { Bytes } from "../../bytes.ts";

interface Pool {
  readonly bufferBytes: number;
  /** How many free buffers are kept. More are left to the garbage collector. */
  readonly maxFree: number;
  readonly free: Bytes[];
}

/** One send batch with its frame headers and some room. */
const BATCHES: Pool = { bufferBytes: 320 * 1024, maxFree: 4, free: [] };

/**
 * A piece of a long streamed message. Smaller pieces wake the peer more often, which took a fifth longer; larger ones
 * gained nothing.
 */
const STREAMS: Pool = { bufferBytes: 1024 * 1024, maxFree: 4, free: [] };

const POOLS = [BATCHES, STREAMS];

/** A buffer of at least this many bytes. */
export function takeBuffer(minBytes: number): Bytes {
  const pool = POOLS.find(({ bufferBytes }) => minBytes <= bufferBytes);
  return pool === undefined ? new Uint8Array(minBytes) : pool.free.pop() ?? new Uint8Array(pool.bufferBytes);
}

/** Messages up to this size are better sent in small pieces: the peer reads the first while the next is made. */
const SHORT_STREAM_BYTES = 4 * 1024 * 1024;

/** A buffer to stream a message of this many bytes through. */
export function takeStreamBuffer(messageBytes: number): Bytes {
  return takeBuffer(messageBytes <= SHORT_STREAM_BYTES ? BATCHES.bufferBytes : STREAMS.bufferBytes);
}

/** Returns a buffer to the pool. Ignores other buffers. */
export function giveBuffer(buffer: Bytes): void {
  const pool = POOLS.find(({ bufferBytes }) => buffer.length === bufferBytes);
  if (pool !== undefined && pool.free.length < pool.maxFree) pool.free.push(buffer);
}
