/**
 * A few large buffers shared by all connections for sending bulk, so that a flood neither allocates per write nor
 * leaves a large buffer with every connection.
 */

/** One send batch with its frame headers and some room. */
const BUFFER_BYTES = 320 * 1024;

/** More than this many writers of bulk at once allocate for themselves. */
const MAX_FREE = 4;

const free: Uint8Array<ArrayBuffer>[] = [];

export function takeBuffer(minBytes: number): Uint8Array<ArrayBuffer> {
  if (minBytes > BUFFER_BYTES) return new Uint8Array(minBytes);
  return free.pop() ?? new Uint8Array(BUFFER_BYTES);
}

export function giveBuffer(buffer: Uint8Array<ArrayBuffer>): void {
  if (buffer.length === BUFFER_BYTES && free.length < MAX_FREE) free.push(buffer);
}
