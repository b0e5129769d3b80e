/** How much unacknowledged output there may be: of one process, and of a whole server. */

import assert from "node:assert/strict";
import { CALM_MS, MAX_GROWN_WINDOWS, MAX_LAST_WORDS_BYTES, PROMPT_ACK_MS } from "../../../src/process/limits.ts";
import { AckWindow } from "../../../src/process/session/ack_window.ts";
import { OutputReserve } from "../../../src/process/session/output_reserve.ts";
import { ManualClock } from "../../support/manual_clock.ts";

interface Fields {
  windowBytes?: number;
  detachedBytes?: number;
  isAway?: boolean;
  onRoom?: () => void;
  clock?: ManualClock;
}

function openWindow(reserve: OutputReserve, fields: Fields = {}): AckWindow {
  const { windowBytes = 100, detachedBytes = 350, isAway = false, onRoom = () => {}, clock = new ManualClock() } =
    fields;
  assert(reserve.tryTake(windowBytes));
  return new AckWindow({ clock, reserve, windowBytes, detachedBytes, isAway, onRoom });
}

Deno.test("OutputReserve.tryTake() gives all there is and not a byte more", () => {
  const reserve = new OutputReserve(100);
  assert.deepEqual([reserve.tryTake(60), reserve.tryTake(41), reserve.tryTake(40), reserve.tryTake(1)], [
    true,
    false,
    true,
    false,
  ]);
  reserve.give(40);
  assert.equal(reserve.takenBytes, 60);
});

Deno.test("OutputReserve.tryLend() leaves a quarter for new processes", () => {
  const reserve = new OutputReserve(100);
  assert.deepEqual([reserve.tryLend(75), reserve.tryLend(1), reserve.tryTake(25)], [true, false, true]);
});

Deno.test("a window is full at its size while the client is connected, even if others read", () => {
  const reserve = new OutputReserve(1000);
  const window = openWindow(reserve);
  window.add(99);
  assert.equal(window.isFull(), false);
  window.add(1);
  assert.equal(window.isFull(), true);
  assert.equal(reserve.takenBytes, 100, "no more is taken than was at the start");
  window.acknowledge(1);
  assert.equal(window.isFull(), false);
});

/** Fills the window, and has a part of it acknowledged after a time. */
function fill(window: AckWindow, clock: ManualClock, { bytes, waitMs }: { bytes: number; waitMs: number }): void {
  while (!window.isFull()) window.add(10);
  clock.advance(waitMs);
  window.acknowledge(bytes);
}

Deno.test("a window grows for a client who keeps pace, up to its bound, and not for one who is slow", () => {
  const clock = new ManualClock();
  const reserve = new OutputReserve(10_000);
  const window = openWindow(reserve, { clock, detachedBytes: 5000 });
  const sizes: number[] = [];
  for (let round = 0; round < 5; round++) {
    fill(window, clock, { bytes: 10, waitMs: PROMPT_ACK_MS });
    sizes.push(reserve.takenBytes);
  }
  assert.deepEqual(sizes, [200, 400, 800, 800, 800]);
  assert.equal(MAX_GROWN_WINDOWS, 8);
  window.release();
  assert.equal(reserve.takenBytes, 0);

  const slow = openWindow(reserve, { clock, detachedBytes: 5000 });
  for (let round = 0; round < 5; round++) fill(slow, clock, { bytes: 90, waitMs: PROMPT_ACK_MS + 1 });
  assert.equal(reserve.takenBytes, 100);
  const small = openWindow(reserve, { clock, detachedBytes: 150 });
  for (let round = 0; round < 5; round++) fill(small, clock, { bytes: 90, waitMs: 0 });
  assert.equal(reserve.takenBytes, 250, "and never beyond what it may have while the client is away");
});

Deno.test("a window that has grown is given back when it was not needed for a while", () => {
  const clock = new ManualClock();
  const reserve = new OutputReserve(10_000);
  const window = openWindow(reserve, { clock, detachedBytes: 5000 });
  fill(window, clock, { bytes: 100, waitMs: 0 });
  assert.deepEqual([window.unacknowledgedBytes, reserve.takenBytes], [0, 200]);
  window.add(50);
  clock.advance(CALM_MS - 1);
  window.acknowledge(50);
  assert.equal(reserve.takenBytes, 200, "it may be full again in a moment");
  window.add(50);
  clock.advance(1);
  window.acknowledge(49);
  assert.equal(reserve.takenBytes, 200, "something is still in it");
  window.acknowledge(1);
  assert.equal(reserve.takenBytes, 100);
});

Deno.test("a window grows only as far as the reserve lends, and waits at what it has", () => {
  const clock = new ManualClock();
  const reserve = new OutputReserve(300);
  const window = openWindow(reserve, { clock, detachedBytes: 5000 });
  fill(window, clock, { bytes: 10, waitMs: 0 });
  assert.equal(reserve.takenBytes, 200, "three quarters are 225");
  fill(window, clock, { bytes: 10, waitMs: 0 });
  assert.equal(reserve.takenBytes, 200);
  assert.equal(window.unacknowledgedBytes, 190);
  window.setAway(true);
  window.add(10);
  assert.equal(window.isFull(), true);
  clock.advance(1);
  window.setAway(false);
  window.acknowledge(10);
  assert.equal(reserve.takenBytes, 200, "a wait for one who was away says nothing");
});

Deno.test("a window grows while the client is away, and gives back what is acknowledged", () => {
  const reserve = new OutputReserve(1000);
  const clock = new ManualClock();
  const window = openWindow(reserve, { isAway: true, clock });
  window.add(100);
  assert.deepEqual([window.isFull(), reserve.takenBytes], [false, 200]);
  window.add(240);
  assert.deepEqual([window.isFull(), reserve.takenBytes], [false, 350], "up to the setting");
  window.add(10);
  assert.equal(window.isFull(), true);

  window.setAway(false);
  window.acknowledge(100);
  assert.deepEqual([window.isFull(), reserve.takenBytes], [true, 250], "with a client the window is the small one");
  clock.advance(PROMPT_ACK_MS + 1);
  window.acknowledge(151);
  assert.deepEqual([window.isFull(), reserve.takenBytes], [false, 100], "what was taken at the start stays");
  window.release();
  assert.equal(reserve.takenBytes, 0);
});

Deno.test("a window that could not grow is told when others have returned something", () => {
  const reserve = new OutputReserve(400);
  const other = openWindow(reserve, { windowBytes: 200 });
  let calls = 0;
  const window = openWindow(reserve, { isAway: true, onRoom: () => calls++ });
  window.add(100);
  assert.equal(window.isFull(), true, "three quarters are taken");
  other.release();
  assert.equal(calls, 1);
  assert.equal(reserve.takenBytes, 200);
  window.release();
  reserve.tryTake(10);
  reserve.give(10);
  assert.equal(calls, 1, "and not again when it is over");
});

Deno.test("a killed process has room for what is in its pipes, and no more", () => {
  const window = openWindow(new OutputReserve(1000));
  window.add(100);
  window.admitLastWords();
  assert.equal(window.isFull(), false);
  window.add(MAX_LAST_WORDS_BYTES);
  assert.equal(window.isFull(), true);
});

Deno.test("a closed process takes as much of the reserve as it holds in memory", () => {
  const reserve = new OutputReserve(1000);
  const window = openWindow(reserve);
  window.settleFor(20);
  assert.equal(reserve.takenBytes, 20);
  window.acknowledge(0);
  assert.equal(reserve.takenBytes, 20, "it does not grow back");
  window.release();
  assert.equal(reserve.takenBytes, 0);
});
