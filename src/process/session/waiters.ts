/**
 * Callers that wait until something is true of a process: long polls and waits.
 *
 * A condition is looked at again after every change, and costs nothing while nobody waits. Each wait ends exactly once:
 * when it is met, at its deadline, or when the caller goes away.
 */

import type { Clock } from "../../clock.ts";

export interface UntilOptions {
  /** Null waits as long as it takes. */
  readonly timeoutMs: number | null;
  /** Ends the wait with the signal's reason, for a caller whose connection is gone. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  readonly isMet: () => boolean;
  readonly settle: (outcome: { met: boolean } | { error: unknown }) => void;
}

export class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed. */
  notify(): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.isMet()) waiter.settle({ met: true });
  }

  /** True once the condition holds, false at the deadline. */
  until(isMet: () => boolean, options: UntilOptions): Promise<boolean> {
    const { timeoutMs, signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (isMet()) return Promise.resolve(true);
    if (timeoutMs === 0) return Promise.resolve(false);

    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.settle({ error: signal?.reason });
      const waiter: Waiter = {
        isMet,
        settle: (outcome) => {
          this.#waiters.delete(waiter);
          cancelTimer?.();
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.met);
        },
      };
      const cancelTimer = timeoutMs === null
        ? null
        : this.#clock.setTimer(timeoutMs, () => waiter.settle({ met: false }));
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }
}
