/**
 * Ends a server that nobody has used for a while: no connection, no session that waits for its client, and no process
 * that outlived its session and still runs.
 *
 * The end of a connection is noted when it happens. For the rest somebody has to look: often enough that the end comes at
 * most an eighth of the time too early.
 */

import type { Clock } from "../clock.ts";

export interface IdleExitOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  isBusy(): boolean;
  /** Called once. */
  onIdle(): void;
}

const LOOKS_PER_WAIT = 8;
/** There is a look every minute at least, however long the wait is: a look costs next to nothing. */
const MAX_LOOK_MS = 60_000;

export class IdleExit {
  readonly #options: IdleExitOptions;
  #busyAtMs = 0;
  #cancelLook: () => void = () => {};

  constructor(options: IdleExitOptions) {
    this.#options = options;
  }

  begin(): void {
    this.noteUse();
    this.#look();
  }

  /** The server was in use until now. */
  noteUse(): void {
    this.#busyAtMs = this.#options.clock.now();
  }

  close(): void {
    this.#cancelLook();
  }

  #look(): void {
    const { clock, idleMs, isBusy, onIdle } = this.#options;
    const isUsed = isBusy();
    if (isUsed) this.noteUse();
    const remainingMs = this.#busyAtMs + idleMs - clock.now();
    if (remainingMs <= 0) return onIdle();
    const delayMs = isUsed ? Math.min(idleMs / LOOKS_PER_WAIT, MAX_LOOK_MS) : remainingMs;
    this.#cancelLook = clock.setTimer(delayMs, () => this.#look());
  }
}
