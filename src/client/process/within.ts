/** Waiting with a limit: a deadline or a signal ends the waiting, but not the work. */

import { systemClock } from "../../clock.ts";
import { abortedBy, TimedOutError } from "../errors.ts";

/** When to give up, and the words for the error. */
export interface WithinOptions {
  readonly timeoutMs: number | null;
  readonly signal?: AbortSignal | undefined;
  /** What is waited for, for the message of the error. */
  readonly what: string;
}

/** Rejects with `TimedOutError` or `AbortedError` when it takes too long. */
export async function within<Value>(promise: Promise<Value>, options: WithinOptions): Promise<Value> {
  const { timeoutMs, signal, what } = options;
  if (timeoutMs === null && signal === undefined) return await promise;
  if (signal?.aborted) {
    promise.catch(() => {}); // Its result is not used any more.
    throw abortedBy(signal, what);
  }
  let cancelTimer = () => {};
  let abort = () => {};
  const given = new Promise<never>((_, reject) => {
    if (timeoutMs !== null) {
      // A timer of the runtime fires at once when it is set to more than 24 days.
      cancelTimer = systemClock.setTimer(timeoutMs, () => {
        reject(new TimedOutError(`${what}: not within ${timeoutMs} ms`));
      });
    }
    abort = () => reject(abortedBy(signal!, what));
    signal?.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([promise, given]);
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", abort);
  }
}
