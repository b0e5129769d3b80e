/**
 * A websocket of the runtime, as a `Link`: for servers that live in another program's `Deno.serve`.
 *
 * Promises: messages arrive whole and in order, one at a time; `send` resolves when the runtime has nothing left to
 * write; what has arrived and is not handled yet is bounded; `receive` resolves exactly once.
 *
 * The runtime's socket cannot be told to stop reading, joins fragments without a bound, answers a close frame by itself
 * and decides itself when to send pings. `websocket_link.ts` has none of these limits; docs/embedding.md names them.
 */

import { Buffer } from "node:buffer";
import type { Clock } from "../../clock.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/limits.ts";
import { Fifo } from "../../rpc/fifo.ts";
import type { Farewell, InboundMessage, Link, LinkEnd, OutboundMessage } from "../../rpc/link.ts";
import { wholeText } from "../../rpc/whole_text.ts";
import { CLOSE_CODE, CODE_OF_CAUSE, MAX_CONTROL_PAYLOAD_BYTES } from "./websocket_frames.ts";

/** How much memory a message takes besides its content. Without it millions of empty messages would not count. */
const MESSAGE_OVERHEAD_BYTES = 64;
/** Messages are given to the runtime until it holds this much. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** There is no event for a socket that has room again. The first looks come at once, later ones ever more rarely. */
const IMMEDIATE_LOOKS = 50;
const MAX_LOOK_DELAY_MS = 20;
/** How long an ended connection may take to deliver what was sent, and then the peer to answer our close frame. */
const LINGER_MS = 1000;
/** How long messages that have piled up are delivered before other work gets a turn. */
const DELIVERY_MS = 2;
/**
 * The runtime drops a peer that has been silent for two minutes, and takes a moment for that. So a peer that is still
 * connected was there at some time within this one. Its pongs cannot be seen, so the exact time is not known.
 */
const MAX_SILENT_MS = 140_000;
/** A peer that is still connected after this time was there later than now. */
const SIGN_DELAY_MS = MAX_SILENT_MS + 10_000;
/** The longest reason: a control frame's payload without the code. */
const MAX_REASON_BYTES = MAX_CONTROL_PAYLOAD_BYTES - 2;

const CLOSED = "connection is closed";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface RuntimeSocketOptions {
  clock: Clock;
  /** Resolves when other work has had a turn. */
  turn: () => Promise<void>;
  /** How much may have arrived without being handled yet: by default as much as the longest message. */
  maxWaitingBytes?: number;
}

export class RuntimeSocketLink implements Link {
  readonly #socket: WebSocket;
  readonly #options: RuntimeSocketOptions;
  readonly #inbox = new Fifo<{ readonly message: InboundMessage; readonly weight: number }>();
  #waitingBytes = 0;
  #wake: () => void = () => {};
  #sending: Promise<unknown> = Promise.resolve();
  #ended: LinkEnd | null = null;
  #onEnd: () => void = () => {};
  #messageAtMs: number;
  #onSign: () => void = () => {};
  /** Cancels the timer, while someone waits for a sign of life. */
  #cancelSign: (() => void) | null = null;
  /** How the runtime's socket ended. */
  readonly #closed = Promise.withResolvers<void>();
  #closedAs: LinkEnd | null = null;

  constructor(socket: WebSocket, options: RuntimeSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#messageAtMs = options.clock.now();
    this.#closed.promise.then(() => this.#cancelSign?.());
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#arrived(data);
    socket.onerror = (event) => {
      this.#closedAs ??= { type: "failed", reason: (event as ErrorEvent).message || "the websocket failed" };
    };
    // Comes twice if the runtime has given up a silent peer.
    socket.onclose = () => {
      this.#closedAs ??= { type: "peerClosed" };
      this.#closed.resolve();
      this.#wake();
    };
  }

  async receive(
    receiver: (message: InboundMessage) => void | Promise<void>,
    onEnd: () => void = () => {},
  ): Promise<LinkEnd> {
    this.#onEnd = onEnd;
    let begunAtMs = performance.now();
    while (this.#ended === null) {
      if (performance.now() - begunAtMs >= DELIVERY_MS) {
        await this.#options.turn();
        begunAtMs = performance.now();
      }
      const next = this.#inbox.shift();
      if (next === undefined) {
        if (this.#isClosed) this.#end(this.#closedAs!);
        else await new Promise<void>((resolve) => this.#wake = resolve);
        begunAtMs = performance.now();
        continue;
      }
      this.#waitingBytes -= next.weight;
      const busy = receiver(next.message);
      if (busy === undefined) continue;
      await Promise.race([busy, this.#closed.promise]);
      begunAtMs = performance.now();
      // Nobody would read the answers to the rest.
      if (this.#isClosed) this.#end(this.#closedAs!);
    }
    await this.#closed.promise;
    return this.#ended;
  }

  send(messages: readonly OutboundMessage[]): Promise<void> {
    const sent = this.#ended === null ? this.#send(messages) : Promise.reject(new Error(CLOSED));
    this.#sending = Promise.allSettled([this.#sending, sent]);
    return sent;
  }

  /** The runtime cannot be asked to send a ping. Its own pings find a vanished peer within two minutes. */
  probe(): void {}

  /**
   * An upper bound, since of the runtime's pings only the outcome is known. No ping leaves while the peer does not read
   * what was sent before. Then only messages count.
   */
  get silentMs(): number {
    const sinceMessageMs = this.#options.clock.now() - this.#messageAtMs;
    return this.#socket.bufferedAmount > 0 ? sinceMessageMs : Math.min(sinceMessageMs, MAX_SILENT_MS);
  }

  /**
   * If the peer sends no message, its connection is the sign. There is one timer for all callers. It begins with the
   * first of them and may be too early for the last one, who sees that in `silentMs` and asks again.
   */
  askForSign(onSign: () => void): void {
    this.#onSign = onSign;
    if (this.#ended !== null || this.#isClosed) return;
    this.#cancelSign ??= this.#options.clock.setTimer(SIGN_DELAY_MS, () => {
      this.#cancelSign = null;
      this.#onSign();
    });
  }

  close(farewell?: Farewell): void {
    if (farewell === undefined) this.#endWith({ type: "closedByUs" });
    else this.#endWith({ type: "closedByUs" }, CODE_OF_CAUSE[farewell.cause], farewell.reason);
  }

  get #isClosed(): boolean {
    return this.#socket.readyState === WebSocket.CLOSED;
  }

  #arrived(data: string | ArrayBuffer): void {
    if (this.#ended !== null) return;
    this.#messageAtMs = this.#options.clock.now();
    const message = typeof data === "string" ? data : decode(data);
    const bytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength;
    const weight = bytes + MESSAGE_OVERHEAD_BYTES;
    this.#waitingBytes += weight;
    const { maxWaitingBytes = MAX_MESSAGE_BYTES } = this.#options;
    if (this.#waitingBytes > maxWaitingBytes + MESSAGE_OVERHEAD_BYTES) {
      const reason = `input not yet handled exceeds the limit of ${maxWaitingBytes} bytes`;
      this.#endWith({ type: "violation", reason, closeCode: CLOSE_CODE.tooLarge }, CLOSE_CODE.tooLarge, reason);
      return;
    }
    this.#inbox.push({ message, weight });
    this.#wake();
  }

  async #send(messages: readonly OutboundMessage[]): Promise<void> {
    for (const message of messages) {
      const text = await wholeText(message);
      if (this.#socket.readyState !== WebSocket.OPEN) throw new Error(CLOSED);
      this.#socket.send(text);
      if (this.#socket.bufferedAmount > HIGH_WATER_BYTES) await this.#untilWritten();
    }
    await this.#untilWritten();
  }

  async #untilWritten(): Promise<void> {
    for (let looks = 1; this.#socket.bufferedAmount > 0; looks++) {
      if (this.#isClosed) throw new Error(CLOSED);
      await new Promise<void>((resolve) => {
        if (looks <= IMMEDIATE_LOOKS) setImmediate(resolve);
        else setTimeout(resolve, Math.min(looks - IMMEDIATE_LOOKS, MAX_LOOK_DELAY_MS));
      });
    }
  }

  #end(end: LinkEnd): void {
    if (this.#ended !== null) return;
    this.#ended = end;
    this.#inbox.clear();
    this.#wake();
    this.#onEnd();
  }

  /**
   * Ends the connection politely: what is being sent may finish, a close frame follows, and the peer has some time to
   * answer it.
   */
  async #endWith(end: LinkEnd, code?: number, reason = ""): Promise<void> {
    if (this.#ended !== null) return;
    this.#end(end);
    await Promise.race([this.#sending, this.#after(LINGER_MS)]);
    if (code === undefined) this.#socket.close();
    else this.#socket.close(code, shortened(reason));
    await this.#after(LINGER_MS);
    this.#closed.resolve();
  }

  /** Resolves then, or when the socket has closed. */
  #after(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.setTimer(delayMs, resolve);
      this.#closed.promise.then(() => {
        cancel();
        resolve();
      });
    });
  }
}

/** Null when the bytes are not UTF-8: a parse error. The runtime itself ends connections with such a text frame. */
function decode(data: ArrayBuffer): InboundMessage {
  try {
    return decoder.decode(data);
  } catch {
    return null; // The decoder's error says nothing more.
  }
}

/** The beginning of a reason that fits into a close frame, in whole characters. */
function shortened(reason: string): string {
  const { read } = encoder.encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
  return reason.slice(0, read);
}
