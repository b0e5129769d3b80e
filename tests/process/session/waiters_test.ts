import assert from "node:assert/strict";
import { Waiters } from "../../../src/process/session/waiters.ts";
import { settled } from "../../support/fake_backend.ts";
import { ManualClock } from "../../support/manual_clock.ts";

function setUp() {
  const clock = new ManualClock();
  return { clock, waiters: new Waiters(clock) };
}

Deno.test("Waiters.until() is true at once when the condition holds", async () => {
  const { clock, waiters } = setUp();
  assert.equal(await waiters.until(() => true, { timeoutMs: 5 }), true);
  assert.equal(clock.pending, 0);
});

Deno.test("Waiters.until() is false at once without time to wait", async () => {
  assert.equal(await setUp().waiters.until(() => false, { timeoutMs: 0 }), false);
});

Deno.test("Waiters.until() ends with the change that makes it true, and leaves no timer", async () => {
  const { clock, waiters } = setUp();
  let value = 0;
  const wait = waiters.until(() => value > 1, { timeoutMs: 1000 });
  let isOver = false;
  wait.then(() => isOver = true);
  value = 1;
  waiters.notify();
  await settled();
  assert.equal(isOver, false);
  value = 2;
  waiters.notify();
  assert.equal(await wait, true);
  assert.equal(clock.pending, 0);
});

Deno.test("Waiters.until() is false at its deadline", async () => {
  const { clock, waiters } = setUp();
  const wait = waiters.until(() => false, { timeoutMs: 1000 });
  clock.advance(999);
  assert.equal(clock.pending, 1);
  clock.advance(1);
  assert.equal(await wait, false);
});

Deno.test("Waiters.until() ends with the reason when the caller goes away, and leaves no timer", async () => {
  const { clock, waiters } = setUp();
  const controller = new AbortController();
  const wait = waiters.until(() => false, { timeoutMs: 1000, signal: controller.signal });
  controller.abort(new Error("connection is gone"));
  await assert.rejects(wait, /connection is gone/);
  assert.equal(clock.pending, 0);
  await assert.rejects(waiters.until(() => true, { timeoutMs: 0, signal: controller.signal }), /connection is gone/);
});
