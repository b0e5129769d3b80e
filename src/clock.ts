/** Time as a dependency: code that waits uses a clock it was given, so that tests move time instead of sleeping. */

export interface Clock {
  /** Milliseconds on a clock that never goes back. Only differences have a meaning. */
  now(): number;
  /** Calls `fire` once after `delayMs`. The returned function cancels; cancelling late or twice does nothing. */
  setTimer(delayMs: number, fire: () => void): () => void;
}

/** The longest delay a runtime timer takes, some 24 days; anything above would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(delayMs, fire) {
    let remainingMs = delayMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const arm = (): void => {
      const stepMs = Math.min(remainingMs, MAX_TIMER_MS);
      remainingMs -= stepMs;
      timer = setTimeout(remainingMs > 0 ? arm : fire, stepMs);
    };
    arm();
    return () => clearTimeout(timer);
  },
};
