/**
 * One websocket over a byte stream whose messages are bytes: for the relay, which has its own framing, and for code
 * that passes messages on without reading them. Texts are not checked for UTF-8.
 */

import type { RawMessage } from "./frame_writer.ts";
import { WebSocketEndpoint } from "./websocket_endpoint.ts";
import { OPCODE } from "./websocket_frames.ts";

export type { RawMessage };

/** The bytes of a received message are lent until the receiver returns, or its promise resolves. */
export class MessageSocket extends WebSocketEndpoint<RawMessage> {
  /** Sends messages in order. Resolves once the kernel has accepted them; rejects when the connection is gone. */
  send(messages: readonly RawMessage[]): Promise<void> {
    return this.writer.sendRaw(messages);
  }

  protected override decode(opcode: number, bytes: Uint8Array<ArrayBuffer>): RawMessage {
    return { isText: opcode === OPCODE.text, bytes };
  }
}
