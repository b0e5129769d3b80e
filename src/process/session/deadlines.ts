/**
 * The two deadlines a process may be given: for its whole run, and for the time between two pieces of output.
 *
 * Calls back once, at whichever comes first. Noting output costs one clock reading, not a timer.
 */

import type { Clock } from "../../clock.ts";

export interface DeadlineOptions {
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
}

export interface DeadlineHooks {
  onExpired(): void;
  /** We hold up the output, not the process: its silence does not count. */
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
    // A copy: the given object may hold more, such as a child's whole environment, which would live as long as this.
    this.#options = { timeoutMs: options.timeoutMs, idleTimeoutMs: options.idleTimeoutMs };
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
