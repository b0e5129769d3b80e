import assert from "node:assert/strict";
import { systemClock } from "../src/clock.ts";

Deno.test("systemClock fires a timer once, no earlier than asked", async () => {
  const startedAt = systemClock.now();
  await new Promise<void>((resolve) => systemClock.setTimer(20, resolve));
  assert(systemClock.now() - startedAt >= 19);
});

Deno.test("systemClock does not fire at once when the delay is longer than the runtime's timers can be", async () => {
  let hasFired = false;
  const cancel = systemClock.setTimer(2 ** 40, () => hasFired = true);
  await new Promise<void>((resolve) => systemClock.setTimer(5, resolve));
  assert.equal(hasFired, false);
  cancel();
  cancel();
});
