/**
 * One websocket over a byte stream, in either role: what is common to links (`websocket_link.ts`, texts for the RPC
 * layer) and to sockets of raw messages (`message_socket.ts`, for callers that pass them on or have a framing of their
 * own).
 *
 * Promises: messages arrive whole and in order; nothing is read while the receiver is busy; one frame and one message
 * never exceed their limits in memory; a peer that stays silent is dropped; when we end the connection, a close frame
 * says why; `receive` resolves exactly once, after which the stream is closed.
 *
 * More than 300 lines: one state machine of RFC 6455.
 */

import { GatheredBytes } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/limits.ts";
import type { Farewell, LinkEnd } from "../../rpc/link.ts";
import type { ByteStream } from "../byte_stream.ts";
import { FrameWriter } from "./frame_writer.ts";
import {
  CLOSE_CODE,
  closeViolation,
  CODE_OF_CAUSE,
  encodeCloseFrame,
  encodeFrame,
  type FrameRules,
  OPCODE,
  readFrame,
  type Role,
} from "./websocket_frames.ts";

export type { ByteStream };

export interface WebSocketOptions {
  clock: Clock;
  /** How often an empty ping goes out. */
  pingIntervalMs: number;
  /** After this many pings without a single byte from the peer it counts as dead. */
  maxSilentPings?: number;
  /** Our role. */
  role?: Role;
  maxFrameBytes?: number;
  maxMessageBytes?: number;
  /** Bytes that came behind the handshake in the same packet. */
  initialBytes?: Uint8Array;
  /**
   * How much the stream delivers at most, if it reads that much whether or not there is room. A busy connection makes
   * that room before each read, because otherwise the stream has to keep a copy of the rest.
   */
  streamReadBytes?: number;
  /** Resolves when other work has had a turn. Between two turns messages are delivered for a few milliseconds. */
  turn?: () => Promise<void>;
}

/**
 * First read buffer of a connection. An idle connection takes no more than this. It has room for the handshake of any
 * client.
 */
const MIN_READ_BYTES = 1024;
/** The next size: a connection with a longer message, or several at once, is in use. */
const USED_READ_BYTES = 8 * 1024;
/** Read buffer of a busy connection. Larger ones live only as long as the frame that needs them. */
const BUSY_READ_BYTES = 256 * 1024;
/** How long messages that have arrived are delivered before other work gets a turn. */
const DELIVERY_MS = 2;
/** The clock is read once for this many frames, so the usual few cost nothing. */
const FRAMES_PER_LOOK = 8;
/**
 * Three minutes at the default interval, so that a suspended client on a sleeping laptop has a chance and a vanished one
 * does not stay for ever.
 */
const DEFAULT_MAX_SILENT_PINGS = 6;
/** How long an ended connection may take to deliver what was already sent, so that a last error reaches the peer. */
const LINGER_MS = 1000;
/**
 * A peer that is still sending gets that time this often. Many peers read only after they have sent everything. A
 * connection that is closed with unread bytes is reset, and the peer may lose what it has not read yet.
 */
const MAX_LINGERS = 10;
/** How much is read from such a peer and dropped: four of the largest messages. */
const MAX_DISCARDED_BYTES = 4 * MAX_MESSAGE_BYTES;

/**
 * For messages from this length on, other work gets a turn before decoding and before delivery: each takes a tenth of a
 * second for 60 MiB.
 */
const LONG_MESSAGE_BYTES = 4 * 1024 * 1024;

const EMPTY = new Uint8Array(0);

/** How many bytes a message has. */
interface WholeMessage {
  readonly opcode: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

export abstract class WebSocketEndpoint<Message> {
  readonly #stream: ByteStream;
  protected readonly writer: FrameWriter;
  readonly #options: WebSocketOptions;
  readonly #rules: FrameRules;
  readonly #maxMessageBytes: number;
  readonly #busyReadBytes: number;
  readonly #maxSilentPings: number;

  #buffer: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  /** The fragments so far of a message. */
  readonly #fragments = new GatheredBytes();
  #fragmentOpcode: number | null = null;

  #ended: LinkEnd | null = null;
  /** The peer broke the rules. Earlier requests are answered, then the connection ends. */
  #violating: Promise<void> | null = null;
  #onEnd: () => void = () => {};
  #onPeerClosing: () => void | Promise<void> = () => {};
  #onSign: () => void = () => {};
  #isStreamClosed = false;
  #isReceiverBusy = false;
  #interrupt: () => void = () => {};
  #silentPings = 0;
  /** Pings in a row that have not reached the peer's machine until the next one. */
  #stuckPings = 0;
  #lookAtPing: () => string = () => "unknown";
  #receivedBytes = 0;
  #receivedAtMs: number;
  #isProbing = false;
  #cancelPing: () => void = () => {};
  #cancelProbe: () => void = () => {};
  #cancelLinger: () => void = () => {};

  constructor(stream: ByteStream, options: WebSocketOptions) {
    this.#stream = stream;
    const { role = "server", maxFrameBytes = MAX_FRAME_BYTES, maxMessageBytes = MAX_MESSAGE_BYTES } = options;
    this.#rules = { role, maxFrameBytes };
    this.#maxMessageBytes = maxMessageBytes;
    this.#busyReadBytes = Math.max(BUSY_READ_BYTES, 2 * (options.streamReadBytes ?? 0));
    this.#maxSilentPings = options.maxSilentPings ?? DEFAULT_MAX_SILENT_PINGS;
    this.writer = new FrameWriter(stream, role, (error) => this.#abort({ type: "failed", reason: String(error) }));
    this.#options = options;
    const initial = options.initialBytes ?? EMPTY;
    this.#buffer = new Uint8Array(Math.max(MIN_READ_BYTES, initial.length));
    this.#buffer.set(initial);
    this.#end = initial.length;
    this.#receivedAtMs = options.clock.now();
    this.#schedulePing();
  }

  /** For how long nothing has come from the peer. */
  get silentMs(): number {
    return this.#options.clock.now() - this.#receivedAtMs;
  }

  /** How many bytes the kernel has accepted for the peer: shows whether the peer still reads. */
  get writtenBytes(): number {
    return this.writer.writtenBytes;
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  async receive(
    receiver: (message: Message) => void | Promise<void>,
    onEnd: () => void = () => {},
    onPeerClosing: () => void | Promise<void> = () => {},
  ): Promise<LinkEnd> {
    this.#onEnd = onEnd;
    this.#onPeerClosing = onPeerClosing;
    try {
      while (this.#ended === null) {
        const busy = this.#deliverBuffered(receiver);
        if (busy !== undefined) {
          await this.#waitFor(busy);
        } else if (!await this.#fill()) this.#endWith({ type: "peerClosed" });
      }
      await this.#discardUntilClosed();
    } catch (error) {
      this.#endWith({ type: "failed", reason: messageOf(error) });
    } finally {
      this.#closeStream();
    }
    return this.#ended!;
  }

  /** The message in the receiver's form; undefined if it breaks the rules. The payload is lent. */
  protected abstract decode(opcode: number, payload: Uint8Array<ArrayBuffer>): Message | undefined;

  /**
   * The peer has to show that it is there: something comes from it, also if it comes to lie behind what nobody reads while
   * the receiver is busy, or it takes more of a message that waited for it. That its machine takes pings is not enough: it
   * does so for a client that hangs, and so does a proxy for one that is gone. So of a peer that waits behind its own
   * requests, and has no room left for a pong, nothing can be known; whoever asks is believed.
   */
  probe(withinMs: number): void {
    if (this.#ended !== null || this.#isProbing) return;
    this.#isProbing = true;
    const { clock } = this.#options;
    const arrivedBefore = this.#arrivedBytes;
    this.writer.ping();
    this.#cancelProbe = clock.setTimer(withinMs / 2, () => {
      // A ping waits behind a long message. If the peer is gone, nothing of that message has left since.
      const look = this.#pingAndLook();
      this.#cancelProbe = clock.setTimer(withinMs / 2, () => {
        this.#isProbing = false;
        if (look() === "takesMore" || this.#arrivedBytes > arrivedBefore) return;
        this.#abort({ type: "silent", silentMs: withinMs });
      });
    });
  }

  /**
   * Sends a ping. The returned function says later whether it has arrived, for times when the receiver is busy and
   * nothing is read. Then only unacknowledged bytes show that the peer is gone. Bytes arrive in order, so while all
   * bytes that were sent since are missing, the ping is missing, too.
   */
  #pingAndLook(): () => "stuck" | "takesMore" | "unknown" {
    const isSending = this.writer.isWriting;
    const writtenBefore = this.writer.writtenBytes;
    const sentBefore = this.#sentBytes;
    this.writer.ping();
    return () => {
      if (isSending) return this.writer.writtenBytes > writtenBefore ? "takesMore" : "stuck";
      const missing = this.#stream.unacknowledgedBytes?.() ?? 0;
      return missing > 0 && missing >= this.#sentBytes - sentBefore ? "stuck" : "unknown";
    };
  }

  /** Where the stream cannot tell what has come, what was read has. */
  get #arrivedBytes(): number {
    return this.#stream.arrivedBytes?.() ?? this.#receivedBytes;
  }

  get #sentBytes(): number {
    return this.#stream.sentBytes?.() ?? this.writer.writtenBytes;
  }

  /** Anything that comes is a sign of life. A ping cannot overtake a long message. Then the next regular ping asks. */
  askForSign(onSign: () => void): void {
    if (this.#ended !== null) return;
    this.#onSign = onSign;
    this.writer.ping();
  }

  confirmArrival(): void {
    if (this.#ended === null) this.#stream.confirmArrival?.();
  }

  close(farewell?: Farewell): void {
    const frame = farewell === undefined
      ? null
      : encodeCloseFrame(CODE_OF_CAUSE[farewell.cause], farewell.reason, this.#rules.role);
    this.#endWith({ type: "closedByUs" }, frame);
  }

  // ------------------------------------------------------------ reading

  /** Waits for the receiver or the end of the connection. Nothing is read meanwhile. */
  async #waitFor(busy: Promise<void>): Promise<void> {
    this.#isReceiverBusy = true;
    await new Promise<void>((resolve, reject) => {
      this.#interrupt = resolve;
      busy.then(resolve, reject);
    });
    this.#isReceiverBusy = false;
  }

  /**
   * Delivers the complete messages in the buffer. Stops when the receiver is busy, or when other work should get a
   * turn.
   */
  #deliverBuffered(receiver: (message: Message) => void | Promise<void>): Promise<void> | undefined {
    const { turn } = this.#options;
    let begunAtMs = 0;
    for (let frames = 1; this.#ended === null; frames++) {
      if (turn !== undefined && frames % FRAMES_PER_LOOK === 0) {
        const nowMs = performance.now();
        if (begunAtMs === 0) begunAtMs = nowMs;
        else if (nowMs - begunAtMs >= DELIVERY_MS) return turn();
      }
      const frame = readFrame(this.#buffer, this.#start, this.#end, this.#rules);
      if (frame.type === "violation") {
        this.violate(frame.reason, frame.closeCode);
        return this.#violating ?? undefined;
      }
      if (frame.type === "incomplete") {
        this.#makeRoom(frame.totalBytes);
        return undefined;
      }
      this.#start = frame.end;
      const payload = this.#buffer.subarray(frame.payloadStart, frame.end);
      if (frame.opcode >= OPCODE.close) {
        const busy = this.#control(frame.opcode, payload);
        if (busy !== undefined) return busy;
      } else {
        const whole = this.#join(frame.opcode, payload, frame.isFinal);
        if (whole !== undefined && turn !== undefined && whole.payload.length >= LONG_MESSAGE_BYTES) {
          return this.#deliverLong(whole, receiver, turn);
        }
        const message = whole && this.decode(whole.opcode, whole.payload);
        if (this.#violating !== null) return this.#violating;
        if (message === undefined) continue;
        const busy = receiver(message);
        if (busy !== undefined) return busy;
      }
    }
    return undefined;
  }

  /**
   * Resolves when the next message may be delivered. Nothing is read before that, so the payload stays in the buffer.
   */
  async #deliverLong(
    { opcode, payload }: WholeMessage,
    receiver: (message: Message) => void | Promise<void>,
    turn: () => Promise<void>,
  ): Promise<void> {
    await turn();
    if (this.#ended !== null) return;
    const message = this.decode(opcode, payload);
    if (message === undefined) return await (this.#violating ?? undefined);
    await turn();
    if (this.#ended === null) await receiver(message);
  }

  /** The message that this frame completes, or undefined. */
  #join(opcode: number, payload: Uint8Array<ArrayBuffer>, isFinal: boolean): WholeMessage | undefined {
    if (opcode !== OPCODE.continuation) {
      if (this.#fragmentOpcode !== null) return this.violate("new message inside a fragmented one");
      if (isFinal) return { opcode, payload };
      this.#fragmentOpcode = opcode;
    } else if (this.#fragmentOpcode === null) return this.violate("continuation without a message");

    if (this.#fragments.length + payload.length > this.#maxMessageBytes) {
      return this.violate(`message exceeds the limit of ${this.#maxMessageBytes} bytes`, CLOSE_CODE.tooLarge);
    }
    this.#fragments.add(payload);
    if (!isFinal) return undefined;

    const messageOpcode = this.#fragmentOpcode!;
    this.#fragmentOpcode = null;
    return { opcode: messageOpcode, payload: this.#fragments.take() };
  }

  /** A promise: nothing more is to be read before it resolves. */
  #control(opcode: number, payload: Uint8Array<ArrayBuffer>): Promise<void> | undefined {
    if (opcode === OPCODE.ping) this.writer.pong(payload);
    else if (opcode === OPCODE.close) return this.#peerCloses(payload);
    return undefined;
  }

  /**
   * Earlier requests are answered. Then the frame is echoed, so that a client that follows the RFC sees a clean end.
   */
  #peerCloses(payload: Uint8Array<ArrayBuffer>): Promise<void> | undefined {
    const violation = closeViolation(payload);
    if (violation !== null) {
      this.violate(violation.reason, violation.closeCode);
      return this.#violating ?? undefined;
    }
    const echo = encodeFrame(OPCODE.close, payload.subarray(0, 2), this.#rules.role);
    const answering = this.#onPeerClosing();
    if (answering !== undefined) return answering.then(() => this.#endWith({ type: "peerClosed" }, echo));
    this.#endWith({ type: "peerClosed" }, echo);
    return undefined;
  }

  async #fill(): Promise<boolean> {
    const read = await this.#stream.read(this.#buffer.subarray(this.#end));
    if (read === null) return false;
    this.#end += read;
    this.#receivedBytes += read;
    this.#receivedAtMs = this.#options.clock.now();
    this.#silentPings = 0;
    const onSign = this.#onSign;
    this.#onSign = () => {};
    onSign();
    return true;
  }

  /** Makes room for a frame of this many bytes in all. Moves what has arrived to the front of the buffer. */
  #makeRoom(frameBytes: number): void {
    const pending = this.#end - this.#start;
    const wasFull = this.#end === this.#buffer.length;
    const busyBytes = this.#busyReadBytes;
    let capacity = this.#buffer.length;
    if (frameBytes > capacity) capacity = Math.max(frameBytes, USED_READ_BYTES);
    else if (wasFull && capacity < USED_READ_BYTES) capacity = USED_READ_BYTES;
    else if (wasFull && capacity < busyBytes) capacity = Math.min(capacity * 4, busyBytes);
    else if (capacity > busyBytes && frameBytes <= busyBytes) capacity = busyBytes;

    if (capacity !== this.#buffer.length) {
      const grown = new Uint8Array(capacity);
      grown.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = grown;
    } else if (pending === 0 || this.#buffer.length - this.#start < frameBytes || this.#isShortOfRoom()) {
      if (this.#start > 0) this.#buffer.copyWithin(0, this.#start, this.#end);
    } else return;
    this.#start = 0;
    this.#end = pending;
  }

  /** Whether it is full, or has no room for what the stream may deliver. */
  #isShortOfRoom(): boolean {
    return this.#buffer.length - this.#end < (this.#options.streamReadBytes ?? 1);
  }

  /**
   * Keeps reading an ended connection until the peer has closed too, so that closing does not discard our last words.
   * `#linger` bounds how long that may take; this method bounds how much is read.
   */
  async #discardUntilClosed(): Promise<void> {
    const limit = this.#receivedBytes + MAX_DISCARDED_BYTES;
    // A message that was being received is dropped.
    let scratch = this.#buffer = new Uint8Array(MIN_READ_BYTES);
    while (!this.#isStreamClosed && this.#receivedBytes < limit) {
      const read = await this.#stream.read(scratch);
      if (read === null) return;
      this.#receivedBytes += read;
      if (read === scratch.length && read < BUSY_READ_BYTES) scratch = new Uint8Array(BUSY_READ_BYTES);
    }
  }

  // ------------------------------------------------------------ ending

  #schedulePing(): void {
    this.#cancelPing = this.#options.clock.setTimer(this.#options.pingIntervalMs, () => {
      this.#stuckPings = this.#lookAtPing() === "stuck" ? this.#stuckPings + 1 : 0;
      const lostPings = this.#isReceiverBusy ? this.#stuckPings : this.#silentPings;
      if (lostPings >= this.#maxSilentPings) {
        this.#abort({ type: "silent", silentMs: lostPings * this.#options.pingIntervalMs });
        return;
      }
      this.#silentPings++;
      this.#lookAtPing = this.#pingAndLook();
      this.#schedulePing();
    });
  }

  /**
   * Ends the connection because the peer broke the rules. Earlier requests are answered first, as before the peer's own
   * close.
   */
  protected violate(reason: string, closeCode: number = CLOSE_CODE.protocolError): undefined {
    const end = () =>
      this.#endWith({ type: "violation", reason, closeCode }, encodeCloseFrame(closeCode, reason, this.#rules.role));
    this.#fragments.clear();
    const answering = this.#onPeerClosing();
    if (answering === undefined) end();
    else this.#violating = answering.then(end);
    return undefined;
  }

  /**
   * Ends the connection politely: what is being sent may finish, a close frame follows, then our side of the stream
   * closes.
   */
  #endWith(end: LinkEnd, closeFrame: Uint8Array<ArrayBuffer> | null = null): void {
    if (this.#ended !== null) return;
    this.#ended = end;
    this.#cancelPing();
    this.#cancelProbe();
    this.#fragments.clear();
    if (this.#isStreamClosed) return;
    this.#linger(MAX_LINGERS);
    this.writer.finish(closeFrame).catch(() => {
      // The peer has closed already.
    });
    this.#onEnd();
  }

  /** Gives the peer some time to close. A peer that still sends, or must still send, gets that time a few times. */
  #linger(timesLeft: number): void {
    const receivedBefore = this.#receivedBytes;
    this.#cancelLinger = this.#options.clock.setTimer(LINGER_MS, () => {
      const isSending = this.#receivedBytes > receivedBefore || this.#isMessageTooLarge;
      if (timesLeft > 1 && isSending) this.#linger(timesLeft - 1);
      else this.#closeStream();
    });
  }

  /** The peer has still to send most of it. */
  get #isMessageTooLarge(): boolean {
    return this.#ended?.type === "violation" && this.#ended.closeCode === CLOSE_CODE.tooLarge;
  }

  /** Ends the connection at once: the peer is gone and will not read the rest. */
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
    this.writer.close();
    this.#interrupt();
    try {
      this.#stream.close();
    } catch {
      // The failure has closed it already.
    }
  }
}
