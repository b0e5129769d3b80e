/** Which signals a program gets of those that wait for its caller. */

import assert from "node:assert/strict";
import { signalsToPass } from "../../../src/process/supervised/passed_signals.ts";

const [USR1, TERM, CONT, STOP, TSTP, LAST] = [10, 15, 18, 19, 20, 64] as const;

function passed(before: readonly number[], now: readonly number[]): number[] {
  const maskOf = (signals: readonly number[]) => signals.reduce((mask, signal) => mask | 1n << BigInt(signal - 1), 0n);
  return signalsToPass(maskOf(before), maskOf(now));
}

Deno.test("each signal is passed on when it begins to wait, and not again", () => {
  assert.deepEqual(passed([], [USR1, TERM, STOP, LAST]), [USR1, TERM, STOP, LAST]);
  assert.deepEqual(passed([USR1, STOP], [USR1, TERM, STOP]), [TERM]);
  assert.deepEqual(passed([USR1], [USR1]), []);
});

Deno.test("a stop that does not wait any more was cancelled by SIGCONT, which is passed on once", () => {
  assert.deepEqual(passed([STOP, USR1], [USR1]), [CONT]);
  assert.deepEqual(passed([STOP], [CONT]), [CONT]);
  assert.deepEqual(passed([STOP], [TSTP]), [CONT, TSTP]);
  assert.deepEqual(passed([CONT], [STOP]), [STOP]);
  assert.deepEqual(passed([USR1, TERM], []), []);
});
