/** Whether a client is there, as its link and its messages tell. */

import assert from "node:assert/strict";
import type { Link } from "../../src/rpc/link.ts";
import { OWN_SIGN_MS, Presence } from "../../src/server/presence.ts";
import { ManualClock } from "../support/manual_clock.ts";

function setUp(vitality: Pick<Link, "silentMs" | "askForSign"> = {}) {
  const clock = new ManualClock();
  return { clock, presence: new Presence(vitality as Link, clock) };
}

Deno.test("Presence: if the link cannot tell, only messages show that a client is there", () => {
  const { clock, presence } = setUp();
  clock.advance(1000);
  assert.equal(presence.heardAtMs, 0);
  let heard = 0;
  presence.ask(() => heard++);
  presence.ask(() => heard += 10)();
  clock.advance(1000);
  assert.equal(heard, 0);
  presence.heard();
  presence.heard();
  assert.deepEqual([heard, presence.heardAtMs], [1, 2000]);
});

Deno.test("Presence: if the link would see the end, the client is there until then", () => {
  const { clock, presence } = setUp({ silentMs: 0 });
  clock.advance(1000);
  assert.equal(presence.heardAtMs, 1000);
});

Deno.test("Presence: the link is asked once for all who want to know, and each is told of the next sign", () => {
  const questions: (() => void)[] = [];
  const link = { silentMs: 1000, askForSign: (onSign: () => void) => questions.push(onSign) };
  const { clock, presence } = setUp(link);
  const heard: string[] = [];
  presence.ask(() => heard.push("a"));
  presence.ask(() => {
    heard.push("b");
    presence.ask(() => heard.push("c"));
  });
  assert.equal(questions.length, 0, "a client that is at work is not asked");
  clock.advance(OWN_SIGN_MS);
  assert.equal(questions.length, 1);
  link.silentMs = 0;
  questions[0]!();
  assert.deepEqual([heard, presence.heardAtMs], [["a", "b"], OWN_SIGN_MS]);
  // A message does as well, and then nobody is asked.
  presence.heard();
  assert.deepEqual(heard, ["a", "b", "c"]);
  clock.advance(OWN_SIGN_MS);
  assert.equal(questions.length, 1);
});

Deno.test("Presence: a sign that the link has had meanwhile does, and nobody asks for those who no longer want to know", () => {
  const link = { silentMs: 0, askForSign: () => assert.fail("asked") };
  const { clock, presence } = setUp(link);
  let heard = 0;
  presence.ask(() => heard++);
  clock.advance(OWN_SIGN_MS);
  assert.equal(heard, 1);
  link.silentMs = 10 * OWN_SIGN_MS;
  presence.ask(() => heard++)();
  clock.advance(OWN_SIGN_MS);
  assert.equal(heard, 1);
});

Deno.test("Presence: a sign of life is as old as the link says it may be", () => {
  const questions: (() => void)[] = [];
  const { clock, presence } = setUp({ silentMs: OWN_SIGN_MS, askForSign: (onSign) => questions.push(onSign) });
  let heard = 0;
  clock.advance(OWN_SIGN_MS);
  presence.ask(() => heard++);
  clock.advance(OWN_SIGN_MS);
  questions[0]!();
  assert.deepEqual([heard, presence.heardAtMs], [1, OWN_SIGN_MS]);
});
