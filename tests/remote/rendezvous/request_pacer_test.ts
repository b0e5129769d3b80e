import assert from "node:assert/strict";
import { MAX_COUNTED_ADDRESSES } from "../../../src/remote/rendezvous/limits.ts";
import { RequestPacer } from "../../../src/remote/rendezvous/request_pacer.ts";
import { ManualClock } from "../../support/manual_clock.ts";

Deno.test("RequestPacer lets a burst pass, delays requests above the rate, and refuses those that would come too late", () => {
  const clock = new ManualClock();
  const pacer = new RequestPacer(clock, 10);
  const delays = Array.from({ length: 300 }, () => pacer.delayMs("a"));
  assert.deepEqual(new Set(delays.slice(0, 200)), new Set([0]));
  assert.deepEqual(delays.slice(200, 203), [100, 200, 300]);
  assert.equal(delays[279], 8000);
  assert.equal(delays[280], null);
  assert.equal(pacer.delayMs("b"), 0, "another address is not slowed down");
  clock.advance(28_000);
  assert.equal(pacer.delayMs("a"), 0);
});

Deno.test("RequestPacer remembers a bounded number of addresses, and forgets those that have not asked lately", () => {
  const clock = new ManualClock();
  const pacer = new RequestPacer(clock, 1);
  for (let i = 0; i < 30_000; i++) pacer.delayMs(`address-${i}`);
  assert.equal(pacer.size, MAX_COUNTED_ADDRESSES);
  // One that goes on asking is not forgotten for others.
  for (let i = 0; i < 201; i++) pacer.delayMs("busy");
  for (let i = 0; i < 9_000; i++) pacer.delayMs(`another-${i}`);
  assert.equal(pacer.delayMs("busy"), 2000);
  clock.advance(300_000);
  pacer.delayMs("the next one");
  assert.equal(pacer.size, 1);
});
