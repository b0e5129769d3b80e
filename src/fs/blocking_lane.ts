/**
 * Calls that may wait for a device, a few at a time.
 *
 * They run on the runtime's pool of threads, which everything else shares. However many requests want a device that does
 * not answer, most of the pool stays free; the requests wait here, in order.
 */

import { MAX_BLOCKING_CALLS } from "./limits.ts";

export class BlockingLane {
  readonly #maxCalls: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxCalls: number = MAX_BLOCKING_CALLS) {
    this.#maxCalls = maxCalls;
  }

  async run<Value>(call: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#maxCalls) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve)); // The place is handed over, not freed.
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
