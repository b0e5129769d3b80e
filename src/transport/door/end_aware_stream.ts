/**
 * A stream that can be watched for its end while nobody reads it: for peers that wait for an answer.
 *
 * Watching reads one piece ahead. That piece is what the next `read` returns, so nothing is lost; a peer that sends
 * more than the piece while it waits is not seen to end until somebody reads on.
 */

import type { Endpoints } from "../../os/loop/socket_owner.ts";
import type { AcceptedStream } from "../listen/stream_source.ts";

/** The piece can be small: a client that waits for the answer to its upgrade sends nothing. */
const AHEAD_BYTES = 1024;

export class EndAwareStream implements AcceptedStream {
  readonly #stream: AcceptedStream;
  readonly #buffer = new Uint8Array(AHEAD_BYTES);
  /** The read ahead; null once its result was handed out. */
  #ahead: Promise<number | null> | null;
  #handedOut = 0;

  constructor(stream: AcceptedStream) {
    this.#stream = stream;
    this.#ahead = stream.read(this.#buffer);
    // The next read reports the failure.
    this.#ahead.catch(() => {});
  }

  /** Resolves when the peer has closed its side or the connection has failed. Never rejects. */
  async whenGone(): Promise<void> {
    const read = await (this.#ahead ?? Promise.resolve(0)).catch(() => null);
    if (read !== null) await new Promise<never>(() => {});
  }

  async read(into: Uint8Array): Promise<number | null> {
    if (this.#ahead === null) return await this.#stream.read(into);
    const read = await this.#ahead;
    if (read === null) return null;
    const count = Math.min(into.length, read - this.#handedOut);
    into.set(this.#buffer.subarray(this.#handedOut, this.#handedOut + count));
    this.#handedOut += count;
    if (this.#handedOut === read) this.#ahead = null;
    return count;
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#stream.write(bytes);
  }

  writeNow(bytes: Uint8Array): number {
    return this.#stream.writeNow?.(bytes) ?? 0;
  }

  unacknowledgedBytes(): number {
    return this.#stream.unacknowledgedBytes?.() ?? 0;
  }

  arrivedBytes(): number | undefined {
    return this.#stream.arrivedBytes?.();
  }

  sentBytes(): number | undefined {
    return this.#stream.sentBytes?.();
  }

  confirmArrival(): void {
    this.#stream.confirmArrival?.();
  }

  closeWrite(): Promise<void> {
    return this.#stream.closeWrite();
  }

  close(): void {
    this.#stream.close();
  }

  describePeer(): string {
    return this.#stream.describePeer();
  }

  endpoints(): Endpoints | null {
    return this.#stream.endpoints();
  }
}
