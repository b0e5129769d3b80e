/**
 * Notices a peer that has vanished. If nothing has come for a while, it asks for something. If still nothing comes, the
 * connection is given up. Nothing is asked on a busy connection.
 */

import { systemClock } from "../../clock.ts";

/** When to ask, and how long to wait. */
export interface HeartbeatOptions {
  /** How long the peer may be silent before it is asked for a sign of life. */
  readonly intervalMs: number;
  /** How long the peer may take to answer. */
  readonly timeoutMs: number;
  /** Asks. */
  ask(): void;
  /** The peer was silent for too long. Called once. */
  onSilent(silentMs: number): void;
}

/** The heartbeat of one connection. */
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
