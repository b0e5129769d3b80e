/** One websocket over a byte stream, as a `Link`: messages are texts, in text frames or binary ones. */

import type { InboundMessage, Link, OutboundMessage } from "../../rpc/link.ts";
import type { ByteStream } from "../byte_stream.ts";
import { WebSocketEndpoint } from "./websocket_endpoint.ts";
import { CLOSE_CODE, OPCODE } from "./websocket_frames.ts";

export type { ByteStream };

/** This decoder writes this character for bytes that are not UTF-8. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\u{FFFD}";
/** Throws if bytes are not UTF-8. Five times slower. */
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class WebSocketLink extends WebSocketEndpoint<InboundMessage> implements Link {
  send(messages: readonly OutboundMessage[]): Promise<void> {
    return this.writer.send(messages);
  }

  protected override decode(opcode: number, payload: Uint8Array<ArrayBuffer>): InboundMessage | undefined {
    const text = decoder.decode(payload);
    if (!text.includes(REPLACEMENT)) return text;
    // The peer may have sent that character itself.
    try {
      return strictDecoder.decode(payload);
    } catch {
      // The decoder's error says nothing more. A text frame must be UTF-8. In a binary frame it is only a parse error.
      return opcode === OPCODE.text ? this.violate("text frame is not valid UTF-8", CLOSE_CODE.invalidText) : null;
    }
  }
}
