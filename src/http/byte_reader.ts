/** The bytes of a connection as heads and pieces. Holds at most one read besides the head it is looking for. */

import { MAX_RESPONSE_HEAD_BYTES, READ_BYTES } from "./limits.ts";
import { HttpProtocolError } from "./response_head.ts";

const LF = 0x0a;
const CR = 0x0d;

/** Fills the array and returns how many bytes; null at the end. */
export type ReadInto = (into: Uint8Array<ArrayBuffer>) => Promise<number | null>;

export class ByteReader {
  readonly #read: ReadInto;
  #buffer = new Uint8Array(READ_BYTES);
  #start = 0;
  #end = 0;

  constructor(read: ReadInto) {
    this.#read = read;
  }

  /** Everything before the next empty line; null when the connection ends before its first byte. */
  async readHead(): Promise<Uint8Array | null> {
    // Where a head's lines begin, so that no byte is looked at twice, however slowly they come.
    let lineAt = 0;
    for (;;) {
      const lineEnd = await this.#find(lineAt, MAX_RESPONSE_HEAD_BYTES, "HTTP response head");
      if (lineEnd === null) return null;
      const isEmpty = lineEnd === lineAt || (lineEnd === lineAt + 1 && this.#at(lineAt) === CR);
      if (isEmpty && lineAt === 0) throw new HttpProtocolError("invalid HTTP status line");
      if (isEmpty) {
        const head = this.#buffer.slice(this.#start, this.#start + trimLineEnd(this.#view(), lineAt));
        this.#start += lineEnd + 1;
        return head;
      }
      lineAt = lineEnd + 1;
    }
  }

  /** Some bytes, at most `maxBytes`, as soon as there are any; null at the end. The array belongs to the receiver. */
  async readSome(maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#start === this.#end && !(await this.#fill())) return null;
    const length = Math.min(maxBytes, this.#end - this.#start);
    const piece = this.#buffer.slice(this.#start, this.#start + length);
    this.#start += length;
    return piece;
  }

  /** What has arrived and was not taken, lent until the next call. */
  get arrived(): Uint8Array<ArrayBuffer> {
    return this.#view();
  }

  /** Takes this many bytes of what has arrived. */
  skip(bytes: number): void {
    this.#start += bytes;
  }

  /** Waits for more bytes behind what has arrived; false at the end. */
  more(): Promise<boolean> {
    return this.#fill();
  }

  /** The offset of the first line feed at or behind `from`; null when the connection ends before its first byte. */
  async #find(from: number, maxBytes: number, what: string): Promise<number | null> {
    for (let lookedAt = from;;) {
      const arrived = this.#view();
      const at = arrived.indexOf(LF, lookedAt);
      if (at !== -1 && at < maxBytes) return at;
      lookedAt = arrived.length;
      if (lookedAt >= maxBytes) throw new HttpProtocolError(`${what} is longer than ${maxBytes} bytes`);
      if (await this.#fill()) continue;
      if (this.#end === this.#start) return null;
      throw endedEarly();
    }
  }

  #at(offset: number): number {
    return this.#buffer[this.#start + offset]!;
  }

  #view(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Reads more behind what there is; false at the end. */
  async #fill(): Promise<boolean> {
    if (this.#start === this.#end) this.#start = this.#end = 0;
    if (this.#end === this.#buffer.length) this.#makeRoom();
    const count = await this.#read(this.#buffer.subarray(this.#end));
    if (count === null) return false;
    this.#end += count;
    return true;
  }

  #makeRoom(): void {
    const kept = this.#view();
    // Only a head can need more than one read; its own bound ends the doubling.
    const size = kept.length > this.#buffer.length / 2 ? this.#buffer.length * 2 : this.#buffer.length;
    const buffer = new Uint8Array(size);
    buffer.set(kept);
    this.#buffer = buffer;
    this.#end = kept.length;
    this.#start = 0;
  }
}

export function endedEarly(): HttpProtocolError {
  return new HttpProtocolError("connection closed before the message was complete");
}

/** The length without the line end that stands at its end. */
function trimLineEnd(bytes: Uint8Array, length: number): number {
  let end = length;
  if (end > 0 && bytes[end - 1] === LF) end--;
  if (end > 0 && bytes[end - 1] === CR) end--;
  return end;
}
