import assert from "node:assert/strict";
import { Watchers } from "../../src/process/watchers.ts";
import { settled } from "../support/fake_backend.ts";
import { ManualClock } from "../support/manual_clock.ts";

function setUp() {
  const clock = new ManualClock();
  return { clock, watchers: new Watchers(clock) };
}

Deno.test("Watchers.until() is true at once when the condition holds", async () => {
  const { clock, watchers } = setUp();
  assert.equal(await watchers.until(() => true, { timeoutMs: 5 }), true);
  assert.equal(clock.pending, 0);
});

Deno.test("Watchers.until() is false at once without time to wait", async () => {
  assert.equal(await setUp().watchers.until(() => false, { timeoutMs: 0 }), false);
});

Deno.test("Watchers.until() ends with the change that makes it true, and leaves no timer", async () => {
  const { clock, watchers } = setUp();
  let value = 0;
  const watch = watchers.until(() => value > 1, { timeoutMs: 1000 });
  let isOver = false;
  watch.then(() => isOver = true);
  value = 1;
  watchers.notify();
  await settled();
  assert.equal(isOver, false);
  value = 2;
  watchers.notify();
  assert.equal(await watch, true);
  assert.equal(clock.pending, 0);
});

Deno.test("Watchers.until() is false at its deadline", async () => {
  const { clock, watchers } = setUp();
  const watch = watchers.until(() => false, { timeoutMs: 1000 });
  clock.advance(999);
  assert.equal(clock.pending, 1);
  clock.advance(1);
  assert.equal(await watch, false);
});

Deno.test("Watchers.until() ends with the reason when the caller goes away, and leaves no timer", async () => {
  const { clock, watchers } = setUp();
  const controller = new AbortController();
  const watch = watchers.until(() => false, { timeoutMs: 1000, signal: controller.signal });
  controller.abort(new Error("connection is gone"));
  await assert.rejects(watch, /connection is gone/);
  assert.equal(clock.pending, 0);
  await assert.rejects(watchers.until(() => true, { timeoutMs: 0, signal: controller.signal }), /connection is gone/);
});

Deno.test("Watchers.fail() ends every wait with the error", async () => {
  const { clock, watchers } = setUp();
  const watches = [1, 2].map(() => watchers.until(() => false, { timeoutMs: 1000 }));
  watchers.fail(new Error("no such process"));
  for (const watch of watches) await assert.rejects(watch, /no such process/);
  assert.equal(clock.pending, 0);
});
