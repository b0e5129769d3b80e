/**
 * Bounds how much of one stream is under way: sent, and not yet acknowledged by the rendezvous.
 *
 * All streams share a websocket, so a stream whose client does not read has to wait here, where it delays nobody else.
 * Only bytes of payloads count, on both sides.
 */

import type { Clock } from "../../clock.ts";

/** How long data that was sent before the end of a stream may wait for its client: as long as on a websocket. */
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
  /** Records that are not acknowledged, in order. */
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
   * Takes room for these records. Returns a promise if there is no room yet, which rejects if the stream ends first.
   * One call at a time. If nothing else is under way, there is room even for more than the window.
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

  /** The stream is ending: what waits has little time left. */
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
