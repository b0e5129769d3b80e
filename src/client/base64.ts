/**
 * Base64 in every runtime: the engine's own functions if it has them, else Node's `Buffer`, and a table for browsers
 * that have neither.
 */

import { ProtocolError } from "./errors.ts";

interface NativeEncoder {
  toBase64?(): string;
}
interface NativeDecoder {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}
/** The part of `Buffer` that is used. */
export interface NodeBuffer {
  allocUnsafeSlow(size: number): Uint8Array<ArrayBuffer> & { write(text: string, encoding: "base64"): number };
  from(buffer: ArrayBufferLike, offset: number, length: number): { toString(encoding: "base64"): string };
}

const native = Uint8Array as unknown as NativeDecoder;
const nodeBuffer = (globalThis as { Buffer?: NodeBuffer }).Buffer;

/** Standard, padded base64 of these bytes. */
export function encodeBase64(bytes: Uint8Array): string {
  const own = (bytes as NativeEncoder).toBase64;
  if (own !== undefined) return own.call(bytes);
  if (nodeBuffer !== undefined) {
    return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  return encodePortably(bytes);
}

/**
 * The bytes of standard base64, as a server sends them.
 *
 * @throws {ProtocolError} when they are something else
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    if (native.fromBase64 !== undefined) return native.fromBase64(text);
    if (nodeBuffer !== undefined) return decodeWithBuffer(text, nodeBuffer);
    return decodePortably(text);
  } catch (error) {
    throw new ProtocolError("cannot read what the server sent: not base64", { cause: error });
  }
}

/**
 * With Node's `Buffer`, into memory of its own: `Buffer.from` takes short ones out of a pool that others share. The result
 * is a plain array, because a `Buffer` has another `slice` and another `toString`.
 */
export function decodeWithBuffer(text: string, buffers: NodeBuffer): Uint8Array<ArrayBuffer> {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const length = (text.length / 4) * 3 - padding;
  if (!Number.isInteger(length)) throw new SyntaxError("not base64");
  const buffer = buffers.allocUnsafeSlow(length);
  // Node skips characters that are not base64, and then writes fewer bytes.
  if (buffer.write(text, "base64") !== length) throw new SyntaxError("not base64");
  return new Uint8Array(buffer.buffer);
}

/** Arguments of one call of `String.fromCharCode`: far below the shortest stack of any engine. */
const PIECE_BYTES = 8192;

/** Without help of the engine or of Node: for browsers. */
export function encodePortably(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES));
  }
  return btoa(binary);
}

/** Without help of the engine or of Node: for browsers. */
export function decodePortably(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
