/**
 * One frame of the relay as bytes: protobuf `RelayMessageFrame`, one per binary websocket message. Pure.
 *
 * Read strictly: what is malformed or beyond a limit throws. What is well-formed and unknown (a later version's fields) is
 * passed over. Payloads are lent: they lie in the message that was read. The owner of the stream decides what a frame
 * means.
 */

import { MAX_RELAY_MESSAGE_BYTES, MAX_RESET_REASON_BYTES, MAX_STREAM_ID_BYTES } from "./limits.ts";
import { FieldReader, FieldWriter, MalformedMessage, varintBytes, WIRE_TYPE } from "./protobuf.ts";

export const RELAY_VERSION = 1;

export interface RelayFrame {
  readonly version: number;
  readonly streamId: string;
  /** Null: no known body. */
  readonly body: RelayBody | null;
}

export type RelayBody =
  | RelayData
  /** Everything up to this record was passed on. */
  | { readonly type: "ack"; readonly seq: number }
  | { readonly type: "resume"; readonly nextSeq: number }
  | { readonly type: "reset"; readonly reason: string }
  | { readonly type: "heartbeat" }
  | { readonly type: "handshake"; readonly payload: Uint8Array<ArrayBuffer> };

export interface RelayData {
  readonly type: "data";
  readonly seq: number;
  readonly segmentIndex: number;
  readonly segmentCount: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

const FRAME = {
  version: 1,
  streamId: 2,
  ack: 3,
  ackBits: 4,
  data: 5,
  ackFrame: 6,
  resume: 7,
  reset: 8,
  heartbeat: 9,
  handshake: 10,
} as const;

const DATA = { seq: 1, segmentIndex: 2, segmentCount: 3, payload: 4 } as const;

const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads one websocket message. @throws {MalformedMessage} */
export function decodeRelayFrame(message: Uint8Array<ArrayBuffer>): RelayFrame {
  if (message.length > MAX_RELAY_MESSAGE_BYTES) {
    throw new MalformedMessage(`message of ${message.length} bytes exceeds the limit of ${MAX_RELAY_MESSAGE_BYTES}`);
  }
  const reader = new FieldReader(message);
  let version = 0;
  let streamId = "";
  let ack = 0;
  let body: RelayBody | null = null;
  for (let tag = reader.next(); tag !== null; tag = reader.next()) {
    const { field, wireType } = tag;
    switch (field) {
      case FRAME.version:
        version = uint32(reader, wireType);
        break;
      case FRAME.streamId:
        streamId = text(reader, wireType, { what: "stream id", maxBytes: MAX_STREAM_ID_BYTES });
        break;
      case FRAME.ack:
        ack = uint32(reader, wireType);
        break;
      case FRAME.data:
        body = decodeData(bytes(reader, wireType));
        break;
      case FRAME.ackFrame:
        bytes(reader, wireType);
        body = { type: "ack", seq: 0 };
        break;
      case FRAME.resume:
        body = { type: "resume", nextSeq: onlyNumber(bytes(reader, wireType)) };
        break;
      case FRAME.reset:
        body = { type: "reset", reason: onlyText(bytes(reader, wireType)) };
        break;
      case FRAME.heartbeat:
        bytes(reader, wireType);
        body = { type: "heartbeat" };
        break;
      case FRAME.handshake:
        body = { type: "handshake", payload: onlyBytes(bytes(reader, wireType)) };
        break;
      default:
        reader.skip(wireType);
    }
  }
  // The number stands beside the body, in any order.
  return { version, streamId, body: body?.type === "ack" ? { type: "ack", seq: ack } : body };
}

function decodeData(message: Uint8Array<ArrayBuffer>): RelayData {
  const reader = new FieldReader(message);
  let seq = 0;
  let segmentIndex = 0;
  let segmentCount = 0;
  let payload: Uint8Array<ArrayBuffer> = EMPTY;
  for (let tag = reader.next(); tag !== null; tag = reader.next()) {
    const { field, wireType } = tag;
    if (field === DATA.seq) seq = uint32(reader, wireType);
    else if (field === DATA.segmentIndex) segmentIndex = uint32(reader, wireType);
    else if (field === DATA.segmentCount) segmentCount = uint32(reader, wireType);
    else if (field === DATA.payload) payload = bytes(reader, wireType);
    else reader.skip(wireType);
  }
  return { type: "data", seq, segmentIndex, segmentCount, payload };
}

/** Messages whose one field has number 1. */
function only<Value>(
  message: Uint8Array<ArrayBuffer>,
  absent: Value,
  read: (reader: FieldReader, wireType: number) => Value,
): Value {
  const reader = new FieldReader(message);
  let value = absent;
  for (let tag = reader.next(); tag !== null; tag = reader.next()) {
    if (tag.field === 1) value = read(reader, tag.wireType);
    else reader.skip(tag.wireType);
  }
  return value;
}

function onlyNumber(message: Uint8Array<ArrayBuffer>): number {
  return only(message, 0, uint32);
}

function onlyBytes(message: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return only<Uint8Array<ArrayBuffer>>(message, EMPTY, bytes);
}

function onlyText(message: Uint8Array<ArrayBuffer>): string {
  const limit = { what: "reset reason", maxBytes: MAX_RESET_REASON_BYTES };
  return only(message, "", (reader, wireType) => text(reader, wireType, limit));
}

function uint32(reader: FieldReader, wireType: number): number {
  if (wireType !== WIRE_TYPE.varint) throw new MalformedMessage("field is not a number");
  return reader.uint32();
}

function bytes(reader: FieldReader, wireType: number): Uint8Array<ArrayBuffer> {
  if (wireType !== WIRE_TYPE.length) throw new MalformedMessage("field has no length");
  return reader.bytes();
}

function text(reader: FieldReader, wireType: number, limit: { what: string; maxBytes: number }): string {
  const value = bytes(reader, wireType);
  if (value.length > limit.maxBytes) {
    throw new MalformedMessage(`${limit.what} of ${value.length} bytes exceeds the limit of ${limit.maxBytes}`);
  }
  try {
    return strictDecoder.decode(value);
  } catch {
    // The decoder says no more than that.
    throw new MalformedMessage(`${limit.what} is not valid UTF-8`);
  }
}

/** Writes the frames of one stream. */
export class RelayFrameEncoder {
  /** Version and stream id, which begin every frame. */
  readonly #head: Uint8Array<ArrayBuffer>;

  constructor(streamId: string) {
    const id = encoder.encode(streamId);
    if (id.length > MAX_STREAM_ID_BYTES) throw new RangeError(`stream id is longer than ${MAX_STREAM_ID_BYTES} bytes`);
    this.#head = new Uint8Array(2 + (id.length === 0 ? 0 : 1 + varintBytes(id.length) + id.length));
    const writer = new FieldWriter(this.#head);
    writer.uint32(FRAME.version, RELAY_VERSION);
    if (id.length > 0) writer.bytes(FRAME.streamId, id);
  }

  resume(nextSeq = 0): Uint8Array<ArrayBuffer> {
    const inner = new Uint8Array(nextSeq === 0 ? 0 : 1 + varintBytes(nextSeq));
    new FieldWriter(inner).uint32(1, nextSeq);
    return this.#wrap(FRAME.resume, inner);
  }

  /** Everything up to this record was passed on. */
  ack(seq: number): Uint8Array<ArrayBuffer> {
    const seqBytes = seq === 0 ? 0 : 1 + varintBytes(seq);
    const frame = new Uint8Array(this.#head.length + seqBytes + 2);
    frame.set(this.#head);
    const writer = new FieldWriter(frame, this.#head.length);
    writer.uint32(FRAME.ack, seq);
    writer.bytes(FRAME.ackFrame, EMPTY);
    return frame;
  }

  reset(reason: string): Uint8Array<ArrayBuffer> {
    const words = new Uint8Array(MAX_RESET_REASON_BYTES);
    // Writes whole characters only.
    const { written } = encoder.encodeInto(reason, words);
    return this.#wrapBytes(FRAME.reset, words.subarray(0, written));
  }

  handshake(payload: Uint8Array): Uint8Array<ArrayBuffer> {
    return this.#wrapBytes(FRAME.handshake, payload);
  }

  /** One whole segment. */
  data(seq: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
    const seqBytes = seq === 0 ? 0 : 1 + varintBytes(seq);
    const inner = seqBytes + 2 + 1 + varintBytes(payload.length) + payload.length;
    const frame = new Uint8Array(this.#head.length + 1 + varintBytes(inner) + inner);
    frame.set(this.#head);
    const writer = new FieldWriter(frame, this.#head.length);
    writer.tag(FRAME.data, WIRE_TYPE.length);
    writer.varint(inner);
    writer.uint32(DATA.seq, seq);
    writer.uint32(DATA.segmentCount, 1);
    writer.bytes(DATA.payload, payload);
    return frame;
  }

  /** A body whose one field, number 1, holds these bytes. */
  #wrapBytes(field: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
    const inner = new Uint8Array(1 + varintBytes(payload.length) + payload.length);
    new FieldWriter(inner).bytes(1, payload);
    return this.#wrap(field, inner);
  }

  #wrap(field: number, inner: Uint8Array): Uint8Array<ArrayBuffer> {
    const frame = new Uint8Array(this.#head.length + 1 + varintBytes(inner.length) + inner.length);
    frame.set(this.#head);
    new FieldWriter(frame, this.#head.length).bytes(field, inner);
    return frame;
  }
}
