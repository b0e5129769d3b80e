/** A client that shows that it is there when the test says so. */

import type { Clock } from "../../src/clock.ts";
import type { Audience } from "../../src/process/session/audience.ts";

export class FakeAudience implements Audience {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  heardAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.heardAtMs = clock.now();
  }

  /** How many wait for its next word. */
  get questions(): number {
    return this.#listeners.size;
  }

  ask(onHeard: () => void): () => void {
    this.#listeners.add(onHeard);
    return () => this.#listeners.delete(onHeard);
  }

  say(): void {
    this.heardAtMs = this.#clock.now();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const onHeard of listeners) onHeard();
  }
}
