/**
 * How long to wait before connecting again: the first attempt comes at once, later ones after a time that doubles and is
 * shortened at random, so that many clients of one server do not come back in step.
 */

/** What the waits are made of. */
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
  // At least half of it: a wait of nothing would make of a server that is down a busy loop.
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
