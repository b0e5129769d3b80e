/**
 * What the RPC layer needs of a connection: whole messages in, whole messages out. Framing, sockets and heartbeats are
 * the transport's; JSON is not.
 */

import { StreamedMessage } from "./streamed_message.ts";

/** One message from the peer. Bytes that were not valid UTF-8 arrive as null: they are a parse error, not a violation. */
export type InboundMessage = string | null;

/**
 * One message to the peer: a text, or ASCII in parts that follow each other, or one whose content is fetched as it
 * leaves. Parts spare long content its copy into a longer string, which would cost as much as sending it.
 */
export type OutboundMessage = string | AsciiParts | StreamedMessage;
export type AsciiParts = readonly string[];

/** What a message keeps in memory until it has left. For all but streamed ones that is its length. */
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
  | { readonly type: "violation"; readonly reason: string }
  | { readonly type: "silent"; readonly silentMs: number }
  | { readonly type: "failed"; readonly reason: string };

export interface Link {
  /**
   * Delivers messages in order until the connection ends, then resolves; call it once. While a promise returned by the
   * receiver is pending nothing more is read, so the peer is slowed down by the transport's own flow control.
   *
   * A link that outlives the conversation, so that its last words arrive, calls `onEnd` as soon as nothing more will be
   * delivered or taken to be sent.
   */
  receive(receiver: (message: InboundMessage) => void | Promise<void>, onEnd?: () => void): Promise<LinkEnd>;
  /** Sends messages in order. Resolves once the kernel has taken them; rejects when the connection is gone. */
  send(messages: readonly OutboundMessage[]): Promise<void>;
  /** Asks the peer for a sign of life and drops the connection when none comes within `withinMs`. */
  probe(withinMs: number): void;
  /** Ends the connection. What `send` was given before still leaves if the peer reads it soon. Idempotent. */
  close(): void;
}
