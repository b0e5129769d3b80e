/**
 * Returns memory to the system once a load is over.
 *
 * Buffers of a hundred connections come and go in the C library's heap. Free memory there stays with the program as
 * long as the last block of that heap is in use: after ten minutes of load that was most of a gigabyte. So while
 * something happens, and a few times after it, the keeper looks at the memory in use, and returns the free part if it
 * is large. An idle server has no timer and is not checked.
 *
 * Buffers are free only once the collector has found that nobody uses them, and without work it may not look for
 * minutes. So it is told to, once, when the server has been idle for a whole interval.
 */

import type { Clock } from "../clock.ts";

export interface MemoryKeeperOptions {
  readonly clock: Clock;
  /** Resident bytes of this program. */
  resident(): number;
  /** Collects garbage now, which holds up everything for some tens of milliseconds. */
  collect(): void;
  giveBack(): Promise<void>;
}

/** Often enough that memory is returned within half a minute of rest: the collector takes a part of that time. */
const INTERVAL_MS = 10_000;

/** A server that has done next to nothing has some 70 MB; returning memory then would only mean fetching it again. */
const WORTHWHILE_BYTES = 128 * 1024 * 1024;

/** How often to look after the last activity: the collector frees buffers only after a while. */
const LOOKS_AFTER_ACTIVITY = 4;

export class MemoryKeeper {
  readonly #options: MemoryKeeperOptions;
  #looksLeft = 0;
  #cancel: (() => void) | null = null;
  #isClosed = false;

  constructor(options: MemoryKeeperOptions) {
    this.#options = options;
  }

  /** The server received a request. */
  noteActivity(): void {
    this.#looksLeft = LOOKS_AFTER_ACTIVITY;
    if (this.#cancel === null) this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  #schedule(): void {
    if (!this.#isClosed) this.#cancel = this.#options.clock.setTimer(INTERVAL_MS, () => this.#look());
  }

  #look(): void {
    this.#cancel = null;
    const { resident, collect, giveBack } = this.#options;
    if (resident() > WORTHWHILE_BYTES) {
      // The second look after the last activity: nobody has asked for anything since the first.
      if (this.#looksLeft === LOOKS_AFTER_ACTIVITY - 1) collect();
      // Fails only where it is not possible at all.
      giveBack().catch(() => {});
    }
    if (--this.#looksLeft > 0) this.#schedule();
  }
}

/** The runtime's collector, where it was started with `--expose-gc`. Elsewhere it keeps its own time. */
export function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
