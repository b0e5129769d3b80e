/**
 * One connection over a pair of byte streams, a message per line: the `stdio` transport.
 *
 * `\n` and `\r\n` both end a line, blank lines are skipped, a line beyond the message limit ends the connection.
 */

import { concatBytes } from "../bytes.ts";
import { messageOf } from "../errors.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/limits.ts";
import type { InboundMessage, Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import { StreamedMessage, writeStreamed } from "../rpc/streamed_message.ts";

const NEWLINE = 0x0a;

/** The size of the pieces in which streamed messages leave. */
const PIECE_BYTES = 256 * 1024;

export class StdioLink implements Link {
  /** The end of a pipe is seen at once. */
  readonly silentMs = 0;
  readonly #input: ReadableStream<Uint8Array>;
  readonly #output: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #ended: LinkEnd | null = null;
  /** Pieces of the line that is being read. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;

  constructor(streams: { readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> }) {
    this.#input = streams.readable;
    this.#output = streams.writable.getWriter();
  }

  async receive(receiver: (message: InboundMessage) => void | Promise<void>): Promise<LinkEnd> {
    const reader = this.#reader = this.#input.getReader();
    try {
      while (this.#ended === null) {
        const { done, value } = await reader.read();
        if (done) {
          if (this.#pieceBytes > 0) await this.#deliver(EMPTY, receiver);
          this.#ended ??= { type: "peerClosed" };
        } else await this.#take(value, receiver);
      }
    } catch (error) {
      this.#ended ??= { type: "failed", reason: messageOf(error) };
    } finally {
      this.#pieces = [];
      reader.cancel().catch(() => {
        // The stream failed already; that failure is what `ended` reports.
      });
    }
    return this.#ended!;
  }

  async send(messages: readonly OutboundMessage[]): Promise<void> {
    let lines = "";
    for (const message of messages) {
      if (message instanceof StreamedMessage) {
        await this.#write(lines);
        await writeStreamed(message, {
          buffer: new Uint8Array(PIECE_BYTES),
          filled: 0,
          write: (piece) => this.#output.write(piece),
        });
        lines = "\n";
      } else lines += (typeof message === "string" ? message : message.join("")) + "\n";
    }
    await this.#write(lines);
  }

  async #write(text: string): Promise<void> {
    if (text !== "") await this.#output.write(this.#encoder.encode(text));
  }

  /** There is nothing to probe, for the same reason. */
  probe(): void {}

  close(): void {
    this.#ended ??= { type: "closedByUs" };
    this.#reader?.cancel().catch(() => {
      // As in receive.
    });
  }

  async #take(bytes: Uint8Array, receiver: (message: InboundMessage) => void | Promise<void>): Promise<void> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      await this.#deliver(bytes.subarray(start, end), receiver);
      start = end + 1;
      if (this.#ended !== null) return;
    }
    if (start === bytes.length) return;
    this.#pieces.push(bytes.subarray(start));
    this.#pieceBytes += bytes.length - start;
    if (this.#pieceBytes > MAX_MESSAGE_BYTES) this.#violate();
  }

  #deliver(last: Uint8Array, receiver: (message: InboundMessage) => void | Promise<void>): void | Promise<void> {
    const line = this.#pieceBytes === 0 ? last : this.#join(last);
    if (line.length > MAX_MESSAGE_BYTES) return this.#violate();
    let text: string;
    try {
      text = this.#decoder.decode(line);
    } catch {
      return receiver(null); // Not UTF-8. Null means a parse error.
    }
    if (text.trim() !== "") return receiver(text);
  }

  #join(last: Uint8Array): Uint8Array {
    const line = concatBytes([...this.#pieces, last]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return line;
  }

  #violate(): void {
    this.#ended = { type: "violation", reason: `line exceeds the limit of ${MAX_MESSAGE_BYTES} bytes` };
  }
}

const EMPTY = new Uint8Array(0);
