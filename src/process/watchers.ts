/**
 * Callers that wait until something is true of a process: long polls and waits.
 *
 * A condition is looked at again after every change, and costs nothing while nobody waits. Each wait ends exactly once:
 * when it is met, at its deadline, when the caller goes away, or when the process turns out not to exist.
 */

import type { Clock } from "../clock.ts";

export interface WatchOptions {
  /** Null waits as long as it takes. */
  readonly timeoutMs: number | null;
  /** Ends the wait with the signal's reason, for a caller whose connection is gone. */
  readonly signal?: AbortSignal | undefined;
}

interface Watch {
  readonly isMet: () => boolean;
  readonly settle: (outcome: { met: boolean } | { error: unknown }) => void;
}

export class Watchers {
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed. */
  notify(): void {
    if (this.#watches.size === 0) return;
    for (const watch of this.#watches) if (watch.isMet()) watch.settle({ met: true });
  }

  /** True once the condition holds, false at the deadline. */
  until(isMet: () => boolean, options: WatchOptions): Promise<boolean> {
    const { timeoutMs, signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (isMet()) return Promise.resolve(true);
    if (timeoutMs === 0) return Promise.resolve(false);

    return new Promise((resolve, reject) => {
      const onAbort = (): void => watch.settle({ error: signal?.reason });
      const watch: Watch = {
        isMet,
        settle: (outcome) => {
          this.#watches.delete(watch);
          cancelTimer?.();
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.met);
        },
      };
      const cancelTimer = timeoutMs === null
        ? null
        : this.#clock.setTimer(timeoutMs, () => watch.settle({ met: false }));
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#watches.add(watch);
    });
  }

  /** Ends every wait with an error. */
  fail(error: unknown): void {
    for (const watch of this.#watches) watch.settle({ error });
  }
}
