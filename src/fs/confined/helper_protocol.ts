/**
 * What the server and a confined file helper say to each other, in the heads of frames (`helper_frames.ts`).
 *
 * The server asks and the helper answers. Every request has a number, and answers come in any order. A watch is a
 * request that is answered when it ends; until then it sends events. Content travels as raw bytes in the body.
 */

import { DomainError, type ErrorKind } from "../../errors.ts";
import type { NativePath } from "../../path_uri.ts";
import type { FsChange, FsChangeKind } from "../../protocol/fs.ts";
import { OsError } from "../map_error.ts";
import { FrameError } from "./helper_frames.ts";

/** The operations, named as in the interface. */
const OPERATIONS = [
  "readFile",
  "writeFile",
  "getMetadata",
  "canonicalize",
  "createDirectory",
  "readDirectory",
  "list",
  "walk",
  "remove",
  "copy",
  "rename",
  "chmod",
  "setTimes",
  "symlink",
  "open",
  "readBlock",
  "writeBlock",
  "close",
  "readSource",
  "closeSource",
  "watch",
] as const;
export type Operation = typeof OPERATIONS[number];

export type HelperRequest =
  /** `params` are those of the interface; content to write is the frame's body. */
  | { readonly id: number; readonly operation: Operation; readonly params: unknown }
  /** Nobody waits for this request any more. It is still answered. */
  | { readonly cancel: number };

/** Sent by the helper, unasked, when it accepts requests. */
export const READY_ID = 0;

export type ReplyHead =
  /** Content; more may follow. */
  | { readonly id: number; readonly type: "piece" }
  /** An event; more may follow. */
  | { readonly id: number; readonly type: "event"; readonly event: WatchEvent }
  | { readonly id: number; readonly type: "done"; readonly result: unknown }
  | { readonly id: number; readonly type: "failed"; readonly failure: Failure };

/** What a watch sends, repeatedly. */
export type WatchEvent =
  /** Comes first: from now on everything is reported. `root` is the path that was asked for, without links. */
  | { readonly type: "watching"; readonly root: string }
  | { readonly type: "changed"; readonly changes: readonly FsChange[] };

/** What `readFile` also gets: how much room there is, in all and in memory at once. */
export interface ReadFileRoom {
  readonly roomBytes: number;
  readonly memoryBytes: number;
}

/** How `readFile` is answered if the content was not simply sent. */
export type ReadFileOutcome =
  /** Nothing was sent. It needs room for this many bytes. `inMemory`: all of them are in memory at once. */
  | { readonly needsRoom: number; readonly inMemory: boolean }
  /** Nothing was sent. The content is fetched with `readSource` and released with `closeSource`. */
  | { readonly source: number; readonly length: number };

/** Null for anything else. */
export function readFileOutcome(result: unknown): ReadFileOutcome | null {
  if (typeof result !== "object" || result === null) return null;
  const { needsRoom, inMemory, source, length } = result as Record<string, unknown>;
  if (isLength(needsRoom)) return { needsRoom, inMemory: inMemory === true };
  return isLength(source) && isLength(length) ? { source, length } : null;
}

function isLength(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** What is asked of a watch. */
export interface WatchParams {
  readonly path: NativePath;
  readonly recursive: boolean;
}

/** A domain error in transit. */
export interface Failure {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly errno?: number;
}

export function parseRequest(head: unknown): HelperRequest {
  const { id, operation, params, cancel } = asRecord(head);
  if (isId(cancel)) return { cancel };
  if (!isId(id) || !OPERATIONS.some((known) => known === operation)) throw new FrameError("a request is malformed");
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
  throw new FrameError("a reply is malformed");
}

const CHANGE_KINDS: readonly FsChangeKind[] = ["created", "modified", "removed", "overflow", "unwatched"];

function parseEvent(value: unknown): WatchEvent {
  const { type, root, changes } = asRecord(value);
  if (type === "watching" && typeof root === "string") return { type, root };
  if (type === "changed" && Array.isArray(changes)) return { type, changes: changes.map(parseChange) };
  throw new FrameError("an event is malformed");
}

function parseChange(value: unknown): FsChange {
  const { path, kind } = asRecord(value);
  const known = CHANGE_KINDS.find((known) => known === kind);
  if (known === undefined || typeof path !== "string") throw new FrameError("a change is malformed");
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
  if (typeof value !== "object" || value === null) throw new FrameError("a frame's head is not an object");
  return value as Readonly<Record<string, unknown>>;
}
