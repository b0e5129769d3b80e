/**
 * Bounds how long the end of a server may take, and knows what it still waits for when the time is over.
 *
 * A wait that never ends, because of a fault of ours or a disk that does not answer, must not keep a program that was
 * told to end.
 */

import type { Clock } from "../clock.ts";

export class BoundedEnding {
  readonly #clock: Clock;
  readonly #waits = new Set<string>();
  readonly #timeOver = Promise.withResolvers<"timeOver">();
  #deadlineMs = Infinity;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It must be over this long from now. Another call can only make it sooner. */
  limit(ms: number): void {
    const deadlineMs = this.#clock.now() + ms;
    if (this.#isOver || deadlineMs >= this.#deadlineMs) return;
    this.#deadlineMs = deadlineMs;
    this.#cancel();
    this.#cancel = this.#clock.setTimer(ms, () => this.#timeOver.resolve("timeOver"));
  }

  /** Waits for something under its name. */
  async wait<Value>(name: string, promise: Promise<Value>): Promise<Value> {
    this.#waits.add(name);
    try {
      return await promise;
    } finally {
      this.#waits.delete(name);
    }
  }

  /** Resolves with null when `ending` has; or, when the time is over, with the names of what is still waited for. */
  async run(ending: Promise<void>): Promise<string[] | null> {
    try {
      return await Promise.race([ending, this.#timeOver.promise]) === "timeOver" ? [...this.#waits] : null;
    } finally {
      this.#isOver = true;
      this.#cancel();
    }
  }
}
