/**
 * One stream of the noise relay as a `Link`: messages in records, records in data frames. Both roles use it.
 *
 * The relay has no flow control, and one websocket carries all streams, so reading must not wait for a busy receiver.
 * What has arrived is kept here up to a bound. Beyond that the stream is reset; its session can be resumed. Sending
 * waits for the websocket after each batch of records, so that streams take turns. If the rendezvous says what it has
 * passed on, sending also waits for that, so that a client that does not read delays only its own stream.
 */

import type { Bytes } from "../../bytes.ts";
import type { Farewell, InboundMessage, Link, LinkEnd, OutboundMessage } from "../../rpc/link.ts";
import type { RelayData, RelayFrameEncoder } from "../relay/relay_frame.ts";
import type { SendWindow } from "../relay/send_window.ts";
import type { ChannelKeys } from "./handshake.ts";
import { NoiseError } from "./noise_error.ts";
import { RecordReader } from "./record_reader.ts";
import { RecordWriter, type SealedRecord } from "./record_writer.ts";

/** The websocket that carries the stream. */
export interface FrameCarrier {
  /** Resolves when the frames have left. */
  send(frames: readonly Bytes[]): Promise<void>;
  /** Sends this frame soon. Does not report when. */
  sendSoon(frame: Bytes): void;
  /** Checks whether the peer is alive, and ends the websocket if not. */
  probe(withinMs: number): void;
}

export interface NoiseLinkOptions {
  readonly keys: ChannelKeys;
  readonly frames: RelayFrameEncoder;
  readonly carrier: FrameCarrier;
  /** Called once, when the stream has ended. */
  readonly onEnd: () => void;
  readonly maxQueuedBytes?: number;
  readonly maxMessageBytes?: number;
  /** How much may be under way. Without it only the websocket bounds that. */
  readonly window?: SendWindow | undefined;
  /** Resolves when other work has had a turn. Between two turns messages are delivered for a few milliseconds. */
  readonly turn?: () => Promise<void>;
}

/** The reference's reason for a stream whose peer broke a rule. */
export const PROTOCOL_ERROR_REASON = "noise_relay_protocol_error";

/** Our own reason for resetting a stream whose receiver is too slow. */
const QUEUE_FULL_REASON = "stream_queue_full";

/**
 * How many bytes of messages may wait for the receiver. A single message may be longer, because otherwise it could
 * never arrive. It is bounded by the longest message.
 */
const DEFAULT_MAX_QUEUED_BYTES = 16 * 1024 * 1024;

/**
 * How many records are opened at once: enough to keep the ciphers busy. If frames come faster, reading waits. That
 * takes only milliseconds, because it does not depend on the receiver.
 */
const MAX_OPENING_BYTES = 1024 * 1024;

/** How long messages are delivered before other work gets a turn. */
const DELIVERY_MS = 2;
/** The clock is read once for this many messages. */
const MESSAGES_PER_LOOK = 8;

/** This decoder writes this character for bytes that are not UTF-8. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\u{FFFD}";
/** Throws if bytes are not UTF-8. Eight times slower. */
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

interface Queued {
  readonly message: InboundMessage;
  readonly bytes: number;
}

export class NoiseLink implements Link {
  readonly #options: NoiseLinkOptions;
  readonly #maxQueuedBytes: number;
  readonly #reader: RecordReader;
  readonly #writer: RecordWriter;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #wake: () => void = () => {};
  #sending: Promise<void> = Promise.resolve();
  #ended: LinkEnd | null = null;
  #isReceiverBusy = false;
  #interrupt: () => void = () => {};

  constructor(options: NoiseLinkOptions) {
    this.#options = options;
    this.#maxQueuedBytes = options.maxQueuedBytes ?? DEFAULT_MAX_QUEUED_BYTES;
    const { keys, maxMessageBytes } = options;
    this.#reader = new RecordReader({
      key: keys.receive,
      onMessage: (bytes) => this.#enqueue(bytes),
      ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    });
    this.#writer = new RecordWriter(keys.send, (records) => this.#sendRecords(records));
  }

  /** How many bytes are kept for the receiver and for incomplete messages. */
  get heldBytes(): number {
    return this.#queuedBytes + this.#reader.heldBytes;
  }

  /** Resolves when everything that was sent has left, or never will. */
  get flushed(): Promise<void> {
    return this.#sending;
  }

  // ------------------------------------------------------------ for the owner of the websocket

  /**
   * A data frame of this stream has come. Its payload is lent. If this returns a promise, do not read more before it
   * resolves.
   */
  take({ seq, segmentIndex, segmentCount, payload }: RelayData): void | Promise<void> {
    // No known program sends segments. The reference ignores them, too.
    if (this.#ended !== null || segmentIndex !== 0 || segmentCount !== 1) return;
    try {
      const opening = this.#reader.take(seq, payload)?.catch((error) => this.#break(error));
      if (this.#reader.openingBytes > MAX_OPENING_BYTES) return opening;
    } catch (error) {
      this.#break(error);
    }
  }

  /** The rendezvous has passed on everything up to this record. */
  acknowledge(seq: number): void {
    this.#options.window?.acknowledge(seq);
  }

  /**
   * The peer has ended the stream, or the websocket is gone. What came before is still delivered if that is possible at
   * once.
   */
  end(end: LinkEnd): void {
    const { opening } = this.#reader;
    if (opening !== null) {
      // This message came before the end.
      opening.catch(() => {}).then(() => this.end(end));
      return;
    }
    if (this.#ended !== null) return;
    this.#ended = end;
    if (this.#isReceiverBusy) this.#dropQueue();
    this.#options.window?.end();
    this.#finish();
  }

  // ------------------------------------------------------------ for the owner of the link

  async receive(
    receiver: (message: InboundMessage) => void | Promise<void>,
    onEnd: () => void = () => {},
  ): Promise<LinkEnd> {
    let begunAtMs = 0;
    for (let count = 1;; count++) {
      const next = this.#queue.shift();
      if (next === undefined) {
        if (this.#ended !== null) break;
        await new Promise<void>((resolve) => this.#wake = resolve);
        begunAtMs = 0;
        continue;
      }
      this.#queuedBytes -= next.bytes;
      const busy = receiver(next.message);
      if (busy !== undefined) await this.#untilEnd(busy);
      if (count % MESSAGES_PER_LOOK !== 0 || this.#options.turn === undefined) continue;
      const nowMs = performance.now();
      if (begunAtMs === 0) begunAtMs = nowMs;
      else if (nowMs - begunAtMs >= DELIVERY_MS) {
        await this.#options.turn();
        begunAtMs = 0;
      }
    }
    onEnd();
    return this.#ended;
  }

  send(messages: readonly OutboundMessage[]): Promise<void> {
    const sending = this.#sending.then(() => {
      if (this.#ended !== null) throw new Error("connection is closed");
      return this.#writer.write(messages);
    });
    // The next send waits for this one even if it fails. Only the sender of this one hears of its failure.
    this.#sending = sending.catch(() => {});
    return sending;
  }

  probe(withinMs: number): void {
    this.#options.carrier.probe(withinMs);
  }

  /** What was sent leaves first. Then the stream is reset, which is the relay's only way to end one. */
  close(farewell?: Farewell): void {
    if (this.#ended !== null) return;
    this.#ended = { type: "closedByUs" };
    this.#dropQueue();
    const { carrier, frames, window } = this.#options;
    const reason = farewell?.reason ?? "";
    window?.finish();
    this.#sending = this.#sending.then(() => {
      window?.end();
      carrier.sendSoon(frames.reset(reason === "" ? "closed" : reason));
    });
    this.#finish();
  }

  // ------------------------------------------------------------ inside

  #enqueue(bytes: Bytes): void {
    if (this.#ended !== null) return;
    if (this.#queue.length > 0 && this.#queuedBytes + bytes.length > this.#maxQueuedBytes) {
      this.#reset(QUEUE_FULL_REASON, `more than ${this.#maxQueuedBytes} bytes wait for the receiver`);
      return;
    }
    this.#queue.push({ message: textOf(bytes), bytes: bytes.length });
    this.#queuedBytes += bytes.length;
    this.#wake();
  }

  async #sendRecords(records: readonly SealedRecord[]): Promise<void> {
    const { carrier, frames, window } = this.#options;
    const waiting = window?.take(records.map(({ seq, sealed }) => ({ seq, bytes: sealed.length })));
    if (waiting !== undefined) await waiting;
    if (this.#ended !== null && this.#ended.type !== "closedByUs") throw new Error("connection is closed");
    return await carrier.send(records.map(({ seq, sealed }) => frames.data(seq, sealed)));
  }

  #break(error: unknown): void {
    this.#reset(PROTOCOL_ERROR_REASON, error instanceof NoiseError ? error.message : String(error));
  }

  #reset(reason: string, why: string): void {
    if (this.#ended !== null) return;
    this.#ended = { type: "violation", reason: why };
    // It came before the rule was broken, but its answer could not be sent any more.
    this.#dropQueue();
    this.#options.window?.end();
    this.#options.carrier.sendSoon(this.#options.frames.reset(reason));
    this.#finish();
  }

  #dropQueue(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #finish(): void {
    this.#reader.stop();
    this.#options.onEnd();
    this.#wake();
    this.#interrupt();
  }

  /** Waits for the receiver or the end. */
  async #untilEnd(busy: Promise<void>): Promise<void> {
    if (this.#ended !== null) return;
    this.#isReceiverBusy = true;
    await new Promise<void>((resolve, reject) => {
      this.#interrupt = resolve;
      busy.then(resolve, reject);
    });
    this.#isReceiverBusy = false;
  }
}

/** A message that is not UTF-8 is a parse error, as on any other link. */
function textOf(bytes: Bytes): InboundMessage {
  const text = decoder.decode(bytes);
  if (!text.includes(REPLACEMENT)) return text;
  // The peer may have sent that character itself.
  try {
    return strictDecoder.decode(bytes);
  } catch {
    // The decoder's error says nothing more.
    return null;
  }
}
