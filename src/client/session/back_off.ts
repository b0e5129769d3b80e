/**
 * How long to wait before connecting again. The first attempt is made at once. Later waits double and are shortened at
 * random, so that many clients of one server do not come back at the same moments.
 */

/** The bounds of the waits. */
export interface BackOffOptions {
  /** The longest first wait. */
  readonly firstMs?: number | undefined;
  /** The longest wait of all. */
  readonly maxMs?: number | undefined;
}

const DEFAULT_FIRST_MS = 100;
const DEFAULT_MAX_MS = 5_000;

/** The wait before an attempt, counted from 1. */
export function backOffMs(attempt: number, options: BackOffOptions = {}, random: () => number = Math.random): number {
  if (attempt <= 1) return 0;
  const { firstMs = DEFAULT_FIRST_MS, maxMs = DEFAULT_MAX_MS } = options;
  const longest = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 2, 30));
  // At least half of it: without a wait, connecting to a server that is down would be a busy loop.
  return Math.round(longest * (0.5 + random() / 2));
}

/** Waits; the signal ends the waiting early. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
