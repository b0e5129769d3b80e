/**
 * Frames between the server and a confined file helper: a small JSON head and raw bytes, with both lengths in front.
 *
 * Both sides check a length before they allocate for it. Anything that breaks the format ends the connection, because
 * nothing after it could be told from garbage. What heads mean is in `helper_protocol.ts`.
 */

import type { Bytes } from "../../bytes.ts";
import { messageOf } from "../../errors.ts";
import { byteStringOf } from "../../os/files/byte_string.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export interface FrameLimits {
  readonly maxHeadBytes: number;
  readonly maxBodyBytes: number;
}

/** Heads hold a few paths of up to 4 KiB each. Bodies hold what one message of a client can carry. */
export const REQUEST_LIMITS: FrameLimits = { maxHeadBytes: 256 * KIB, maxBodyBytes: 64 * MIB };

/**
 * Heads hold a listing of up to 50,000 names of up to 255 bytes, at six characters per byte if they must be escaped.
 * Bodies hold one piece or one block.
 */
export const REPLY_LIMITS: FrameLimits = { maxHeadBytes: 96 * MIB, maxBodyBytes: 1 * MIB };

/** Head length and body length, little-endian. */
const PREFIX_BYTES = 8;

const EMPTY: Bytes = new Uint8Array();
const encoder = new TextEncoder();

export interface Frame {
  readonly head: unknown;
  readonly body: Bytes;
}

/** The peer does not speak this protocol. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** A frame as arrays to be written one after the other. The body is not copied. */
export function encodeHelperFrame(head: object, body: Bytes = EMPTY): Bytes[] {
  const text = encoder.encode(JSON.stringify(head, packBytes));
  const start = new Uint8Array(PREFIX_BYTES + text.length);
  const view = new DataView(start.buffer);
  view.setUint32(0, text.length, true);
  view.setUint32(4, body.length, true);
  start.set(text, PREFIX_BYTES);
  return body.length === 0 ? [start] : [start, body];
}

/** Assembles frames from pieces of any size. */
export class FrameReader {
  readonly #limits: FrameLimits;
  readonly #placeFor: (head: unknown, bytes: number) => Bytes;
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  #part: "prefix" | "head" | "body" = "prefix";
  #target: Bytes = this.#prefix;
  #filled = 0;
  #bodyBytes = 0;
  #head: unknown = null;

  /** `placeFor` says where a body of this many bytes goes; by default into an array of its own. */
  constructor(
    limits: FrameLimits,
    placeFor: (head: unknown, bytes: number) => Bytes = (_head, bytes) => new Uint8Array(bytes),
  ) {
    this.#limits = limits;
    this.#placeFor = placeFor;
  }

  /** Takes the next bytes and passes on every frame they complete. */
  push(bytes: Bytes, onFrame: (frame: Frame) => void): void {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(bytes.length - at, this.#target.length - this.#filled);
      this.#target.set(bytes.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      while (this.#filled === this.#target.length) {
        const frame = this.#completePart();
        if (frame === null) continue;
        onFrame(frame);
        break;
      }
    }
  }

  #completePart(): Frame | null {
    switch (this.#part) {
      case "prefix": {
        const view = new DataView(this.#prefix.buffer);
        const headBytes = view.getUint32(0, true);
        this.#bodyBytes = view.getUint32(4, true);
        const { maxHeadBytes, maxBodyBytes } = this.#limits;
        if (headBytes === 0 || headBytes > maxHeadBytes || this.#bodyBytes > maxBodyBytes) {
          throw new FrameError(`a frame claims ${headBytes} and ${this.#bodyBytes} bytes`);
        }
        this.#expect("head", new Uint8Array(headBytes));
        return null;
      }
      case "head":
        this.#head = parseHead(this.#target);
        this.#expect("body", this.#bodyBytes === 0 ? EMPTY : this.#placeFor(this.#head, this.#bodyBytes));
        return null;
      case "body": {
        const frame = { head: this.#head, body: this.#target };
        this.#expect("prefix", this.#prefix);
        return frame;
      }
    }
  }

  #expect(part: "prefix" | "head" | "body", target: Bytes): void {
    this.#part = part;
    this.#target = target;
    this.#filled = 0;
  }
}

function parseHead(bytes: Bytes): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes), unpackBytes);
  } catch (error) {
    throw new FrameError(`a frame's head is not JSON: ${messageOf(error)}`);
  }
}

/** Names that are not UTF-8 are bytes. In JSON they are a text with one character per byte. */
const BYTES_MEMBER = "bytes:";

function packBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { [BYTES_MEMBER]: byteStringOf(value) } : value;
}

function unpackBytes(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, BYTES_MEMBER)) return value;
  const text = (value as { [BYTES_MEMBER]: unknown })[BYTES_MEMBER];
  return typeof text === "string" ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : value;
}
