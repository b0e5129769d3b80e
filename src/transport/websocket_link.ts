/**
 * One websocket over a byte stream, as a `Link`.
 *
 * Promises: messages arrive whole and in order; nothing is read while the receiver is busy; one frame and one message
 * never exceed their limits in memory; a peer that stays silent is dropped; `receive` resolves exactly once, after
 * which the stream is closed.
 */

import { concatBytes } from "../bytes.ts";
import type { Clock } from "../clock.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/limits.ts";
import {
  type AsciiParts,
  type InboundMessage,
  type Link,
  type LinkEnd,
  type OutboundMessage,
  textLength,
} from "../rpc/link.ts";
import { StreamedMessage, writeStreamed } from "../rpc/streamed_message.ts";
import { giveBuffer, takeBuffer, takeStreamBuffer } from "./byte_pool.ts";
import {
  encodeFrame,
  encodeTextFrames,
  MAX_HEADER_BYTES,
  maxTextFrameBytes,
  OPCODE,
  readFrame,
  writeTextFrameHeader,
} from "./websocket_frames.ts";

/** What a socket must offer. `Deno.Conn` does. */
export interface ByteStream {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  /** Bytes taken without waiting, which may be none; of failures the next `write` tells. */
  writeNow?(bytes: Uint8Array): number;
  closeWrite(): Promise<void>;
  close(): void;
}

export interface WebSocketLinkOptions {
  clock: Clock;
  /** How often an empty ping goes out. */
  pingIntervalMs: number;
  /** Bytes that came behind the handshake in the same packet. */
  initialBytes?: Uint8Array;
}

/** First read buffer of a connection: an idle one costs no more than this. */
const MIN_READ_BYTES = 8 * 1024;
/** Read buffer of a busy connection. Larger ones live only as long as the frame that needs them. */
const BUSY_READ_BYTES = 256 * 1024;
/** Messages are encoded and sent together up to about this. */
const SEND_BYTES = 256 * 1024;
/** Batches below this are encoded into an array of their own, above it into a pooled buffer. */
const POOLED_SEND_BYTES = 16 * 1024;
/**
 * Pings in a row without a single byte from the peer after which it counts as dead: three minutes at the default
 * interval, so that a suspended client on a sleeping laptop has a chance and a vanished one does not stay for ever.
 */
const MAX_SILENT_PINGS = 6;
/** How long an ended connection may take to deliver what was already sent, so that a last error reaches the peer. */
const LINGER_MS = 1000;

const EMPTY = new Uint8Array(0);
const SENT = Promise.resolve();

/** Small messages are encoded here: what is sent at once needs no memory of its own. */
const sharedFrames = new Uint8Array(16 * 1024);

/** Writes this character for what is not UTF-8. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\u{FFFD}";
/** Throws for what is not UTF-8. Five times slower. */
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class WebSocketLink implements Link {
  readonly #stream: ByteStream;
  readonly #options: WebSocketLinkOptions;

  #buffer: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  /** Fragments of the message being joined. */
  #fragments: Uint8Array<ArrayBuffer>[] = [];
  #fragmentBytes = 0;
  #fragmentOpcode: number | null = null;

  #ended: LinkEnd | null = null;
  #onEnd: () => void = () => {};
  #isStreamClosed = false;
  #isReceiverBusy = false;
  #interrupt: () => void = () => {};
  #silentPings = 0;
  #receivedBytes = 0;
  #cancelPing: () => void = () => {};
  #cancelProbe: () => void = () => {};
  #cancelLinger: () => void = () => {};

  /** The write under way; the next one starts when it has settled. */
  #writing: Promise<void> | null = null;
  /** At most one pong waits: the RFC lets us answer only the latest ping, so a flood of pings queues nothing. */
  #pendingPong: Uint8Array<ArrayBuffer> | null = null;

  constructor(stream: ByteStream, options: WebSocketLinkOptions) {
    this.#stream = stream;
    this.#options = options;
    const initial = options.initialBytes ?? EMPTY;
    this.#buffer = new Uint8Array(Math.max(MIN_READ_BYTES, initial.length));
    this.#buffer.set(initial);
    this.#end = initial.length;
    this.#schedulePing();
  }

  async receive(
    receiver: (message: InboundMessage) => void | Promise<void>,
    onEnd: () => void = () => {},
  ): Promise<LinkEnd> {
    this.#onEnd = onEnd;
    try {
      while (this.#ended === null) {
        const busy = this.#deliverBuffered(receiver);
        if (busy !== undefined) {
          await this.#waitFor(busy);
        } else if (!await this.#fill()) this.#endWith({ type: "peerClosed" });
      }
      await this.#discardUntilClosed();
    } catch (error) {
      this.#endWith({ type: "failed", reason: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#closeStream();
    }
    return this.#ended!;
  }

  send(messages: readonly OutboundMessage[]): Promise<void> {
    return this.#sendNow(messages) ?? this.#sendInTurn(messages);
  }

  async #sendInTurn(messages: readonly OutboundMessage[]): Promise<void> {
    for (let sent = 0; sent < messages.length;) {
      const message = messages[sent]!;
      if (message instanceof StreamedMessage) {
        await this.#sendStreamed(message);
        sent++;
      } else sent += await this.#sendSome(messages, sent);
    }
  }

  probe(withinMs: number): void {
    if (this.#ended !== null) return;
    const { clock } = this.#options;
    const receivedBefore = this.#receivedBytes;
    this.#cancelProbe();
    this.#sendControl(OPCODE.ping, EMPTY);
    this.#cancelProbe = clock.setTimer(withinMs / 2, () => {
      // While the receiver is busy nothing is read, but a second write to a peer that has closed still fails.
      this.#sendControl(OPCODE.ping, EMPTY);
      this.#cancelProbe = clock.setTimer(withinMs / 2, () => {
        if (this.#receivedBytes === receivedBefore && !this.#isReceiverBusy) {
          this.#abort({ type: "silent", silentMs: withinMs });
        }
      });
    });
  }

  close(): void {
    this.#endWith({ type: "closedByUs" });
  }

  // ------------------------------------------------------------ reading

  /** Waits for the receiver, but not beyond the connection's end. Nothing is read meanwhile. */
  async #waitFor(busy: Promise<void>): Promise<void> {
    this.#isReceiverBusy = true;
    await new Promise<void>((resolve, reject) => {
      this.#interrupt = resolve;
      busy.then(resolve, reject);
    });
    this.#isReceiverBusy = false;
  }

  /** Hands on the complete messages that are buffered; stops at the first one the receiver is busy with. */
  #deliverBuffered(receiver: (message: InboundMessage) => void | Promise<void>): Promise<void> | undefined {
    while (this.#ended === null) {
      const frame = readFrame(this.#buffer, this.#start, this.#end);
      if (frame.type === "violation") {
        this.#endWith(frame);
        return undefined;
      }
      if (frame.type === "incomplete") {
        this.#makeRoom(frame.totalBytes);
        return undefined;
      }
      this.#start = frame.end;
      const payload = this.#buffer.subarray(frame.payloadStart, frame.end);
      if (frame.opcode >= OPCODE.close) this.#control(frame.opcode, payload);
      else {
        const message = this.#join(frame.opcode, payload, frame.isFinal);
        if (message === undefined) continue;
        const busy = receiver(message);
        if (busy !== undefined) return busy;
      }
    }
    return undefined;
  }

  /** The message this frame completes, or undefined. */
  #join(opcode: number, payload: Uint8Array<ArrayBuffer>, isFinal: boolean): InboundMessage | undefined {
    if (opcode !== OPCODE.continuation) {
      if (this.#fragmentOpcode !== null) return this.#violate("new message inside a fragmented one");
      if (isFinal) return this.#decode(opcode, payload);
      this.#fragmentOpcode = opcode;
    } else if (this.#fragmentOpcode === null) return this.#violate("continuation without a message");

    this.#fragmentBytes += payload.length;
    if (this.#fragmentBytes > MAX_MESSAGE_BYTES) {
      return this.#violate(`message exceeds the limit of ${MAX_MESSAGE_BYTES} bytes`);
    }
    this.#fragments.push(payload.slice());
    if (!isFinal) return undefined;

    const joined = concatBytes(this.#fragments);
    const messageOpcode = this.#fragmentOpcode!;
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#fragmentOpcode = null;
    return this.#decode(messageOpcode, joined);
  }

  #decode(opcode: number, payload: Uint8Array<ArrayBuffer>): InboundMessage | undefined {
    const text = decoder.decode(payload);
    if (!text.includes(REPLACEMENT)) return text;
    // The peer may have meant that character.
    try {
      return strictDecoder.decode(payload);
    } catch {
      // The decoder says no more than that. A text frame must be UTF-8; in a binary one it is only a parse error.
      return opcode === OPCODE.text ? this.#violate("text frame is not valid UTF-8") : null;
    }
  }

  #control(opcode: number, payload: Uint8Array<ArrayBuffer>): void {
    if (opcode === OPCODE.ping) this.#sendControl(OPCODE.pong, payload);
    else if (opcode === OPCODE.close) {
      // Echoed, so that a client closing by the book sees a clean end.
      this.#sendControl(OPCODE.close, payload.subarray(0, 2));
      this.#endWith({ type: "peerClosed" });
    }
  }

  async #fill(): Promise<boolean> {
    const read = await this.#stream.read(this.#buffer.subarray(this.#end));
    if (read === null) return false;
    this.#end += read;
    this.#receivedBytes += read;
    this.#silentPings = 0;
    return true;
  }

  /** Makes the buffer fit for a frame of this many bytes in all, moving what has arrived to its front. */
  #makeRoom(frameBytes: number): void {
    const pending = this.#end - this.#start;
    const wasFull = this.#end === this.#buffer.length;
    let capacity = this.#buffer.length;
    if (frameBytes > capacity) capacity = frameBytes;
    else if (wasFull && capacity < BUSY_READ_BYTES) capacity = Math.min(capacity * 4, BUSY_READ_BYTES);
    else if (capacity > BUSY_READ_BYTES && frameBytes <= BUSY_READ_BYTES) capacity = BUSY_READ_BYTES;

    if (capacity !== this.#buffer.length) {
      const grown = new Uint8Array(capacity);
      grown.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = grown;
    } else if (pending === 0 || this.#buffer.length - this.#start < frameBytes || wasFull) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
    } else return;
    this.#start = 0;
    this.#end = pending;
  }

  /** Keeps reading an ended connection until the peer has closed too, so that closing does not discard our last words. */
  async #discardUntilClosed(): Promise<void> {
    while (!this.#isStreamClosed) {
      if (await this.#stream.read(this.#buffer) === null) return;
    }
  }

  // ------------------------------------------------------------ writing

  /**
   * The usual case: a few small messages that the kernel takes at once, by way of an area that all connections share.
   * Null, and nothing was sent, in any other case.
   */
  #sendNow(messages: readonly OutboundMessage[]): Promise<void> | null {
    if (this.#writing !== null || this.#isStreamClosed || this.#stream.writeNow === undefined) return null;
    const { messages: count, bytes } = encodeTextFrames(messages, 0, sharedFrames);
    if (count < messages.length) return null;
    const taken = this.#stream.writeNow(sharedFrames.subarray(0, bytes));
    return taken === bytes ? SENT : this.#write(sharedFrames.slice(taken, bytes));
  }

  /** Sends as many messages from this one on as go into one buffer; their number. */
  async #sendSome(messages: readonly OutboundMessage[], from: number): Promise<number> {
    let expected = 0;
    for (let i = from; i < messages.length && expected < SEND_BYTES; i++) {
      const message = messages[i]!;
      if (message instanceof StreamedMessage) break;
      expected += textLength(message) + MAX_HEADER_BYTES;
    }
    let buffer = expected < POOLED_SEND_BYTES ? new Uint8Array(expected) : takeBuffer(expected);
    let encoded = encodeTextFrames(messages, from, buffer);
    if (encoded.messages === 0) {
      giveBuffer(buffer);
      const message = messages[from] as string | AsciiParts;
      buffer = new Uint8Array(maxTextFrameBytes(message));
      encoded = encodeTextFrames([message], 0, buffer);
    }
    await this.#write(buffer.subarray(0, encoded.bytes));
    giveBuffer(buffer);
    return encoded.messages;
  }

  /** Sends one frame piece by piece: a file of hundreds of megabytes passes through one buffer. */
  #sendStreamed(message: StreamedMessage): Promise<void> {
    return this.#exclusively(async () => {
      const buffer = takeStreamBuffer(message.length);
      const filled = writeTextFrameHeader(buffer, message.length);
      try {
        await writeStreamed(message, { buffer, filled, write: (piece) => this.#writeAll(piece) });
      } finally {
        giveBuffer(buffer);
      }
    });
  }

  #write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#exclusively(() => this.#writeAll(bytes));
  }

  /** Frames must not be mixed: one writer at a time, in the order of asking. */
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
    if (this.#isStreamClosed) throw new Error("connection is closed");
    let written = 0;
    while (written < bytes.length) {
      written += await this.#stream.write(written === 0 ? bytes : bytes.subarray(written));
    }
  }

  #sendControl(opcode: number, payload: Uint8Array<ArrayBuffer>): void {
    const frame = encodeFrame(opcode, payload);
    if (this.#writing !== null) {
      // A ping is dropped while data is under way (that data will show whether the peer lives); a pong waits.
      if (opcode === OPCODE.pong) this.#pendingPong = frame;
      return;
    }
    this.#write(frame).catch((error) => this.#abort({ type: "failed", reason: String(error) }));
  }

  #flushPong(): void {
    const pong = this.#pendingPong;
    this.#pendingPong = null;
    if (pong !== null && !this.#isStreamClosed) {
      this.#write(pong).catch((error) => this.#abort({ type: "failed", reason: String(error) }));
    }
  }

  // ------------------------------------------------------------ ending

  #schedulePing(): void {
    this.#cancelPing = this.#options.clock.setTimer(this.#options.pingIntervalMs, () => {
      if (!this.#isReceiverBusy && this.#silentPings >= MAX_SILENT_PINGS) {
        this.#abort({ type: "silent", silentMs: this.#silentPings * this.#options.pingIntervalMs });
        return;
      }
      this.#silentPings++;
      this.#sendControl(OPCODE.ping, EMPTY);
      this.#schedulePing();
    });
  }

  #violate(reason: string): undefined {
    this.#endWith({ type: "violation", reason });
    return undefined;
  }

  /** Ends the conversation: what is being written may finish, then our side of the stream closes. */
  #endWith(end: LinkEnd): void {
    if (this.#ended !== null) return;
    this.#ended = end;
    this.#cancelPing();
    this.#cancelProbe();
    this.#fragments = [];
    if (this.#isStreamClosed) return;
    this.#cancelLinger = this.#options.clock.setTimer(LINGER_MS, () => this.#closeStream());
    const shutDown = () => this.#isStreamClosed ? undefined : this.#stream.closeWrite();
    Promise.resolve(this.#writing).then(shutDown, shutDown).catch(() => {
      // Already closed by the peer: there is nobody left to tell.
    });
    this.#onEnd();
  }

  /** Ends the connection at once: the peer is not there to read what is left. */
  #abort(end: LinkEnd): void {
    if (this.#ended === null) this.#ended = end;
    this.#cancelPing();
    this.#cancelProbe();
    this.#closeStream();
  }

  #closeStream(): void {
    if (this.#isStreamClosed) return;
    this.#isStreamClosed = true;
    this.#cancelPing();
    this.#cancelProbe();
    this.#cancelLinger();
    this.#pendingPong = null;
    this.#interrupt();
    try {
      this.#stream.close();
    } catch {
      // Closed already by the failure that brought us here.
    }
  }
}
