/** The body of a response, piece by piece, with its framing taken off. A body that stops early is an error, never short. */

import { ByteReader, endedEarly } from "./byte_reader.ts";
import { MAX_CHUNK_LINE_BYTES, READ_BYTES } from "./limits.ts";
import { type BodyFraming, HttpProtocolError } from "./response_head.ts";

export interface Body {
  /** The next bytes, as they come and never none; null at the end. The array belongs to the receiver. */
  read(): Promise<Uint8Array<ArrayBuffer> | null>;
}

export function openBody(reader: ByteReader, framing: BodyFraming): Body {
  switch (framing.type) {
    case "none":
      return { read: () => Promise.resolve(null) };
    case "untilClose":
      return { read: () => reader.readSome(READ_BYTES) };
    case "length":
      return new SizedBody(reader, framing.bytes);
    case "chunked":
      return new ChunkedBody(reader);
  }
}

class SizedBody implements Body {
  readonly #reader: ByteReader;
  #left: number;

  constructor(reader: ByteReader, bytes: number) {
    this.#reader = reader;
    this.#left = bytes;
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#left === 0) return null;
    const piece = await this.#reader.readSome(Math.min(this.#left, READ_BYTES));
    if (piece === null) throw endedEarly();
    this.#left -= piece.length;
    return piece;
  }
}

class ChunkedBody implements Body {
  readonly #reader: ByteReader;
  #leftInChunk = 0;
  #isFirst = true;
  #isDone = false;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#isDone) return null;
    if (this.#leftInChunk === 0) {
      this.#leftInChunk = await this.#nextChunk();
      if (this.#leftInChunk === 0) {
        await this.#skipTrailers();
        this.#isDone = true;
        return null;
      }
    }
    const piece = await this.#reader.readSome(Math.min(this.#leftInChunk, READ_BYTES));
    if (piece === null) throw endedEarly();
    this.#leftInChunk -= piece.length;
    return piece;
  }

  async #nextChunk(): Promise<number> {
    if (!this.#isFirst && await this.#reader.readLine(MAX_CHUNK_LINE_BYTES) !== "") {
      throw new HttpProtocolError("chunk is longer than its size says");
    }
    this.#isFirst = false;
    const line = await this.#reader.readLine(MAX_CHUNK_LINE_BYTES);
    const size = /^0*([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/.exec(line)?.[1];
    if (size === undefined) throw new HttpProtocolError("invalid chunk size");
    return parseInt(size, 16);
  }

  /** Trailers have no place in the answer. They are read so that a truncated end is noticed. */
  async #skipTrailers(): Promise<void> {
    let bytes = 0;
    for (;;) {
      const line = await this.#reader.readLine(MAX_CHUNK_LINE_BYTES);
      if (line === "") return;
      bytes += line.length;
      if (bytes > MAX_CHUNK_LINE_BYTES) throw new HttpProtocolError("trailers are too long");
    }
  }
}
