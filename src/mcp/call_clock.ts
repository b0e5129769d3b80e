/**
 * The time that one command has left. It stands still while at least one prompt is open, so that nobody has to hurry
 * with an answer. Then it continues with what was left. When the time is over, `onExpired` is called once.
 */

import type { Clock } from "../clock.ts";

export class CallClock {
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #onExpired: () => void;
  #leftMs: number;
  #runningSinceMs: number | null = null;
  #pauses = 0;
  #cancel: (() => void) | null = null;
  #isEnded = false;

  /** Runs from now on. */
  constructor(clock: Clock, timeoutMs: number, onExpired: () => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#leftMs = timeoutMs;
    this.#startedAtMs = clock.now();
    this.#go();
  }

  /** Since the start, including the time that stood still. */
  get elapsedMs(): number {
    return this.#clock.now() - this.#startedAtMs;
  }

  /** Stands still until each `pause` was followed by a `resume`. */
  pause(): void {
    if (this.#pauses++ > 0 || this.#runningSinceMs === null) return;
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.now() - this.#runningSinceMs));
    this.#runningSinceMs = null;
    this.#cancel?.();
    this.#cancel = null;
  }

  resume(): void {
    if (--this.#pauses === 0 && !this.#isEnded) this.#go();
  }

  /** From now on `onExpired` is not called. */
  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  #go(): void {
    this.#runningSinceMs = this.#clock.now();
    this.#cancel = this.#clock.setTimer(this.#leftMs, () => {
      this.#isEnded = true;
      this.#onExpired();
    });
  }
}
