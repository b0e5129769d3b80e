/**
 * Messages -> sealed records. The stream of plain bytes has, for every message, four bytes of length (big-endian) and
 * its UTF-8. It is divided into records that are as full as possible: short messages share a record, long ones take
 * many.
 *
 * The records of a batch are sealed together, which is three times as fast as one after the other. A batch is also what
 * one stream sends before others have their turn.
 */

import type { Bytes } from "../../bytes.ts";
import { type AsciiParts, type OutboundMessage, textLength } from "../../rpc/link.ts";
import { StreamedMessage, writeStreamed } from "../../rpc/streamed_message.ts";
import type { AeadKey } from "./aead.ts";
import { MAX_RECORD_BYTES } from "./limits.ts";

/** One record with its number in the stream. */
export interface SealedRecord {
  readonly seq: number;
  readonly sealed: Bytes;
}

/** Sends the records of a batch. The next batch waits for it. */
export type SendRecords = (records: readonly SealedRecord[]) => Promise<void>;

const RECORDS_PER_BATCH = 8;
const BATCH_BYTES = RECORDS_PER_BATCH * MAX_RECORD_BYTES;
const LENGTH_BYTES = 4;
/** The longest message that the four bytes can express. */
const MAX_MESSAGE_BYTES = 2 ** 32 - 1;
/** Sequence numbers are 32 bits: 256 TiB in one connection. */
const MAX_SEQ = 2 ** 32 - 1;
/** Most batches are one or two short messages. They get a buffer of just their length. */
const MIN_BUFFER_BYTES = 512;

const encoder = new TextEncoder();

export class RecordWriter {
  readonly #key: AeadKey;
  readonly #send: SendRecords;
  #seq = 0;
  #buffer: Bytes = new Uint8Array(0);
  #filled = 0;

  constructor(key: AeadKey, send: SendRecords) {
    this.#key = key;
    this.#send = send;
  }

  /** Resolves when all records were sent. One call at a time. */
  async write(messages: readonly OutboundMessage[]): Promise<void> {
    for (const message of messages) {
      if (message instanceof StreamedMessage) await this.#putStreamed(message);
      else if (this.#putShort(message)) continue;
      else await this.#putLong(message);
    }
    await this.#flush();
  }

  /** Appends it whole if there is room for it whatever its characters are. */
  #putShort(message: string | AsciiParts): boolean {
    const isAscii = typeof message !== "string";
    const needed = LENGTH_BYTES + textLength(message) * (isAscii ? 1 : 3);
    if (this.#filled + needed > BATCH_BYTES) return false;
    this.#reserve(needed);
    const lengthAt = this.#filled;
    let at = lengthAt + LENGTH_BYTES;
    for (const part of isAscii ? message : [message]) at += encoder.encodeInto(part, this.#buffer.subarray(at)).written;
    this.#putLength(at - lengthAt - LENGTH_BYTES);
    this.#filled = at;
    return true;
  }

  async #putLong(message: string | AsciiParts): Promise<void> {
    const bytes = typeof message === "string" ? encoder.encode(message) : null;
    await this.#begin(bytes?.length ?? textLength(message));
    if (bytes !== null) return await this.#put(bytes);
    // In steps that fit the buffer: a part of ASCII has as many bytes as characters.
    for (const part of message) {
      for (let at = 0; at < part.length; at += BATCH_BYTES) {
        await this.#put(encoder.encode(part.slice(at, at + BATCH_BYTES)));
      }
    }
  }

  async #putStreamed(message: StreamedMessage): Promise<void> {
    let hasBegun = false;
    try {
      await this.#begin(message.length);
      hasBegun = true;
    } finally {
      if (!hasBegun) message.source.close();
    }
    const write = (piece: Bytes) => this.#put(piece);
    await writeStreamed(message, { buffer: new Uint8Array(BATCH_BYTES), filled: 0, write });
  }

  async #begin(messageBytes: number): Promise<void> {
    if (messageBytes > MAX_MESSAGE_BYTES) throw new RangeError(`message of ${messageBytes} bytes cannot be sent`);
    if (this.#filled + LENGTH_BYTES > BATCH_BYTES) await this.#flush();
    this.#reserve(BATCH_BYTES - this.#filled);
    this.#putLength(messageBytes);
    this.#filled += LENGTH_BYTES;
  }

  async #put(bytes: Bytes): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#filled === BATCH_BYTES) await this.#flush();
      this.#reserve(BATCH_BYTES - this.#filled);
      const count = Math.min(bytes.length - at, BATCH_BYTES - this.#filled);
      this.#buffer.set(bytes.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
    }
  }

  #putLength(bytes: number): void {
    new DataView(this.#buffer.buffer, this.#filled, LENGTH_BYTES).setUint32(0, bytes);
  }

  #reserve(bytes: number): void {
    const needed = this.#filled + bytes;
    if (needed <= this.#buffer.length) return;
    const size = Math.min(BATCH_BYTES, Math.max(needed, this.#buffer.length * 2, MIN_BUFFER_BYTES));
    const grown = new Uint8Array(size);
    grown.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = grown;
  }

  async #flush(): Promise<void> {
    if (this.#filled === 0) return;
    const sealing: { seq: number; sealed: Bytes | Promise<Bytes> }[] = [];
    for (let at = 0; at < this.#filled; at += MAX_RECORD_BYTES) {
      if (this.#seq > MAX_SEQ) throw new RangeError("the connection has used up its sequence numbers");
      const plain = this.#buffer.subarray(at, Math.min(at + MAX_RECORD_BYTES, this.#filled));
      sealing.push({ seq: this.#seq++, sealed: this.#key.seal(plain) });
    }
    // The next batch gets a new buffer: this one is read until all is sealed.
    this.#buffer = new Uint8Array(0);
    this.#filled = 0;
    const records: SealedRecord[] = [];
    for (const { seq, sealed } of sealing) records.push({ seq, sealed: await sealed });
    await this.#send(records);
  }
}
