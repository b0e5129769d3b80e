/**
 * RFC 6455 frames as bytes: reading one in place, writing one. No sockets and no state; the server's side, so what is
 * read must be masked and what is written is not.
 *
 * Written here and not taken from Deno's own websocket because the contract limits single frames, whole messages and
 * what a slow handler may pile up, and that one shows none of it: it joins fragments without a limit until the process
 * runs out of memory, and goes on reading whatever the handler does.
 */

import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { type AsciiParts, type OutboundMessage, textLength } from "../rpc/link.ts";
import { StreamedMessage } from "../rpc/streamed_message.ts";

export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** Of a frame from us, which has no mask. */
export const MAX_HEADER_BYTES = 10;

/** Longest payload of a control frame, by the RFC. */
export const MAX_CONTROL_PAYLOAD_BYTES = 125;

export type FrameRead =
  /** More bytes are needed: at least `totalBytes` counted from `start`. */
  | { readonly type: "incomplete"; readonly totalBytes: number }
  | { readonly type: "violation"; readonly reason: string }
  /** The payload has been unmasked in place and lies between `payloadStart` and `end`. */
  | {
    readonly type: "frame";
    readonly isFinal: boolean;
    readonly opcode: number;
    readonly payloadStart: number;
    readonly end: number;
  };

/** Reads the frame that begins at `start`, of which bytes up to `end` have arrived. */
export function readFrame(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): FrameRead {
  const available = end - start;
  if (available < 2) return { type: "incomplete", totalBytes: 2 };
  const first = buffer[start]!;
  const second = buffer[start + 1]!;
  const opcode = first & 0x0f;
  const isFinal = (first & 0x80) !== 0;
  if ((first & 0x70) !== 0) return violation("reserved bits are set and no extension was negotiated");
  if ((second & 0x80) === 0) return violation("client frame is not masked");

  let payloadBytes = second & 0x7f;
  let header = 2;
  if (payloadBytes === 126) {
    header = 4;
    if (available < header) return { type: "incomplete", totalBytes: header };
    payloadBytes = (buffer[start + 2]! << 8) | buffer[start + 3]!;
  } else if (payloadBytes === 127) {
    header = 10;
    if (available < header) return { type: "incomplete", totalBytes: header };
    const view = new DataView(buffer.buffer, buffer.byteOffset + start + 2, 8);
    payloadBytes = view.getUint32(0) * 2 ** 32 + view.getUint32(4);
  }
  if (opcode >= 0x8) {
    if (opcode > OPCODE.pong) return violation(`unknown control opcode ${opcode}`);
    if (!isFinal || payloadBytes > MAX_CONTROL_PAYLOAD_BYTES) {
      return violation("control frame is fragmented or too long");
    }
  } else if (opcode > OPCODE.binary) return violation(`unknown opcode ${opcode}`);
  if (payloadBytes > MAX_FRAME_BYTES) {
    return violation(`frame of ${payloadBytes} bytes exceeds the limit of ${MAX_FRAME_BYTES}`);
  }

  const payloadStart = start + header + 4;
  const frameEnd = payloadStart + payloadBytes;
  if (end < frameEnd) return { type: "incomplete", totalBytes: frameEnd - start };
  unmask(buffer, payloadStart, frameEnd);
  return { type: "frame", isFinal, opcode, payloadStart, end: frameEnd };
}

/** XORs the payload with the four mask bytes before it, a word at a time once aligned. */
function unmask(buffer: Uint8Array<ArrayBuffer>, payloadStart: number, end: number): void {
  const key = payloadStart - 4;
  // The byte for the next position is always the lowest.
  let mask = buffer[key]! | (buffer[key + 1]! << 8) | (buffer[key + 2]! << 16) | (buffer[key + 3]! << 24);
  let at = payloadStart;
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

/** A final frame with this payload. */
export function encodeFrame(opcode: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = headerBytes(payload.length);
  const frame = new Uint8Array(header + payload.length);
  writeHeader(frame, 0, opcode, payload.length);
  frame.set(payload, header);
  return frame;
}

const encoder = new TextEncoder();

/**
 * Writes text frames one behind the other into `target` and returns how many messages and bytes went in. A message
 * that does not fit, or that is streamed, ends the run; the caller comes back with the rest and, for a single long one, a
 * larger target.
 */
export function encodeTextFrames(
  messages: readonly OutboundMessage[],
  from: number,
  target: Uint8Array<ArrayBuffer>,
): { messages: number; bytes: number } {
  let at = 0;
  let index = from;
  for (; index < messages.length; index++) {
    const message = messages[index]!;
    if (message instanceof StreamedMessage) break;
    const length = textLength(message);
    // Nearly all messages are ASCII, where characters and bytes are the same number and the header's size is known.
    const header = headerBytes(length);
    if (at + header + length > target.length) break;
    const written = encodeMessage(message, target, at + header);
    if (written === null) break;
    if (headerBytes(written) !== header) {
      const payloadAt = at + headerBytes(written);
      if (payloadAt + written > target.length) break;
      target.copyWithin(payloadAt, at + header, at + header + written);
    }
    writeHeader(target, at, OPCODE.text, written);
    at += headerBytes(written) + written;
  }
  return { messages: index - from, bytes: at };
}

/** Writes the header of a text frame whose payload will follow it; its length. */
export function writeTextFrameHeader(target: Uint8Array<ArrayBuffer>, payloadBytes: number): number {
  writeHeader(target, 0, OPCODE.text, payloadBytes);
  return headerBytes(payloadBytes);
}

/** Bytes that surely hold the frame of this message, whatever its characters. */
export function maxTextFrameBytes(message: string | AsciiParts): number {
  return MAX_HEADER_BYTES + textLength(message) * 3;
}

/** The UTF-8 of a message from `start` on; its number of bytes, or null when they do not fit. */
function encodeMessage(
  message: string | AsciiParts,
  target: Uint8Array<ArrayBuffer>,
  start: number,
): number | null {
  let at = start;
  for (const text of typeof message === "string" ? [message] : message) {
    const { read, written } = encoder.encodeInto(text, target.subarray(at));
    if (read < text.length) return null;
    at += written;
  }
  return at - start;
}

function headerBytes(payloadBytes: number): number {
  return payloadBytes < 126 ? 2 : payloadBytes < 65536 ? 4 : 10;
}

function writeHeader(target: Uint8Array<ArrayBuffer>, at: number, opcode: number, payloadBytes: number): void {
  target[at] = 0x80 | opcode;
  if (payloadBytes < 126) target[at + 1] = payloadBytes;
  else if (payloadBytes < 65536) {
    target[at + 1] = 126;
    target[at + 2] = payloadBytes >> 8;
    target[at + 3] = payloadBytes & 0xff;
  } else {
    target[at + 1] = 127;
    const view = new DataView(target.buffer, target.byteOffset + at + 2, 8);
    view.setUint32(0, Math.floor(payloadBytes / 2 ** 32));
    view.setUint32(4, payloadBytes >>> 0);
  }
}

function violation(reason: string): FrameRead {
  return { type: "violation", reason };
}
