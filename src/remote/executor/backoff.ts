/**
 * How long to wait before the next attempt: twice as long each time, up to a bound, and shortened at random, so that
 * executors do not come in step. The bound is short while clients may be coming back.
 */

/** The longest first wait: most losses are over at once. */
const FIRST_MS = 500;
/** Clients of the reference give up after 25 s. */
const MAX_WITH_SESSIONS_MS = 5_000;
const MAX_MS = 30_000;

export interface BackoffOptions {
  /** Whether clients may be coming back to a session. */
  readonly hasSessions: () => boolean;
  /** Returns a number from 0 up to 1. */
  readonly random?: () => number;
}

export class Backoff {
  readonly #hasSessions: () => boolean;
  readonly #random: () => number;
  #failures = 0;

  constructor({ hasSessions, random = Math.random }: BackoffOptions) {
    this.#hasSessions = hasSessions;
    this.#random = random;
  }

  /** Milliseconds until the next attempt. */
  next(): number {
    const bound = this.#hasSessions() ? MAX_WITH_SESSIONS_MS : MAX_MS;
    const wait = Math.min(FIRST_MS * 2 ** this.#failures, bound);
    if (wait < MAX_MS) this.#failures++;
    return wait * (0.5 + this.#random() / 2);
  }

  /** The last attempt was successful. */
  reset(): void {
    this.#failures = 0;
  }
}
