/**
 * Sealed records -> messages: puts records into order, opens them, and cuts their plain bytes into messages.
 *
 * Promises: messages come whole and in order, each once; a repeated record changes nothing; whatever is not the peer's
 * next record (tampered with, made by somebody else, too far ahead, too long) ends the stream with a `NoiseError`, and
 * nothing after it is read. Waiting for records that are missing is bounded.
 */

import { type Bytes, GatheredBytes } from "../../bytes.ts";
import type { AeadKey } from "./aead.ts";
import {
  MAX_CHANNEL_MESSAGE_BYTES,
  MAX_EARLY_BYTES,
  MAX_EARLY_RECORDS,
  MAX_SEALED_RECORD_BYTES,
  TAG_BYTES,
} from "./limits.ts";
import { NoiseError } from "./noise_error.ts";

const LENGTH_BYTES = 4;

export interface RecordReaderOptions {
  readonly key: AeadKey;
  /** One whole message, in order. The bytes are lent. */
  readonly onMessage: (message: Bytes) => void;
  readonly maxMessageBytes?: number;
}

export class RecordReader {
  readonly #key: AeadKey;
  readonly #onMessage: (message: Bytes) => void;
  readonly #maxMessageBytes: number;
  #nextSeq = 0;
  /** Records that came before one that is missing. */
  readonly #early = new Map<number, Bytes>();
  #earlyBytes = 0;
  /** Opening is asynchronous. The results are used in order. */
  #opening: Promise<void> | null = null;
  #openingBytes = 0;
  readonly #length = new Uint8Array(LENGTH_BYTES);
  #lengthFilled = 0;
  /** How many bytes the current message still lacks; null between two messages. */
  #missing: number | null = null;
  readonly #gathered = new GatheredBytes();
  #failure: NoiseError | null = null;

  constructor({ key, onMessage, maxMessageBytes = MAX_CHANNEL_MESSAGE_BYTES }: RecordReaderOptions) {
    this.#key = key;
    this.#onMessage = onMessage;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** How many bytes are kept: of waiting records and of the incomplete message. */
  get heldBytes(): number {
    return this.#earlyBytes + this.#openingBytes + this.#gathered.length;
  }

  /** How many bytes of records are being opened. */
  get openingBytes(): number {
    return this.#openingBytes;
  }

  /** Settles when all records so far are open; null if there is nothing to wait for. */
  get opening(): Promise<void> | null {
    return this.#opening;
  }

  /** Nothing more is wanted: frees what is kept. */
  stop(): void {
    this.#failure ??= new NoiseError("the stream is over");
    this.#gathered.clear();
    this.#early.clear();
    this.#earlyBytes = 0;
  }

  /**
   * Takes the record with this number, in any order. Bytes that are kept are copied. Returns a promise if opening takes
   * time, which settles when this record has been handled. After the first `NoiseError` every call throws or rejects.
   */
  take(seq: number, sealed: Bytes): void | Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (sealed.length > MAX_SEALED_RECORD_BYTES || sealed.length < TAG_BYTES) {
      throw this.#fail(`record of ${sealed.length} bytes`);
    }
    if (seq < this.#nextSeq || this.#early.has(seq)) return;
    if (seq > this.#nextSeq) return this.#keepEarly(seq, sealed);
    let busy = this.#openNext(sealed);
    for (let next = this.#early.get(this.#nextSeq); next !== undefined; next = this.#early.get(this.#nextSeq)) {
      this.#early.delete(this.#nextSeq);
      this.#earlyBytes -= next.length;
      busy = this.#openNext(next) ?? busy;
    }
    return busy;
  }

  #keepEarly(seq: number, sealed: Bytes): void {
    if (seq - this.#nextSeq > MAX_EARLY_RECORDS || this.#earlyBytes + sealed.length > MAX_EARLY_BYTES) {
      throw this.#fail("record is too far ahead");
    }
    this.#early.set(seq, sealed.slice());
    this.#earlyBytes += sealed.length;
  }

  #openNext(sealed: Bytes): void | Promise<void> {
    this.#nextSeq++;
    const opened = this.#open(sealed);
    if (this.#opening === null && !(opened instanceof Promise)) return this.#takePlain(opened);
    this.#openingBytes += sealed.length;
    const opening = this.#takeInOrder(this.#opening, opened).finally(() => {
      this.#openingBytes -= sealed.length;
      if (this.#opening === opening) this.#opening = null;
    });
    // The latest promise rejects with the same failure, and that one is awaited.
    opening.catch(() => {});
    this.#opening = opening;
    return opening;
  }

  async #takeInOrder(previous: Promise<void> | null, opened: Bytes | Promise<Bytes>): Promise<void> {
    try {
      // Both are awaited together, so that neither rejection is left unhandled when the other comes first.
      const [, plain] = await Promise.all([previous, opened]);
      if (this.#failure !== null) throw this.#failure;
      this.#takePlain(plain);
    } catch (error) {
      throw this.#failure ??= asNoiseError(error);
    }
  }

  #open(sealed: Bytes): Bytes | Promise<Bytes> {
    try {
      return this.#key.open(sealed);
    } catch (error) {
      throw this.#failure ??= asNoiseError(error);
    }
  }

  #takePlain(plain: Bytes): void {
    // The receiver of a message may stop the reading.
    for (let at = 0; at < plain.length && this.#failure === null;) {
      if (this.#missing === null) at = this.#takeLength(plain, at);
      if (this.#missing === null) continue;
      const end = Math.min(plain.length, at + this.#missing);
      const isWhole = end - at === this.#missing && this.#gathered.length === 0;
      if (isWhole) {
        this.#missing = null;
        this.#onMessage(plain.subarray(at, end));
      } else {
        this.#gathered.add(plain.subarray(at, end));
        this.#missing -= end - at;
        if (this.#missing === 0) {
          this.#missing = null;
          this.#onMessage(this.#gathered.take());
        }
      }
      at = end;
    }
  }

  /** A message begins or goes on here. Empty messages are ignored: no JSON text is empty. */
  #takeLength(plain: Bytes, start: number): number {
    let at = start;
    while (at < plain.length && this.#lengthFilled < LENGTH_BYTES) this.#length[this.#lengthFilled++] = plain[at++]!;
    if (this.#lengthFilled < LENGTH_BYTES) return at;
    const length = new DataView(this.#length.buffer).getUint32(0);
    if (length === 0 || length > this.#maxMessageBytes) throw this.#fail(`message of ${length} bytes`);
    this.#lengthFilled = 0;
    this.#missing = length;
    return at;
  }

  #fail(reason: string): NoiseError {
    return this.#failure ??= new NoiseError(reason);
  }
}

function asNoiseError(error: unknown): NoiseError {
  return error instanceof NoiseError ? error : new NoiseError(String(error), { cause: error });
}
