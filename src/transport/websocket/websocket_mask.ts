/**
 * The mask that clients put on what they send: four bytes, new for each frame, over and over.
 *
 * It is not a secret. It prevents old proxies on the way from taking a client's data for something else, and therefore
 * has to be random. A mask is a number here; its lowest byte is for the next position.
 */

import type { Bytes } from "../../bytes.ts";

export const MASK_BYTES = 4;

/** Random bytes are fetched for this many masks at once: one call for each would cost more than masking. */
const MASKS_AT_ONCE = 256;

const pool = new Int32Array(MASKS_AT_ONCE);
let unused = 0;

/** A mask for one frame. */
export function newMask(): number {
  if (unused === 0) {
    crypto.getRandomValues(pool);
    unused = MASKS_AT_ONCE;
  }
  return pool[--unused]!;
}

export function writeMask(target: Bytes, at: number, mask: number): void {
  for (let index = 0; index < MASK_BYTES; index++) target[at + index] = mask >>> (8 * index);
}

export function readMask(buffer: Bytes, at: number): number {
  return buffer[at]! | (buffer[at + 1]! << 8) | (buffer[at + 2]! << 16) | (buffer[at + 3]! << 24);
}

/** Puts the mask on or takes it off, a word at a time where aligned. Returns the mask for the bytes after `end`. */
export function applyMask(buffer: Bytes, start: number, end: number, first: number): number {
  let mask = first;
  let at = start;
  for (; at < end && ((buffer.byteOffset + at) & 3) !== 0; at++) {
    buffer[at]! ^= mask;
    mask = (mask >>> 8) | (mask << 24);
  }
  const words = (end - at) >> 2;
  if (words > 0) {
    xorWords(new Int32Array(buffer.buffer, buffer.byteOffset + at, words), mask);
    at += words * 4;
  }
  for (; at < end; at++) {
    buffer[at]! ^= mask;
    mask = (mask >>> 8) | (mask << 24);
  }
  return mask;
}

/** Four at a time, which takes half as long. With 64-bit words it was a third, but only in the last tier of the compiler. */
function xorWords(words: Int32Array, mask: number): void {
  const whole = words.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    words[i]! ^= mask;
    words[i + 1]! ^= mask;
    words[i + 2]! ^= mask;
    words[i + 3]! ^= mask;
  }
  for (let i = whole; i < words.length; i++) words[i]! ^= mask;
}
