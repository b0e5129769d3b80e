/**
 * The two deadlines a process may be given: for its whole run, and for the time between two pieces of output.
 *
 * Calls back once, at whichever comes first. Noting output costs one clock reading, not a timer.
 */

import type { Clock } from "../clock.ts";

export interface DeadlineOptions {
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
}

export interface DeadlineHooks {
  onExpired(): void;
  /** Output is held up by us, not by the process: its silence is not its own. */
  isHeldUp(): boolean;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #options: DeadlineOptions;
  readonly #hooks: DeadlineHooks;
  #lastOutputAtMs = 0;
  #cancelTimeout: (() => void) | null = null;
  #cancelIdle: (() => void) | null = null;

  constructor(clock: Clock, options: DeadlineOptions, hooks: DeadlineHooks) {
    this.#clock = clock;
    this.#options = options;
    this.#hooks = hooks;
  }

  start(): void {
    const { timeoutMs, idleTimeoutMs } = this.#options;
    if (timeoutMs !== null) this.#cancelTimeout = this.#clock.setTimer(timeoutMs, () => this.#expire());
    if (idleTimeoutMs !== null) {
      this.#lastOutputAtMs = this.#clock.now();
      this.#watchSilence(idleTimeoutMs, idleTimeoutMs);
    }
  }

  noteOutput(): void {
    if (this.#options.idleTimeoutMs !== null) this.#lastOutputAtMs = this.#clock.now();
  }

  cancel(): void {
    this.#cancelTimeout?.();
    this.#cancelIdle?.();
  }

  #watchSilence(idleTimeoutMs: number, delayMs: number): void {
    this.#cancelIdle = this.#clock.setTimer(delayMs, () => {
      if (this.#hooks.isHeldUp()) this.#lastOutputAtMs = this.#clock.now();
      const remainingMs = this.#lastOutputAtMs + idleTimeoutMs - this.#clock.now();
      if (remainingMs > 0) this.#watchSilence(idleTimeoutMs, remainingMs);
      else this.#expire();
    });
  }

  #expire(): void {
    this.cancel();
    this.#hooks.onExpired();
  }
}
