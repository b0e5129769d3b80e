/**
 * The writing half of a websocket: messages become frames, which leave in order.
 *
 * Promises: one writer at a time, so frames are never mixed; pings and pongs do not pile up; what was given to `send`
 * leaves before the frame of `finish`, and nothing leaves after that. The owner closes the stream.
 *
 * More than 300 lines: one queue for messages, streams and control frames.
 */

import { type AsciiParts, type OutboundMessage, textLength } from "../../rpc/link.ts";
import { StreamedMessage, writeStreamed } from "../../rpc/streamed_message.ts";
import { giveBuffer, takeBuffer, takeStreamBuffer } from "./byte_pool.ts";
import type { ByteStream } from "../byte_stream.ts";
import {
  encodeFrame,
  encodeTextFrames,
  frameBytes,
  MAX_HEADER_BYTES,
  maxTextFrameBytes,
  OPCODE,
  type Role,
  writeFrame,
  writeTextFrameHeader,
} from "./websocket_frames.ts";
import { applyMask } from "./websocket_mask.ts";

/** One message as bytes, ready for the wire. */
export interface RawMessage {
  readonly isText: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Messages are encoded and sent together up to about this size. */
const SEND_BYTES = 256 * 1024;
/** Smaller batches are encoded into their own array, larger ones into a pooled buffer. */
const POOLED_SEND_BYTES = 16 * 1024;

const EMPTY = new Uint8Array(0);
const SENT = Promise.resolve();

/** Small messages are encoded here, so that those sent at once need no new memory. */
const sharedFrames = new Uint8Array(16 * 1024);

const encoder = new TextEncoder();

/**
 * How many bytes the text has in UTF-8. Encodes it and drops the result, which is faster than allocating an array as
 * long as the text.
 */
function encodedLength(text: string): number {
  let bytes = 0;
  for (let rest = text; rest.length > 0;) {
    const { read, written } = encoder.encodeInto(rest, sharedFrames);
    bytes += written;
    rest = rest.slice(read);
  }
  return bytes;
}

export class FrameWriter {
  readonly #stream: ByteStream;
  readonly #role: Role;
  readonly #onFailure: (error: unknown) => void;
  /** The write under way; the next one starts when it has settled. */
  #writing: Promise<void> | null = null;
  /** At most one pong waits: the RFC allows answering only the latest ping. So a flood of pings fills no queue. */
  #pendingPong: Uint8Array<ArrayBuffer> | null = null;
  /** Calls of `send` whose messages have not left completely. */
  #openSends = 0;
  #onSendsDone: () => void = () => {};
  /** A frame was begun and cannot be finished, so the peer would not understand anything after it. */
  #isFrameTorn = false;
  #isFinishing = false;
  #isClosed = false;
  #writtenBytes = 0;

  /** `onFailure` is called when a ping or pong could not be written. For messages `send` rejects. */
  constructor(stream: ByteStream, role: Role, onFailure: (error: unknown) => void) {
    this.#stream = stream;
    this.#role = role;
    this.#onFailure = onFailure;
  }

  get isWriting(): boolean {
    return this.#writing !== null;
  }

  /** How many bytes the kernel has accepted. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  send(messages: readonly OutboundMessage[]): Promise<void> {
    if (this.#isFinishing || this.#isClosed) return Promise.reject(new Error("connection is closed"));
    return this.#sendNow(messages) ?? this.#sendInTurn(messages);
  }

  /** The same, for messages that are already bytes. */
  sendRaw(messages: readonly RawMessage[]): Promise<void> {
    if (this.#isFinishing || this.#isClosed) return Promise.reject(new Error("connection is closed"));
    let total = 0;
    for (const { bytes } of messages) total += frameBytes(bytes.length, this.#role);
    return total <= sharedFrames.length && this.#writing === null
      ? this.#offer(this.#encodeRaw(messages, sharedFrames))
      : this.#sendRawInTurn(messages);
  }

  /** Not while data is under way: that data itself shows whether the peer is alive. */
  ping(): void {
    if (this.#writing === null) this.#control(encodeFrame(OPCODE.ping, EMPTY, this.#role));
  }

  pong(payload: Uint8Array<ArrayBuffer>): void {
    const frame = encodeFrame(OPCODE.pong, payload, this.#role);
    if (this.#writing === null) this.#control(frame);
    else this.#pendingPong = frame;
  }

  /** Accepts no more. Lets what was sent leave, then this frame, and ends our side of the stream. */
  async finish(lastFrame: Uint8Array<ArrayBuffer> | null): Promise<void> {
    this.#isFinishing = true;
    if (this.#openSends > 0) await new Promise<void>((resolve) => this.#onSendsDone = resolve);
    if (lastFrame !== null && !this.#isFrameTorn) await this.#write(lastFrame);
    else await this.#writing;
    if (!this.#isClosed) await this.#stream.closeWrite();
  }

  /** The stream is being closed: nothing more can leave. */
  close(): void {
    this.#isClosed = true;
    this.#pendingPong = null;
  }

  /**
   * The usual case: a few small messages that the kernel accepts at once, through a buffer that all connections share.
   * Null: it is another case, and nothing was sent.
   */
  #sendNow(messages: readonly OutboundMessage[]): Promise<void> | null {
    if (this.#writing !== null || this.#stream.writeNow === undefined) return null;
    const { messages: count, bytes } = encodeTextFrames(messages, 0, sharedFrames, this.#role);
    if (count < messages.length) return null;
    return this.#offer(bytes);
  }

  /** Offers the first bytes of the shared buffer to the kernel, and keeps those that it does not accept at once. */
  #offer(bytes: number): Promise<void> {
    const taken = this.#stream.writeNow?.(sharedFrames.subarray(0, bytes)) ?? 0;
    this.#writtenBytes += taken;
    return taken === bytes ? SENT : this.#write(sharedFrames.slice(taken, bytes));
  }

  /** Writes their frames one after the other; returns the number of bytes. */
  #encodeRaw(messages: readonly RawMessage[], target: Uint8Array<ArrayBuffer>): number {
    let at = 0;
    for (const { isText, bytes } of messages) {
      at = writeFrame(target, at, isText ? OPCODE.text : OPCODE.binary, bytes, this.#role);
    }
    return at;
  }

  async #sendRawInTurn(messages: readonly RawMessage[]): Promise<void> {
    this.#openSends++;
    try {
      for (let from = 0; from < messages.length;) {
        let to = from;
        let total = 0;
        do total += frameBytes(messages[to]!.bytes.length, this.#role); while (
          ++to < messages.length && total < SEND_BYTES
        );
        const buffer = takeBuffer(total);
        await this.#write(buffer.subarray(0, this.#encodeRaw(messages.slice(from, to), buffer)));
        giveBuffer(buffer);
        from = to;
      }
    } finally {
      if (--this.#openSends === 0) this.#onSendsDone();
    }
  }

  async #sendInTurn(messages: readonly OutboundMessage[]): Promise<void> {
    this.#openSends++;
    try {
      for (let sent = 0; sent < messages.length;) {
        const message = messages[sent]!;
        if (message instanceof StreamedMessage) {
          await this.#sendStreamed(message);
          sent++;
        } else if (textLength(message) > SEND_BYTES) {
          await this.#sendLong(message);
          sent++;
        } else sent += await this.#sendSome(messages, sent);
      }
    } finally {
      if (--this.#openSends === 0) this.#onSendsDone();
    }
  }

  /** Sends as many messages as fit into one buffer, beginning with this one; returns their number. */
  async #sendSome(messages: readonly OutboundMessage[], from: number): Promise<number> {
    let expected = 0;
    for (let i = from; i < messages.length && expected < SEND_BYTES; i++) {
      const message = messages[i]!;
      if (message instanceof StreamedMessage) break;
      expected += textLength(message) + MAX_HEADER_BYTES;
    }
    let buffer = expected < POOLED_SEND_BYTES ? new Uint8Array(expected) : takeBuffer(expected);
    let encoded = encodeTextFrames(messages, from, buffer, this.#role);
    if (encoded.messages === 0) {
      giveBuffer(buffer);
      const message = messages[from] as string | AsciiParts;
      buffer = new Uint8Array(maxTextFrameBytes(message));
      encoded = encodeTextFrames([message], 0, buffer, this.#role);
    }
    await this.#write(buffer.subarray(0, encoded.bytes));
    giveBuffer(buffer);
    return encoded.messages;
  }

  /** Sends one frame piece by piece: a file of hundreds of megabytes passes through one buffer. */
  #sendStreamed(message: StreamedMessage): Promise<void> {
    return this.#exclusively(async () => {
      const buffer = takeStreamBuffer(message.length);
      const header = writeTextFrameHeader(buffer, message.length, this.#role);
      const write = this.#pieceWriter(header);
      try {
        await writeStreamed(message, { buffer, filled: header.bytes, write });
      } catch (error) {
        this.#isFrameTorn = true;
        throw error;
      } finally {
        giveBuffer(buffer);
      }
    });
  }

  /** Sends one long text piece by piece, through a pooled buffer instead of one as long as the text. */
  #sendLong(message: string | AsciiParts): Promise<void> {
    return this.#exclusively(async () => {
      const bytes = typeof message === "string" ? encodedLength(message) : textLength(message);
      const buffer = takeStreamBuffer(bytes);
      const header = writeTextFrameHeader(buffer, bytes, this.#role);
      const write = this.#pieceWriter(header);
      let filled = header.bytes;
      try {
        for (const part of typeof message === "string" ? [message] : message) {
          for (let rest = part; rest.length > 0;) {
            const { read, written } = encoder.encodeInto(rest, buffer.subarray(filled));
            filled += written;
            rest = read === rest.length ? "" : rest.slice(read);
            if (rest.length === 0) break;
            await write(buffer.subarray(0, filled));
            filled = 0;
          }
        }
        if (filled > 0) await write(buffer.subarray(0, filled));
      } catch (error) {
        this.#isFrameTorn = true;
        throw error;
      } finally {
        giveBuffer(buffer);
      }
    });
  }

  /** Writes the pieces of one frame. The first begins with the header. Everything after the header is masked. */
  #pieceWriter(header: { bytes: number; mask: number }): (piece: Uint8Array<ArrayBuffer>) => Promise<void> {
    let { mask, bytes: unmasked } = header;
    return (piece) => {
      if (mask !== 0) mask = applyMask(piece, unmasked, piece.length, mask);
      unmasked = 0;
      return this.#writeAll(piece);
    };
  }

  #write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#exclusively(() => this.#writeAll(bytes));
  }

  /** Frames must not be mixed: one writer at a time, in the order of the calls. */
  #exclusively(write: () => Promise<void>): Promise<void> {
    const previous = this.#writing;
    const writing = (previous === null ? write() : previous.then(write)).finally(() => {
      if (this.#writing !== writing) return;
      this.#writing = null;
      this.#flushPong();
    });
    this.#writing = writing;
    return writing;
  }

  async #writeAll(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#isClosed) throw new Error("connection is closed");
    let written = 0;
    while (written < bytes.length) {
      const taken = await this.#stream.write(written === 0 ? bytes : bytes.subarray(written));
      written += taken;
      this.#writtenBytes += taken;
    }
  }

  #control(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#isFinishing || this.#isClosed) return;
    this.#write(frame).catch(this.#onFailure);
  }

  #flushPong(): void {
    const pong = this.#pendingPong;
    this.#pendingPong = null;
    if (pong !== null) this.#control(pong);
  }
}
