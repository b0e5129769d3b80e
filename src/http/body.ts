/**
 * The body of a response, piece by piece, without its framing. A body that stops early is an error, never just short.
 */

import { ByteReader, endedEarly } from "./byte_reader.ts";
import { MAX_CHUNK_LINE_BYTES, READ_BYTES } from "./limits.ts";
import { type BodyFraming, HttpProtocolError } from "./response_head.ts";

const LF = 0x0a;
const CR = 0x0d;

export interface Body {
  /** The whole length, if the server has said it. */
  readonly length: number | null;
  /** The next bytes as they come, never empty; null at the end. The array belongs to the receiver. */
  read(): Promise<Uint8Array<ArrayBuffer> | null>;
}

export function openBody(reader: ByteReader, framing: BodyFraming): Body {
  switch (framing.type) {
    case "none":
      return { length: 0, read: () => Promise.resolve(null) };
    case "untilClose":
      return { length: null, read: () => reader.readSome(READ_BYTES) };
    case "length":
      return new SizedBody(reader, framing.bytes);
    case "chunked":
      return new ChunkedBody(reader);
  }
}

class SizedBody implements Body {
  readonly length: number;
  readonly #reader: ByteReader;
  #left: number;

  constructor(reader: ByteReader, bytes: number) {
    this.length = bytes;
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

type ChunkState = "size" | "data" | "dataEnd" | "trailers" | "done";

/** Parses everything that has arrived at once, however short its chunks are: a server may send millions of them. */
class ChunkedBody implements Body {
  readonly length = null;
  readonly #reader: ByteReader;
  #state: ChunkState = "size";
  #leftInChunk = 0;
  #trailerBytes = 0;
  /** A fault after bytes that were still correct. */
  #failure: HttpProtocolError | null = null;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      const piece = this.#takeArrived();
      if (piece !== null) return piece;
      if (this.#failure !== null) continue;
      if (this.#state === "done") return null;
      if (!await this.#reader.more()) throw endedEarly();
    }
  }

  /** The content of what has arrived; null when there is none in it. */
  #takeArrived(): Uint8Array<ArrayBuffer> | null {
    const { arrived } = this.#reader;
    let content: Uint8Array<ArrayBuffer> | null = null;
    let length = 0;
    let at = 0;
    try {
      while (this.#state !== "done" && at < arrived.length) {
        if (this.#state === "data") {
          const end = Math.min(arrived.length, at + this.#leftInChunk);
          content ??= new Uint8Array(arrived.length - at);
          content.set(arrived.subarray(at, end), length);
          length += end - at;
          this.#leftInChunk -= end - at;
          at = end;
          if (this.#leftInChunk === 0) this.#state = "dataEnd";
          continue;
        }
        const lineFeed = arrived.indexOf(LF, at);
        if ((lineFeed === -1 ? arrived.length : lineFeed) - at >= MAX_CHUNK_LINE_BYTES) {
          throw new HttpProtocolError(`line is longer than ${MAX_CHUNK_LINE_BYTES} bytes`);
        }
        if (lineFeed === -1) break;
        this.#line(arrived, at, lineFeed > at && arrived[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed);
        at = lineFeed + 1;
      }
    } catch (error) {
      if (!(error instanceof HttpProtocolError)) throw error;
      this.#failure = error;
    }
    this.#reader.skip(at);
    if (content === null) return null;
    // Mostly framing: its memory is not kept with the content.
    return length * 2 < content.length ? content.slice(0, length) : content.subarray(0, length);
  }

  #line(bytes: Uint8Array, start: number, end: number): void {
    switch (this.#state) {
      case "dataEnd":
        if (end > start) throw new HttpProtocolError("chunk is longer than its size says");
        this.#state = "size";
        return;
      case "size":
        this.#leftInChunk = chunkSize(bytes, start, end);
        this.#state = this.#leftInChunk === 0 ? "trailers" : "data";
        return;
      case "trailers":
        // They have no place in the answer. They are read so that a truncated end is noticed.
        if (end === start) this.#state = "done";
        else if ((this.#trailerBytes += end - start) > MAX_CHUNK_LINE_BYTES) {
          throw new HttpProtocolError("trailers are too long");
        }
    }
  }
}

const MAX_SIZE_DIGITS = 12;
const ZERO = 0x30;
const SEMICOLON = 0x3b;

/** Hexadecimal digits, blanks, and perhaps an extension after a semicolon. */
function chunkSize(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] === ZERO) at++;
  let size = 0;
  let digits = 0;
  for (; at < end; at++, digits++) {
    const digit = hexDigit(bytes[at]!);
    if (digit === -1) break;
    size = size * 16 + digit;
  }
  const hasDigits = at > start;
  while (at < end && (bytes[at] === 0x20 || bytes[at] === 0x09)) at++;
  if (!hasDigits || digits > MAX_SIZE_DIGITS || (at < end && bytes[at] !== SEMICOLON)) {
    throw new HttpProtocolError("invalid chunk size");
  }
  return size;
}

/** -1: it is not a chunk size. */
function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 0x39) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}
