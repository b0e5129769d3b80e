/**
 * How the server and a confined file helper talk: frames of a small JSON head and raw bytes, each with its length first.
 *
 * The server asks, the helper answers; every request has a number, and answers come in any order. A watch is a request
 * that is answered when it ends, and until then tells events. Content travels as the bytes it is. Both sides bound what they take before they make room for it: whatever breaks the format ends the
 * connection, because nothing that follows could be told from garbage.
 */

import { DomainError, type ErrorKind } from "../errors.ts";
import { byteStringOf } from "../os/byte_string.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsChange, FsChangeKind } from "../protocol/fs.ts";
import { OsError } from "./map_error.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const KIB = 1024;
const MIB = 1024 * KIB;

export interface FrameLimits {
  readonly maxHeadBytes: number;
  readonly maxBodyBytes: number;
}

/** Heads hold a few paths, which the kernel takes up to 4 KiB long; bodies hold what one message of a client can carry. */
export const REQUEST_LIMITS: FrameLimits = { maxHeadBytes: 256 * KIB, maxBodyBytes: 64 * MIB };

/**
 * Heads hold a listing of up to 50,000 names of up to 255 bytes, six characters each if they must be escaped; bodies hold
 * one piece or one block.
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

/** A frame in the arrays to be written one after the other. The body is not copied. */
export function encodeFrame(head: object, body: Bytes = EMPTY): Bytes[] {
  const text = encoder.encode(JSON.stringify(head, packBytes));
  const start = new Uint8Array(PREFIX_BYTES + text.length);
  const view = new DataView(start.buffer);
  view.setUint32(0, text.length, true);
  view.setUint32(4, body.length, true);
  start.set(text, PREFIX_BYTES);
  return body.length === 0 ? [start] : [start, body];
}

/** Puts frames together from whatever pieces they arrive in. */
export class FrameReader {
  readonly #limits: FrameLimits;
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  #part: "prefix" | "head" | "body" = "prefix";
  #target: Bytes = this.#prefix;
  #filled = 0;
  #bodyBytes = 0;
  #head: unknown = null;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Whether a frame has begun and not ended. */
  get isInsideFrame(): boolean {
    return this.#part !== "prefix" || this.#filled > 0;
  }

  /** Takes the next bytes and hands on every frame they complete. */
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
        this.#expect("body", this.#bodyBytes === 0 ? EMPTY : new Uint8Array(this.#bodyBytes));
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
    throw new FrameError(`a frame's head is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** Names that are not UTF-8 are bytes; in JSON they are a text of one character per byte. */
const BYTES_MEMBER = "bytes:";

function packBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { [BYTES_MEMBER]: byteStringOf(value) } : value;
}

function unpackBytes(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, BYTES_MEMBER)) return value;
  const text = (value as { [BYTES_MEMBER]: unknown })[BYTES_MEMBER];
  return typeof text === "string" ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : value;
}

// ---------------------------------------------------------------- messages

/** The operations, by the names of the interface they are asked through. */
export const OPERATIONS = [
  "readFile",
  "writeFile",
  "getMetadata",
  "canonicalize",
  "createDirectory",
  "readDirectory",
  "walk",
  "remove",
  "copy",
  "rename",
  "chmod",
  "symlink",
  "open",
  "readBlock",
  "writeBlock",
  "close",
  "watch",
] as const;
export type Operation = typeof OPERATIONS[number];

export type RequestHead =
  /** `params` are the interface's own; content of writes is the frame's body. */
  | { readonly id: number; readonly operation: Operation; readonly params: unknown }
  /** Nobody waits for this request any more. It is still answered. */
  | { readonly cancel: number };

/** Answered by the helper, unasked, when it takes requests. */
export const READY_ID = 0;

export type ReplyHead =
  /** Content, more of which may follow. */
  | { readonly id: number; readonly type: "piece" }
  /** Something happened; more may. */
  | { readonly id: number; readonly type: "event"; readonly event: WatchEvent }
  | { readonly id: number; readonly type: "done"; readonly result: unknown }
  | { readonly id: number; readonly type: "failed"; readonly failure: Failure };

/** What a watch tells, over and over. */
export type WatchEvent =
  /** First of all: from now on everything is told. `root` is what was asked for, without any link. */
  | { readonly type: "watching"; readonly root: string }
  | { readonly type: "changed"; readonly changes: readonly FsChange[] };

/** What is asked of a watch. */
export interface WatchParams {
  readonly path: NativePath;
  readonly recursive: boolean;
}

/** A domain error on its way. */
export interface Failure {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly errno?: number;
}

export function parseRequest(head: unknown): RequestHead {
  const { id, operation, params, cancel } = asRecord(head);
  if (isId(cancel)) return { cancel };
  if (!isId(id) || !OPERATIONS.some((known) => known === operation)) throw new FrameError("a request has no meaning");
  return { id, operation: operation as Operation, params };
}

const KINDS: readonly ErrorKind[] = ["invalidRequest", "invalidParams", "internal", "notFound"];

export function parseReply(head: unknown): ReplyHead {
  const { id, type, result, failure, event } = asRecord(head);
  if (isId(id)) {
    if (type === "piece") return { id, type };
    if (type === "event") return { id, type, event: parseEvent(event) };
    if (type === "done") return { id, type, result };
    if (type === "failed") {
      const { kind, message, errno } = asRecord(failure);
      const known = KINDS.find((known) => known === kind);
      if (known !== undefined && typeof message === "string") {
        return {
          id,
          type,
          failure: { kind: known, message, ...(typeof errno === "number" ? { errno } : {}) },
        };
      }
    }
  }
  throw new FrameError("a reply has no meaning");
}

const CHANGE_KINDS: readonly FsChangeKind[] = ["created", "modified", "removed", "overflow", "unwatched"];

function parseEvent(value: unknown): WatchEvent {
  const { type, root, changes } = asRecord(value);
  if (type === "watching" && typeof root === "string") return { type, root };
  if (type === "changed" && Array.isArray(changes)) return { type, changes: changes.map(parseChange) };
  throw new FrameError("an event has no meaning");
}

function parseChange(value: unknown): FsChange {
  const { path, kind } = asRecord(value);
  const known = CHANGE_KINDS.find((known) => known === kind);
  if (known === undefined || typeof path !== "string") throw new FrameError("a change has no meaning");
  return { path, kind: known };
}

export function failureOf(error: unknown): Failure | null {
  if (!(error instanceof DomainError)) return null;
  const { kind, message } = error;
  return { kind, message, ...(error instanceof OsError ? { errno: error.errno } : {}) };
}

export function errorOf({ kind, message, errno }: Failure): DomainError {
  return errno === undefined ? new DomainError(kind, message) : new OsError(errno);
}

function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw new FrameError("a frame's head is no object");
  return value as Readonly<Record<string, unknown>>;
}
