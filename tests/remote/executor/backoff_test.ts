import assert from "node:assert/strict";
import { Backoff } from "../../../src/remote/executor/backoff.ts";

function waits(options: { sessions: boolean; random: number }, count: number): number[] {
  const backoff = new Backoff({ hasSessions: () => options.sessions, random: () => options.random });
  return Array.from({ length: count }, () => backoff.next());
}

Deno.test("waits double up to 30 s, or up to 5 s while there are sessions, and are cut by up to half", () => {
  assert.deepEqual(waits({ sessions: false, random: 1 }, 8), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.deepEqual(waits({ sessions: true, random: 1 }, 6), [500, 1000, 2000, 4000, 5000, 5000]);
  assert.deepEqual(waits({ sessions: false, random: 0 }, 3), [250, 500, 1000]);
});

Deno.test("a success makes the next wait short again, and sessions that come later make long waits shorter", () => {
  let hasSessions = false;
  const backoff = new Backoff({ hasSessions: () => hasSessions, random: () => 1 });
  for (let count = 0; count < 100; count++) backoff.next();
  assert.equal(backoff.next(), 30_000);
  hasSessions = true;
  assert.equal(backoff.next(), 5000);
  backoff.reset();
  assert.equal(backoff.next(), 500);
});
