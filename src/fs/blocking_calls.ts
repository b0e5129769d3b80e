/**
 * Calls that may wait for a device, a few at a time.
 *
 * They run on the runtime's pool of threads, which everything shares. Requests wait here, in order, so that a device
 * that does not answer never takes most of the pool.
 */

import { MAX_BLOCKING_CALLS } from "./limits.ts";
import { Places } from "../launch/places.ts";

export class BlockingCalls {
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
