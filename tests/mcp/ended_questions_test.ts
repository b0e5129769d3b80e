/** Commands that are ended while a question of theirs is open: no answer may let their shell go on until it is ended. */

import assert from "node:assert/strict";
import { DRAIN_MS } from "../../src/mcp/limits.ts";
import { McpPeer } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const RULES = `prefix_rule(pattern = ["ask"], decision = "prompt")`;
const ARGS = { command: "ask || rm -r build", workdir: "/work", yield_ms: 10_000 };
const META = McpPeer.modernMeta();
const CANCELLED = { kind: "deny", reason: "User cancelled execution" };

/** Until what was begun has come to its next wait. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setTimeout(resolve, 0));
}

/** A command whose programs have not been ended yet when `end` has been heard. */
async function endedSlowly(era: "legacy" | "modern", { asksLate = false } = {}) {
  const scene = new Scene({ rules: RULES, hasHandles: true });
  const { peer, connection } = await scene.client({ era });
  peer.onElicit = () => new Promise(() => {});
  const meta = era === "modern" ? META : undefined;
  const started = scene.shells.next();
  const requestId = peer.nextId;
  const call = peer.call("shell", ARGS, meta);
  call.catch(() => {});
  const shell = await started;
  const gone = Promise.withResolvers<void>();
  shell.outlives = gone.promise;
  if (asksLate) await scene.passTimeUntil(call);
  const verdicts: unknown[] = [];
  const verdict = shell.exec(["ask"]).then((given) => verdicts.push(given));
  const checkEnd = async () => {
    await someTurns();
    assert.equal(shell.isTerminated, true);
    assert.deepEqual(verdicts, [], "the shell would go on with what comes next");
    gone.resolve();
    await verdict;
    assert.deepEqual(verdicts, [CANCELLED]);
  };
  return { scene, peer, connection, requestId, call, checkEnd };
}

Deno.test("a call that is cancelled while its question is open gets no answer to it before everything has ended", async () => {
  const { peer, requestId, checkEnd } = await endedSlowly("legacy");
  await peer.until(() => peer.prompts.length === 1);
  peer.notify("notifications/cancelled", { requestId });
  await checkEnd();
});

Deno.test("a call that was answered with questions gets no answer to them before everything has ended", async () => {
  const { scene, peer, requestId, call, checkEnd } = await endedSlowly("modern");
  await scene.passTimeUntil(call);
  peer.notify("notifications/cancelled", { requestId });
  await checkEnd();
});

Deno.test("a command that is stopped gets no answer to questions that were not asked before everything has ended", async () => {
  for (const era of ["legacy", "modern"] as const) {
    const { peer, call, checkEnd } = await endedSlowly(era, { asksLate: true });
    const stopped = peer.call("shell_stop", { handle: textOf(await call).handle }, era === "modern" ? META : undefined);
    await checkEnd();
    assert.equal(textOf(await stopped).stopped, true);
  }
});

Deno.test("a connection that closes gives no answer to open questions before everything has ended", async () => {
  const { peer, connection, checkEnd } = await endedSlowly("legacy");
  await peer.until(() => peer.prompts.length === 1);
  const closed = connection.close();
  await checkEnd();
  await closed;
});

Deno.test("what the shell leaves behind can wait for its answer: the time for its output stands still", async () => {
  for (const isAskedFirst of [true, false]) {
    const scene = new Scene({ rules: RULES });
    const { peer } = await scene.client();
    const { promise: agreed, resolve: agree } = Promise.withResolvers<unknown>();
    peer.onElicit = () => agreed;
    const started = scene.shells.next();
    const answer = peer.call("shell", { command: "ask &", workdir: "/work" });
    const shell = await started;
    shell.isHeldOpen = true;
    const ask = () => shell.exec(["ask"]);
    const isOpen = () => peer.prompts.length === 1;
    let verdict = isAskedFirst ? ask() : null;
    if (isAskedFirst) await peer.until(isOpen);
    shell.exit(0);
    await someTurns();
    scene.clock.advance(isAskedFirst ? 0 : DRAIN_MS - 1);
    verdict ??= ask();
    await peer.until(isOpen);
    scene.clock.advance(600_000);
    assert.deepEqual([shell.isTerminated, shell.hasStoppedReading], [false, false]);
    agree({ action: "accept" });
    assert.deepEqual(await verdict, { kind: "escalate", pathIsNamed: false });
    await scene.passTimeUntil(answer);
    assert.equal(textOf(await answer).background_processes_ended, true);
    assert.equal(scene.clock.pending, 0, "nothing is left behind");
  }
});
