/**
 * RFC 6455 frames as bytes: reading one in place, and writing one, without sockets or state. For both roles: clients
 * mask what they send, servers do not.
 *
 * Why not Deno's own websocket: the protocol limits single frames, whole messages and what piles up behind a slow
 * handler. Deno's websocket cannot limit any of these. It joins fragments until the process runs out of memory, and
 * goes on reading while the handler is busy.
 */

import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { type AsciiParts, type Farewell, type OutboundMessage, textLength } from "../../rpc/link.ts";
import { StreamedMessage } from "../../rpc/streamed_message.ts";
import { applyMask, MASK_BYTES, newMask, readMask, writeMask } from "./websocket_mask.ts";

export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** Why a connection ends, in a close frame: RFC 6455, section 7.4.1. */
export const CLOSE_CODE = {
  normal: 1000,
  protocolError: 1002,
  invalidText: 1007,
  policyViolation: 1008,
  tooLarge: 1009,
  internalError: 1011,
} as const;

export const CODE_OF_CAUSE: Readonly<Record<Farewell["cause"], number>> = {
  done: CLOSE_CODE.normal,
  violation: CLOSE_CODE.policyViolation,
  fault: CLOSE_CODE.internalError,
};

/** Our role in the websocket. */
export type Role = "server" | "client";

/** Requirements for the other end's frames. */
export interface FrameRules {
  /** Ours. */
  readonly role: Role;
  readonly maxFrameBytes: number;
}

const SERVER_RULES: FrameRules = { role: "server", maxFrameBytes: MAX_FRAME_BYTES };

/** The header of a frame with the longest length and a mask. */
export const MAX_HEADER_BYTES = 10 + MASK_BYTES;

/** Longest payload of a control frame, by the RFC. */
export const MAX_CONTROL_PAYLOAD_BYTES = 125;

export type FrameRead =
  /** More bytes are needed: at least `totalBytes` counted from `start`. */
  | { readonly type: "incomplete"; readonly totalBytes: number }
  | { readonly type: "violation"; readonly reason: string; readonly closeCode: number }
  /** The payload has been unmasked in place and lies between `payloadStart` and `end`. */
  | {
    readonly type: "frame";
    readonly isFinal: boolean;
    readonly opcode: number;
    readonly payloadStart: number;
    readonly end: number;
  };

/** Reads the frame that begins at `start`. Bytes up to `end` have arrived. */
export function readFrame(
  buffer: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
  { role, maxFrameBytes }: FrameRules = SERVER_RULES,
): FrameRead {
  const available = end - start;
  if (available < 2) return { type: "incomplete", totalBytes: 2 };
  const first = buffer[start]!;
  const second = buffer[start + 1]!;
  const opcode = first & 0x0f;
  const isFinal = (first & 0x80) !== 0;
  if ((first & 0x70) !== 0) return violation("reserved bits are set and no extension was negotiated");
  const isMasked = (second & 0x80) !== 0;
  if (isMasked !== (role === "server")) {
    return violation(isMasked ? "server frame is masked" : "client frame is not masked");
  }

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
  if (payloadBytes > maxFrameBytes) {
    return violation(`frame of ${payloadBytes} bytes exceeds the limit of ${maxFrameBytes}`, CLOSE_CODE.tooLarge);
  }

  const payloadStart = start + header + (isMasked ? MASK_BYTES : 0);
  const frameEnd = payloadStart + payloadBytes;
  if (end < frameEnd) return { type: "incomplete", totalBytes: frameEnd - start };
  if (isMasked) applyMask(buffer, payloadStart, frameEnd, readMask(buffer, payloadStart - MASK_BYTES));
  return { type: "frame", isFinal, opcode, payloadStart, end: frameEnd };
}

/** A final frame with this payload. */
export function encodeFrame(opcode: number, payload: Uint8Array, role: Role = "server"): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(frameBytes(payload.length, role));
  writeFrame(frame, 0, opcode, payload, role);
  return frame;
}

/** Bytes of a frame with a payload of this length. */
export function frameBytes(payloadBytes: number, role: Role): number {
  return headerBytes(payloadBytes, role) + payloadBytes;
}

/** Writes a final frame at `at`, where there must be room for it. Returns its end. */
export function writeFrame(
  target: Uint8Array<ArrayBuffer>,
  at: number,
  opcode: number,
  payload: Uint8Array,
  role: Role,
): number {
  const mask = writeHeader(target, at, opcode, payload.length, role);
  const payloadAt = at + headerBytes(payload.length, role);
  const end = payloadAt + payload.length;
  target.set(payload, payloadAt);
  if (mask !== 0) applyMask(target, payloadAt, end, mask);
  return end;
}

const encoder = new TextEncoder();

/** A close frame with its reason, which is cut if it is too long. */
export function encodeCloseFrame(code: number, reason: string, role: Role = "server"): Uint8Array<ArrayBuffer> {
  const payload = new Uint8Array(MAX_CONTROL_PAYLOAD_BYTES);
  new DataView(payload.buffer).setUint16(0, code);
  // Writes whole characters only.
  const { written } = encoder.encodeInto(reason, payload.subarray(2));
  return encodeFrame(OPCODE.close, payload.subarray(0, 2 + written), role);
}

/** What is wrong with the payload of a peer's close frame, or null: it may be empty, or a code with or without a reason. */
export function closeViolation(payload: Uint8Array): { reason: string; closeCode: number } | null {
  if (payload.length === 0) return null;
  const code = payload.length === 1 ? 0 : (payload[0]! << 8) | payload[1]!;
  if (!isCloseCode(code)) {
    return { reason: "close frame has no code that may be sent", closeCode: CLOSE_CODE.protocolError };
  }
  try {
    strictDecoder.decode(payload.subarray(2));
    return null;
  } catch {
    // The decoder says no more than that.
    return { reason: "reason of a close frame is not valid UTF-8", closeCode: CLOSE_CODE.invalidText };
  }
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Codes of the RFC and its registry, without those that no frame may carry, and the codes for libraries and programs.
 */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

/**
 * Writes text frames one after the other into `target`. Returns how many messages and bytes it wrote. It stops at a
 * message that does not fit or that is streamed. The caller calls again with the rest, and for a single long message
 * with a larger target.
 */
export function encodeTextFrames(
  messages: readonly OutboundMessage[],
  from: number,
  target: Uint8Array<ArrayBuffer>,
  role: Role = "server",
): { messages: number; bytes: number } {
  let at = 0;
  let index = from;
  for (; index < messages.length; index++) {
    const message = messages[index]!;
    if (message instanceof StreamedMessage) break;
    const length = textLength(message);
    // Nearly all messages are ASCII: they have as many bytes as characters, so the size of the header is known.
    const header = headerBytes(length, role);
    if (at + header + length > target.length) break;
    const written = encodeMessage(message, target, at + header);
    if (written === null) break;
    const payloadAt = at + headerBytes(written, role);
    if (payloadAt !== at + header) {
      if (payloadAt + written > target.length) break;
      target.copyWithin(payloadAt, at + header, at + header + written);
    }
    const mask = writeHeader(target, at, OPCODE.text, written, role);
    at = payloadAt + written;
    if (mask !== 0) applyMask(target, payloadAt, at, mask);
  }
  return { messages: index - from, bytes: at };
}

/**
 * Writes the header of a text frame whose payload follows. Returns the header's length and the mask for the payload.
 */
export function writeTextFrameHeader(
  target: Uint8Array<ArrayBuffer>,
  payloadBytes: number,
  role: Role = "server",
): { readonly bytes: number; readonly mask: number } {
  const mask = writeHeader(target, 0, OPCODE.text, payloadBytes, role);
  return { bytes: headerBytes(payloadBytes, role), mask };
}

/** An upper bound for the bytes of this message's frame. */
export function maxTextFrameBytes(message: string | AsciiParts): number {
  return MAX_HEADER_BYTES + textLength(message) * 3;
}

/** Writes a message as UTF-8 from `start` on. Returns its number of bytes, or null if they do not fit. */
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

function headerBytes(payloadBytes: number, role: Role): number {
  return (payloadBytes < 126 ? 2 : payloadBytes < 65536 ? 4 : 10) + (role === "client" ? MASK_BYTES : 0);
}

/** The mask for the payload. On the server's side 0, which changes nothing. */
function writeHeader(
  target: Uint8Array<ArrayBuffer>,
  at: number,
  opcode: number,
  payloadBytes: number,
  role: Role,
): number {
  const maskBit = role === "client" ? 0x80 : 0;
  target[at] = 0x80 | opcode;
  if (payloadBytes < 126) target[at + 1] = maskBit | payloadBytes;
  else if (payloadBytes < 65536) {
    target[at + 1] = maskBit | 126;
    target[at + 2] = payloadBytes >> 8;
    target[at + 3] = payloadBytes & 0xff;
  } else {
    target[at + 1] = maskBit | 127;
    const view = new DataView(target.buffer, target.byteOffset + at + 2, 8);
    view.setUint32(0, Math.floor(payloadBytes / 2 ** 32));
    view.setUint32(4, payloadBytes >>> 0);
  }
  if (role === "server") return 0;
  const mask = newMask();
  writeMask(target, at + headerBytes(payloadBytes, role) - MASK_BYTES, mask);
  return mask;
}

function violation(reason: string, closeCode: number = CLOSE_CODE.protocolError): FrameRead {
  return { type: "violation", reason, closeCode };
}
