import assert from "node:assert/strict";
import type { LingerOutcome } from "../../../src/os/loop/linger_place.ts";
import {
  CALM_EVENTS,
  LINGER_US,
  LingerPolicy,
  MAX_AWAKE_US,
  MAX_CROWDED_REST_MS,
  MAX_LINGERING_MS,
  MIN_CROWDED_REST_MS,
  SOON_MS,
} from "../../../src/os/loop/linger_policy.ts";

const AWAKE: LingerOutcome = { found: "ours", wasAwake: true, isCrowded: false };
const ASLEEP: LingerOutcome = { found: "ours", wasAwake: false, isCrowded: false };
const VAIN: LingerOutcome = { found: "nothing", wasAwake: false, isCrowded: false };
const RUNTIME: LingerOutcome = { found: "runtime", wasAwake: false, isCrowded: false };
const CROWDED: LingerOutcome = { found: "nothing", wasAwake: false, isCrowded: true };

/** A policy and a wait that goes on at this time and ends like this. */
function setUp() {
  const policy = new LingerPolicy(0);
  return { policy, wait: (outcome: LingerOutcome, nowMs = 1) => policy.lingered(policy.span(nowMs), outcome, nowMs) };
}

Deno.test("LingerPolicy keeps the processor awake at first, and sleeps for the rest of the time", () => {
  const { policy } = setUp();
  assert.deepEqual(policy.span(1), { awakeUs: MAX_AWAKE_US, asleepUs: LINGER_US - MAX_AWAKE_US });
});

Deno.test("LingerPolicy halves the time awake whenever it was in vain, down to none, and forgets that at once", () => {
  const { policy, wait } = setUp();
  const awake: number[] = [];
  for (let round = 0; round < 6; round++) {
    awake.push(policy.span(1).awakeUs);
    assert.equal(wait(VAIN), false);
  }
  assert.deepEqual(awake, [100, 50, 25, 12, 6, 0]);
  assert.deepEqual(policy.span(1), { awakeUs: 0, asleepUs: LINGER_US });
  // Asleep: found, but no reason to stay awake.
  assert.equal(wait(ASLEEP), true);
  assert.equal(policy.span(1).awakeUs, 0);
  assert.equal(wait(AWAKE), true);
  assert.equal(policy.span(1).awakeUs, MAX_AWAKE_US);
});

Deno.test("LingerPolicy stays awake again when things come soon after each other", () => {
  const { policy, wait } = setUp();
  const sleepy = () => {
    for (let round = 0; round < 6; round++) wait(VAIN);
    assert.equal(policy.span(1).awakeUs, 0);
  };
  sleepy();
  policy.delivered(10);
  policy.delivers(10 + SOON_MS);
  assert.equal(policy.span(11).awakeUs, 0);
  policy.delivers(10 + SOON_MS / 2);
  assert.equal(policy.span(11).awakeUs, MAX_AWAKE_US);
});

Deno.test("LingerPolicy leaves the processor to others for ever longer, until it has had it for a while", () => {
  const { policy, wait } = setUp();
  let nowMs = 0;
  const rests: number[] = [];
  for (let round = 0; round < 7; round++) {
    wait(CROWDED, nowMs);
    let restMs = 0;
    while (policy.span(nowMs + restMs).awakeUs === 0 && restMs < 1000) restMs++;
    rests.push(restMs);
    nowMs += restMs;
    wait(AWAKE, nowMs);
  }
  assert.deepEqual(rests, [2, 4, 8, 16, 32, MAX_CROWDED_REST_MS, MAX_CROWDED_REST_MS]);
  for (let event = 0; event < CALM_EVENTS; event++) wait(AWAKE, nowMs);
  wait(CROWDED, nowMs);
  assert.equal(policy.span(nowMs + MIN_CROWDED_REST_MS - 0.001).awakeUs, 0);
  assert.notEqual(policy.span(nowMs + MIN_CROWDED_REST_MS).awakeUs, 0);
});

Deno.test("LingerPolicy lets the runtime have its turn every few milliseconds", () => {
  const { policy } = setUp();
  assert.equal(policy.mayLinger(MAX_LINGERING_MS - 0.01), true);
  assert.equal(policy.mayLinger(MAX_LINGERING_MS), false);
  policy.waitedElsewhere(50);
  assert.equal(policy.mayLinger(50 + MAX_LINGERING_MS - 0.01), true);
  policy.resume(100);
  assert.equal(policy.mayLinger(101), true);
});

Deno.test("LingerPolicy can be switched off, and counts what came of every wait", () => {
  const { policy, wait } = setUp();
  for (const outcome of [AWAKE, ASLEEP, VAIN, RUNTIME, CROWDED]) wait(outcome);
  policy.waitedElsewhere(1);
  assert.deepEqual(policy.counters, { found: 2, foundAwake: 1, foundRuntime: 1, inVain: 2, crowded: 1, elsewhere: 1 });
  policy.isOn = false;
  assert.equal(policy.mayLinger(1), false);
});
