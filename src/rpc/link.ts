/**
 * What the RPC layer needs of a connection: whole messages in, whole messages out. The transport does framing, sockets
 * and heartbeats, but no JSON.
 */

import { StreamedMessage } from "./streamed_message.ts";

/** One message from the peer. Bytes that are not valid UTF-8 arrive as null: that is a parse error, not a violation. */
export type InboundMessage = string | null;

/**
 * One message to the peer: a text, or ASCII in consecutive parts, or one whose content is fetched while it is sent.
 * Parts save copying long content into a longer string, which would cost as much as sending it.
 */
export type OutboundMessage = string | AsciiParts | StreamedMessage;
export type AsciiParts = readonly string[];

/** What a message keeps in memory until it has left: its length, except for streamed ones. */
export function heldLength(message: OutboundMessage): number {
  return message instanceof StreamedMessage ? message.heldLength : textLength(message);
}

export function textLength(message: string | AsciiParts): number {
  if (typeof message === "string") return message.length;
  let length = 0;
  for (const part of message) length += part.length;
  return length;
}

/** Why a link ended, for the log. */
export type LinkEnd =
  | { readonly type: "peerClosed" }
  | { readonly type: "closedByUs" }
  | { readonly type: "violation"; readonly reason: string; readonly closeCode?: number }
  | { readonly type: "silent"; readonly silentMs: number }
  | { readonly type: "failed"; readonly reason: string };

/** Why this side ends a connection, for the peer. */
export interface Farewell {
  /** Everything is done, as the peer wished; or the peer has broken a rule; or something has failed here. */
  readonly cause: "done" | "violation" | "fault";
  readonly reason: string;
}

export interface Link {
  /**
   * Delivers messages in order until the connection ends, then resolves; call it once. Nothing more is read while a
   * promise returned by the receiver is pending, so the transport's flow control slows down the peer.
   *
   * Some links stay open after the conversation, so that the last messages arrive. They call `onEnd` as soon as nothing
   * more will be delivered or accepted. Where peers announce their end, `onPeerClosing` is called before that: nothing
   * more will be delivered, but what is sent still arrives until the given promise has resolved.
   */
  receive(
    receiver: (message: InboundMessage) => void | Promise<void>,
    onEnd?: () => void,
    onPeerClosing?: () => void | Promise<void>,
  ): Promise<LinkEnd>;
  /** Sends messages in order. Resolves once the kernel has taken them; rejects when the connection is gone. */
  send(messages: readonly OutboundMessage[]): Promise<void>;
  /**
   * Asks the peer for a sign of life and drops the connection if none comes within `withinMs`. While one such check is
   * under way, another does nothing: however often it is called, a peer that is gone is dropped in that time.
   */
  probe(withinMs: number): void;
  /**
   * For how long the peer has given no sign of life. 0 if its end would be seen at once. Undefined: only its messages
   * show that it is alive.
   */
  readonly silentMs?: number;
  /**
   * Asks the peer for a sign of life, and calls back when there is one. `silentMs` then says how old it may be. Only
   * the last caller is called back.
   */
  askForSign?(onSign: () => void): void;
  /**
   * Acknowledges at once everything that has arrived, because no message that would carry the acknowledgement is sent
   * soon.
   */
  confirmArrival?(): void;
  /**
   * Ends the connection. What was given to `send` before is still sent if the peer reads it soon. Then the reason is
   * sent, if the transport can express it. Idempotent.
   */
  close(farewell?: Farewell): void;
}
