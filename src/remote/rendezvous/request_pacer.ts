/**
 * How fast one address may ask: above the rate answers are put off, and refused only when they would come too late.
 *
 * A leaky bucket for each address. Addresses whose bucket is empty again are forgotten.
 */

import type { Clock } from "../../clock.ts";
import { MAX_COUNTED_ADDRESSES, MAX_PUT_OFF_MS, REQUEST_BURST } from "./limits.ts";

export class RequestPacer {
  readonly #clock: Clock;
  readonly #msPerRequest: number;
  /** When the bucket of an address will be empty, in the clock's milliseconds. Who asked last stands last. */
  readonly #emptyAtMs = new Map<string, number>();

  constructor(clock: Clock, requestsPerSecond: number) {
    this.#clock = clock;
    this.#msPerRequest = 1000 / requestsPerSecond;
  }

  /** How long the answer to a request of this address is to be put off; null: refuse it. */
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

  /** Addresses that are remembered. */
  get size(): number {
    return this.#emptyAtMs.size;
  }

  /** Forgets from the front who has not asked lately; if too many have, the address whose last request is the oldest. */
  #forget(now: number): void {
    for (const [address, emptyAtMs] of this.#emptyAtMs) {
      if (emptyAtMs > now && this.#emptyAtMs.size <= MAX_COUNTED_ADDRESSES) return;
      this.#emptyAtMs.delete(address);
    }
  }
}
