/**
 * How much of one stream may be on its way: what was sent and not yet acknowledged by the rendezvous.
 *
 * All streams share a websocket, so a stream whose client does not read has to wait here, where it holds up nobody else.
 * Bytes are those of payloads, as both sides count them.
 */

import type { Clock } from "../../clock.ts";

/** How long what was sent before the end of a stream may wait for its client: as long as on a websocket. */
const LINGER_MS = 1000;

export interface SendWindowOptions {
  readonly bytes: number;
  readonly clock: Clock;
}

/** A record that was sent. */
export interface SentRecord {
  readonly seq: number;
  readonly bytes: number;
}

export class SendWindow {
  readonly #bytes: number;
  readonly #clock: Clock;
  /** Not acknowledged, in order. */
  #pending: SentRecord[] = [];
  #pendingBytes = 0;
  #isOver = false;
  #wake: () => void = () => {};
  #cancelLinger: () => void = () => {};

  constructor({ bytes, clock }: SendWindowOptions) {
    this.#bytes = bytes;
    this.#clock = clock;
  }

  /**
   * Takes the place of these records. A promise: there is no room yet; it rejects when the stream ends before there is.
   * One call at a time. More than the whole window has room when nothing else is on its way.
   */
  take(records: readonly SentRecord[]): void | Promise<void> {
    const bytes = records.reduce((sum, record) => sum + record.bytes, 0);
    if (this.#hasRoom(bytes)) return this.#add(records, bytes);
    return this.#takeLater(records, bytes);
  }

  /** The rendezvous has passed on everything up to this record. */
  acknowledge(seq: number): void {
    const count = this.#pending.findIndex((record) => record.seq > seq);
    const taken = this.#pending.splice(0, count < 0 ? this.#pending.length : count);
    for (const { bytes } of taken) this.#pendingBytes -= bytes;
    this.#wake();
  }

  /** The stream is being ended: what waits has a moment left. */
  finish(): void {
    if (!this.#isOver) this.#cancelLinger = this.#clock.setTimer(LINGER_MS, () => this.end());
  }

  /** The stream is over: nobody waits any more. */
  end(): void {
    this.#isOver = true;
    this.#cancelLinger();
    this.#wake();
  }

  #hasRoom(bytes: number): boolean {
    return this.#pendingBytes === 0 || this.#pendingBytes + bytes <= this.#bytes;
  }

  async #takeLater(records: readonly SentRecord[], bytes: number): Promise<void> {
    while (!this.#hasRoom(bytes)) {
      if (this.#isOver) throw new Error("connection is closed");
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    this.#add(records, bytes);
  }

  #add(records: readonly SentRecord[], bytes: number): void {
    this.#pending.push(...records);
    this.#pendingBytes += bytes;
  }
}
