/**
 * A link over the runtime's own `WebSocket`, in any runtime that has one.
 *
 * Such a socket shows no pings and cannot be told to stop reading. So the session's heartbeat notices silence, and late
 * acknowledgements hold output back. `close` ends the link at once, whatever the peer does: a closing handshake with a
 * peer that is gone would take minutes.
 */

import type { Farewell, InboundMessage, Link, LinkEnd, OutboundMessage } from "../../rpc/link.ts";
import { wholeText } from "../../rpc/whole_text.ts";

/**
 * The part of `WebSocket` that is used, so that any implementation with the web's interface will do.
 *
 * ```ts
 * const isIdle = (socket: WebSocketLike) => socket.readyState === 1 && socket.bufferedAmount === 0;
 * console.log(isIdle(new WebSocket("ws://127.0.0.1:9000")));
 * ```
 */
export interface WebSocketLike {
  /** As in the web's interface. */
  binaryType: string;
  /** As in the web's interface. */
  readonly readyState: number;
  /** As in the web's interface. */
  readonly bufferedAmount: number;
  /** As in the web's interface. */
  onopen: ((event: never) => unknown) | null;
  /** As in the web's interface. */
  onmessage: ((event: never) => unknown) | null;
  /** As in the web's interface. */
  onerror: ((event: never) => unknown) | null;
  /** As in the web's interface. */
  onclose: ((event: never) => unknown) | null;
  /** As in the web's interface. */
  send(data: string): void;
  /** As in the web's interface. */
  close(code?: number, reason?: string): void;
}

const OPEN = 1;

/** How many bytes may wait in the socket before senders wait: a few of the largest writes. */
const SEND_HIGH_WATER_BYTES = 4 * 1024 * 1024;
/** The web's interface has no event for a buffer that has emptied. */
const SEND_POLL_MS = 4;

/** See the head of the module. */
export class StandardSocketLink implements Link {
  readonly #socket: WebSocketLike;
  readonly #end = Promise.withResolvers<LinkEnd>();
  #failure = "connection closed";
  #receiver: ((message: InboundMessage) => void | Promise<void>) | null = null;
  /** What came before `receive` was called. */
  #early: InboundMessage[] = [];
  #isEnded = false;

  /** Takes a socket that is open. */
  constructor(socket: WebSocketLike) {
    this.#socket = socket;
    socket.onmessage = ({ data }: MessageEvent) => this.#deliver(textOf(data));
    socket.onerror = (event: Event) => {
      const { message } = event as Event & { message?: string };
      if (message) this.#failure = message;
    };
    socket.onclose = ({ code, reason }: CloseEvent) => {
      if (reason !== "") this.#failure = `${reason} (close code ${code})`;
      this.#finish(code === 1000 ? { type: "peerClosed" } : { type: "failed", reason: this.#failure });
    };
  }

  /** See {@linkcode Link.receive}. This socket goes on reading while a promise of the receiver is pending. */
  receive(receiver: (message: InboundMessage) => void | Promise<void>): Promise<LinkEnd> {
    this.#receiver = receiver;
    for (const message of this.#early.splice(0)) receiver(message);
    return this.#end.promise;
  }

  /** See {@linkcode Link.send}. Waits while the socket holds much. */
  async send(messages: readonly OutboundMessage[]): Promise<void> {
    for (const message of messages) {
      const text = typeof message === "string" ? message : await wholeText(message);
      if (this.#isEnded || this.#socket.readyState !== OPEN) throw new Error("connection is closed");
      this.#socket.send(text);
    }
    while (!this.#isEnded && this.#socket.bufferedAmount > SEND_HIGH_WATER_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, SEND_POLL_MS));
    }
  }

  /** This socket sends no pings: the session's heartbeat asks instead. */
  probe(): void {}

  /** See {@linkcode Link.close}. */
  close(farewell?: Farewell): void {
    if (this.#isEnded) return;
    this.#finish({ type: "closedByUs" });
    try {
      this.#socket.close(1000, farewell?.reason.slice(0, 100));
    } catch {
      // Not open yet, or closed already: there is nothing to end.
    }
  }

  #deliver(message: InboundMessage): void {
    if (this.#isEnded) return;
    if (this.#receiver === null) this.#early.push(message);
    else this.#receiver(message);
  }

  #finish(end: LinkEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end.resolve(end);
  }
}

function textOf(data: unknown): InboundMessage {
  if (typeof data === "string") return data;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data as ArrayBuffer);
  } catch {
    return null; // Not UTF-8: the receiver handles that.
  }
}
