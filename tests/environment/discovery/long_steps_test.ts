import assert from "node:assert/strict";
import { LongSteps, TURNS_FOR_OTHERS } from "../../../src/environment/discovery/long_steps.ts";
import { Pacer } from "../../../src/os/loop/pacer.ts";

/** A request whose time is over. */
const paceOf = (pacer: Pacer) => ({ isOver: true, rest: () => pacer.turn() });

Deno.test("LongSteps lets others have turns between any two steps, however many wait", async () => {
  const pacer = new Pacer();
  const steps = new LongSteps();
  let done = 0;
  const all = Array.from({ length: 16 }, () => steps.run(paceOf(pacer), false, () => ++done));
  for (let step = 1; step <= 16; step++) {
    await all[step - 1];
    for (let turn = 1; turn < TURNS_FOR_OTHERS; turn++) await pacer.turn();
    assert.equal(done, step);
  }
});

Deno.test("LongSteps begins no step before the last one has ended, and none is lost when one fails", async () => {
  const pacer = new Pacer();
  const steps = new LongSteps();
  const log: string[] = [];
  const slow = steps.run(paceOf(pacer), false, async () => {
    log.push("begins");
    for (let turn = 0; turn < 10; turn++) await pacer.turn();
    log.push("ends");
  });
  const failing = steps.run(paceOf(pacer), false, () => {
    log.push("fails");
    throw new Error("no");
  });
  const gone = steps.run(
    { isOver: true, rest: () => Promise.reject(new Error("gone")) },
    false,
    () => log.push("gone"),
  );
  const last = steps.run(paceOf(pacer), false, () => log.push("last"));
  await Promise.all([slow, assert.rejects(failing, /no/), assert.rejects(gone, /gone/), last]);
  assert.deepEqual(log, ["begins", "ends", "fails", "last"]);
});

Deno.test("LongSteps does a short step without queueing, and rests before it when its request's time is over", async () => {
  const steps = new LongSteps();
  const release = Promise.withResolvers<void>();
  let rests = 0;
  const pace = (isOver: boolean) => ({
    isOver,
    rest: () => {
      rests++;
      return Promise.resolve();
    },
  });
  const long = steps.run(pace(false), false, () => release.promise);
  assert.equal(await steps.run(pace(true), true, () => 1), 1);
  assert.equal(await steps.run(pace(false), true, () => 2), 2);
  assert.equal(await steps.run(undefined, false, () => 3), 3);
  assert.equal(rests, TURNS_FOR_OTHERS + 1);
  release.resolve();
  await long;
});
