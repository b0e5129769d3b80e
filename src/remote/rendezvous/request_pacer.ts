/**
 * Limits the requests of each address: above the rate, answers are delayed. Requests are refused only if the delay
 * would be too long.
 *
 * A leaky bucket for each address. Addresses whose bucket is empty again are forgotten.
 */

import type { Clock } from "../../clock.ts";
import { MAX_COUNTED_ADDRESSES, MAX_PUT_OFF_MS, REQUEST_BURST } from "./limits.ts";

export class RequestPacer {
  readonly #clock: Clock;
  readonly #msPerRequest: number;
  /** When the bucket of each address will be empty, in the clock's milliseconds. The latest request is last. */
  readonly #emptyAtMs = new Map<string, number>();

  constructor(clock: Clock, requestsPerSecond: number) {
    this.#clock = clock;
    this.#msPerRequest = 1000 / requestsPerSecond;
  }

  /** By how long to delay the answer to a request of this address; null: refuse it. */
  delayMs(address: string): number | null {
    const now = this.#clock.now();
    const emptyAtMs = Math.max(now, this.#emptyAtMs.get(address) ?? now) + this.#msPerRequest;
    const delayMs = Math.max(0, emptyAtMs - now - REQUEST_BURST * this.#msPerRequest);
    if (delayMs > MAX_PUT_OFF_MS) return null;
    this.#emptyAtMs.delete(address);
    this.#emptyAtMs.set(address, emptyAtMs);
    this.#forget(now);
    return delayMs;
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#emptyAtMs.size;
  }

  /**
   * Forgets addresses that are idle, from the front. If there are still too many, forgets the one whose last request is
   * the oldest.
   */
  #forget(now: number): void {
    for (const [address, emptyAtMs] of this.#emptyAtMs) {
      if (emptyAtMs > now && this.#emptyAtMs.size <= MAX_COUNTED_ADDRESSES) return;
      this.#emptyAtMs.delete(address);
    }
  }
}
