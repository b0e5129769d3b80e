/**
 * Calls that may wait for a device, a few at a time.
 *
 * They run on the runtime's pool of threads, which everything else shares. However many requests want a device that does
 * not answer, most of the pool stays free; the requests wait here, in order.
 */

import { MAX_BLOCKING_CALLS } from "./limits.ts";
import { Places } from "./places.ts";

export class BlockingLane {
  readonly #places: Places;

  constructor(maxCalls: number = MAX_BLOCKING_CALLS) {
    this.#places = new Places(maxCalls);
  }

  async run<Value>(call: () => Promise<Value>): Promise<Value> {
    const leave = await this.#places.take();
    try {
      return await call();
    } finally {
      leave();
    }
  }
}
