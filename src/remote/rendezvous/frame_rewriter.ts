/**
 * Turns the frames of one peer into frames for another, in place: removes masks, shortens headers, and moves payloads
 * up.
 *
 * A frame of any length passes through a buffer of any length, piece by piece. Only headers are read, and nothing is
 * kept. Control frames belong to one connection, so they go to its owner instead.
 */

import type { Bytes } from "../../bytes.ts";
import { applyMask, MASK_BYTES, readMask } from "../../transport/websocket/websocket_mask.ts";
import { CLOSE_CODE, MAX_CONTROL_PAYLOAD_BYTES, OPCODE } from "../../transport/websocket/websocket_frames.ts";

/** What must fit into the buffer: the longest header of a masked frame, and the longest control frame. */
export const MIN_REWRITE_BYTES = 14 + MAX_CONTROL_PAYLOAD_BYTES;

export type Rewritten =
  /**
   * Frames for the other peer lie at the beginning of the buffer, up to `outEnd`. What begins at `rest` is still
   * incomplete.
   */
  | { readonly type: "frames"; readonly outEnd: number; readonly rest: number }
  /** The peer has broken the protocol. What comes before that is valid. */
  | { readonly type: "violation"; readonly outEnd: number; readonly reason: string; readonly closeCode: number };

export class FrameRewriter {
  /** How much is left of the frame whose payload is passing. */
  #payloadLeft = 0;
  #mask = 0;

  /** Whether the bytes that were passed on end within a frame, so that nothing else may be written after them. */
  get isWithinFrame(): boolean {
    return this.#payloadLeft > 0;
  }

  /**
   * Rewrites what lies in the buffer before `end`. `onControl` gets the opcode of each control frame and its payload,
   * which is lent. If it returns false, reading stops.
   */
  rewrite(buffer: Bytes, end: number, onControl: (opcode: number, payload: Bytes) => boolean): Rewritten {
    let at = 0;
    let out = 0;
    for (;;) {
      if (this.#payloadLeft > 0) {
        const count = Math.min(this.#payloadLeft, end - at);
        this.#mask = applyMask(buffer, at, at + count, this.#mask);
        if (out !== at) buffer.copyWithin(out, at, at + count);
        at += count;
        out += count;
        this.#payloadLeft -= count;
        if (this.#payloadLeft > 0) return { type: "frames", outEnd: out, rest: at };
      }
      if (end - at < 2) return { type: "frames", outEnd: out, rest: at };
      const first = buffer[at]!;
      const second = buffer[at + 1]!;
      const opcode = first & 0x0f;
      const complaint = complainOf(first, second);
      if (complaint !== null) return violation(out, complaint);

      const shortLength = second & 0x7f;
      const lengthBytes = shortLength < 126 ? 0 : shortLength === 126 ? 2 : 8;
      const headerBytes = 2 + lengthBytes;
      const payloadStart = at + headerBytes + MASK_BYTES;
      if (payloadStart > end) return { type: "frames", outEnd: out, rest: at };

      if (opcode >= OPCODE.close) {
        const payloadEnd = payloadStart + shortLength;
        if (payloadEnd > end) return { type: "frames", outEnd: out, rest: at };
        applyMask(buffer, payloadStart, payloadEnd, readMask(buffer, payloadStart - MASK_BYTES));
        at = payloadEnd;
        if (!onControl(opcode, buffer.subarray(payloadStart, payloadEnd))) {
          return { type: "frames", outEnd: out, rest: at };
        }
        continue;
      }
      const length = lengthBytes === 0 ? shortLength : readLength(buffer, at + 2, lengthBytes);
      if (!Number.isSafeInteger(length)) return violation(out, "a frame has an impossible length");
      this.#payloadLeft = length;
      this.#mask = readMask(buffer, payloadStart - MASK_BYTES);
      // The same header without the mask. It ends before the payload begins, since `out` never overtakes `at`.
      buffer[out] = first;
      buffer[out + 1] = shortLength;
      buffer.copyWithin(out + 2, at + 2, at + headerBytes);
      out += headerBytes;
      at = payloadStart;
    }
  }
}

function complainOf(first: number, second: number): string | null {
  const opcode = first & 0x0f;
  if ((first & 0x70) !== 0) return "reserved bits are set and no extension was negotiated";
  if ((second & 0x80) === 0) return "a frame is not masked";
  if (opcode < OPCODE.close) return opcode > OPCODE.binary ? `unknown opcode ${opcode}` : null;
  if (opcode > OPCODE.pong) return `unknown control opcode ${opcode}`;
  const isShort = (second & 0x7f) <= MAX_CONTROL_PAYLOAD_BYTES && (first & 0x80) !== 0;
  return isShort ? null : "a control frame is fragmented or too long";
}

function readLength(buffer: Bytes, at: number, bytes: number): number {
  let length = 0;
  for (let i = 0; i < bytes; i++) length = length * 256 + buffer[at + i]!;
  return length;
}

function violation(outEnd: number, reason: string): Rewritten {
  return { type: "violation", outEnd, reason, closeCode: CLOSE_CODE.protocolError };
}
