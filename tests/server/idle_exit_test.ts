import assert from "node:assert/strict";
import { IdleExit } from "../../src/server/idle_exit.ts";
import { ManualClock } from "../support/manual_clock.ts";

function setUp() {
  const clock = new ManualClock();
  const state = { isBusy: false, ends: 0 };
  const idle = new IdleExit({ clock, idleMs: 800, isBusy: () => state.isBusy, onIdle: () => state.ends++ });
  idle.begin();
  return { clock, state, idle };
}

Deno.test("IdleExit ends a server that was never used, once", () => {
  const { clock, state } = setUp();
  clock.advance(799);
  assert.equal(state.ends, 0);
  clock.advance(1);
  assert.equal(state.ends, 1);
  clock.advance(10_000);
  assert.deepEqual([state.ends, clock.pending], [1, 0]);
});

Deno.test("IdleExit counts from the end of the last use on", () => {
  const { clock, state, idle } = setUp();
  clock.advance(500);
  idle.noteUse();
  clock.advance(799);
  assert.equal(state.ends, 0);
  clock.advance(1);
  assert.equal(state.ends, 1);
});

Deno.test("IdleExit leaves a server alone for as long as something runs, and ends it soon after", () => {
  const { clock, state } = setUp();
  state.isBusy = true;
  clock.advance(100_000);
  assert.equal(state.ends, 0);
  state.isBusy = false;
  clock.advance(699);
  assert.equal(state.ends, 0, "an eighth too early at most");
  clock.advance(101);
  assert.equal(state.ends, 1);
});

Deno.test("IdleExit.close() stops looking", () => {
  const { clock, state, idle } = setUp();
  idle.close();
  clock.advance(10_000);
  assert.deepEqual([state.ends, clock.pending], [0, 0]);
});
