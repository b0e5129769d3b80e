/**
 * Notices a peer that has gone without a word: when nothing has come for a while something is asked, and when still
 * nothing comes the connection is given up. A busy connection is never asked anything.
 */

import { systemClock } from "../../clock.ts";

/** When to ask, and how long to wait. */
export interface HeartbeatOptions {
  /** Silence after which the peer is asked for a sign of life. */
  readonly intervalMs: number;
  /** How long it has for that. */
  readonly timeoutMs: number;
  /** Asks. */
  ask(): void;
  /** The peer was silent for too long. Called once. */
  onSilent(silentMs: number): void;
}

/** Of one connection. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #cancelTimer: () => void = () => {};
  #heardAtMs = performance.now();
  #askedAtMs: number | null = null;

  /** Begins at once. */
  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#schedule(options.intervalMs);
  }

  /** Something has come. Cheap: called for every message. */
  heard(): void {
    this.#heardAtMs = performance.now();
    this.#askedAtMs = null;
  }

  /** The connection has ended. */
  stop(): void {
    this.#cancelTimer();
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = systemClock.setTimer(delayMs, () => this.#look());
  }

  #look(): void {
    const { intervalMs, timeoutMs, ask, onSilent } = this.#options;
    const now = performance.now();
    const silentMs = now - this.#heardAtMs;
    if (this.#askedAtMs !== null) {
      const left = this.#askedAtMs + timeoutMs - now;
      if (left <= 0) onSilent(Math.round(silentMs));
      else this.#schedule(left);
    } else if (silentMs >= intervalMs) {
      this.#askedAtMs = now;
      ask();
      this.#schedule(timeoutMs);
    } else this.#schedule(intervalMs - silentMs);
  }
}
