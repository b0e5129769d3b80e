/** Waiting for what raises no event, such as the end of a process that is not ours: looked at again, up to a limit. */

import assert from "node:assert/strict";

const LOOK_INTERVAL_MS = 10;
/** Far longer than anything waited for takes on a busy machine. */
const DEFAULT_LIMIT_MS = 60_000;

/** Resolves once this holds; fails with the description when the limit has passed. */
export async function until(
  holds: () => boolean,
  describeFailure: () => string,
  limitMs: number = DEFAULT_LIMIT_MS,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `not within ${limitMs} ms: ${describeFailure()}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
  }
}
