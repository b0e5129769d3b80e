/** A message as one text, for links that cannot send it in parts. */

import type { OutboundMessage } from "./link.ts";
import { StreamedMessage, writeStreamed } from "./streamed_message.ts";

const PIECE_BYTES = 256 * 1024;

/**
 * Rejects when content cannot be fetched, or is longer than a string can be. Closes the source of a streamed message.
 */
export async function wholeText(message: OutboundMessage): Promise<string> {
  if (typeof message === "string") return message;
  if (!(message instanceof StreamedMessage)) return message.join("");
  let text = "";
  const write = (piece: Uint8Array): Promise<void> => {
    // All of it is ASCII, so no character is split between two pieces.
    text += decoder.decode(piece);
    return Promise.resolve();
  };
  await writeStreamed(message, { buffer: new Uint8Array(PIECE_BYTES), filled: 0, write });
  return text;
}

const decoder = new TextDecoder();
