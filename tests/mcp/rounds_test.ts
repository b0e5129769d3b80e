/** Prompts of the 2026 era: they are answers, and the call comes again with what was answered. */

import assert from "node:assert/strict";
import { ROUND_PATIENCE_MS } from "../../src/mcp/limits.ts";
import { McpError, McpPeer } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const RULES = `prefix_rule(pattern = ["ask"], decision = "prompt")`;
const ARGS = { command: "x", workdir: "/work", timeout_ms: 800 };
const ACCEPT = { action: "accept", content: {} };
const META = McpPeer.modernMeta();

Deno.test("in the 2026 era the open prompts of a call are one answer, and the shell lives on until the call comes again", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client({ era: "modern" });
  const started = scene.shells.next();
  const first = peer.call("shell", ARGS, META);
  const shell = await started;
  const verdicts = [shell.exec(["ask", "1"]), shell.exec(["ask", "2"])];
  await scene.passTimeUntil(first);
  const { resultType, inputRequests, requestState } = await first;
  assert.equal(resultType, "input_required");
  const asked = Object.entries(inputRequests as Record<string, { method: string; params: Record<string, unknown> }>);
  assert.deepEqual(asked.map(([, { method, params }]) => [method, params["mode"], params["message"]]), [
    ["elicitation/create", "form", "Allow agent to run `/usr/bin/ask 1` in `/work`?"],
    ["elicitation/create", "form", "Allow agent to run `/usr/bin/ask 2` in `/work`?"],
  ]);
  scene.clock.advance(100_000);
  assert.equal(shell.isTerminated, false, "the clock stands still");
  const inputResponses = { [asked[0]![0]]: ACCEPT, [asked[1]![0]]: { action: "decline" } };
  const second = peer.call("shell", ARGS, META, { requestState, inputResponses });
  assert.deepEqual((await Promise.all(verdicts)).map(({ kind }) => kind), ["escalate", "deny"]);
  shell.print("done\n");
  shell.exit(0);
  assert.equal(textOf(await second).output, "done\n");

  const again = peer.call("shell", ARGS, META, { requestState, inputResponses });
  await assert.rejects(again, (error: McpError) => error.code === -32_602 && /requestState/.test(error.message));
});

/** A call whose one question is open, and the round that would answer it with yes. */
async function askedOnce() {
  const scene = new Scene({ rules: RULES, hasHandles: true });
  const { peer } = await scene.client({ era: "modern" });
  const started = scene.shells.next();
  const first = peer.call("shell", ARGS, META);
  const shell = await started;
  const verdict = shell.exec(["ask"]);
  await scene.passTimeUntil(first);
  const { requestState, inputRequests } = await first;
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, ACCEPT]));
  const round = { requestState, inputResponses };
  return { scene, peer, shell, verdict, round };
}

Deno.test("a second round with another tool or wrong arguments is refused, and loses neither the command nor an answer", async () => {
  const { peer, shell, verdict, round } = await askedOnce();
  const isRefused = (error: McpError) => error.code === -32_602;
  await assert.rejects(peer.call("shell_poll", { handle: "x" }, META, round), isRefused);
  await assert.rejects(peer.call("shell", { command: 1 }, META, round), isRefused);
  const second = peer.call("shell", ARGS, META, round);
  assert.equal((await verdict).kind, "escalate");
  shell.exit(0);
  assert.equal(textOf(await second).exit_code, 0);
});

Deno.test("a state belongs to its tool and arguments: with others it is refused, and the right ones can still be sent", async () => {
  const { scene, peer, shell, verdict, round } = await askedOnce();
  const others = [{ command: "echo other" }, { workdir: "/" }, { timeout_ms: 801 }, { login: false }, { stdin: true }];
  for (const other of others) {
    const call = peer.call("shell", { ...ARGS, ...other }, META, round);
    await assert.rejects(call, (error: McpError) => error.code === -32_602 && /other arguments/.test(error.message));
  }
  assert.equal(scene.shells.shells.length, 1);
  const { command, ...rest } = ARGS;
  const second = peer.call("shell", { ...rest, login: null, command }, META, round);
  assert.equal((await verdict).kind, "escalate");
  shell.exit(0);
  assert.equal(textOf(await second).exit_code, 0);
});

Deno.test("cancelling the call that was answered with questions ends its command, and no other", async () => {
  const { scene, peer, shell, verdict, round } = await askedOnce();
  const id = peer.nextId - 1;
  for (const requestId of [id + 1, String(id), undefined]) peer.notify("notifications/cancelled", { requestId });
  await peer.request("tools/list", { _meta: META });
  assert.equal(shell.isTerminated, false);
  peer.notify("notifications/cancelled", { requestId: id });
  await peer.request("tools/list", { _meta: META });
  assert.equal(shell.isTerminated, true);
  assert.deepEqual(await verdict, { kind: "deny", reason: "User cancelled execution" });
  await assert.rejects(peer.call("shell", ARGS, META, round), /requestState/);
  assert.equal(scene.clock.pending, 0, "nothing is left behind");
});

Deno.test("of several rounds only the latest can be cancelled", async () => {
  const { scene, peer, shell, round } = await askedOnce();
  const first = peer.nextId - 1;
  const second = peer.call("shell", ARGS, META, round);
  void shell.exec(["ask", "again"]);
  await scene.passTimeUntil(second);
  assert.equal((await second).resultType, "input_required");
  peer.notify("notifications/cancelled", { requestId: first });
  await peer.request("tools/list", { _meta: META });
  assert.equal(shell.isTerminated, false, "that one was answered and has gone on");
  peer.notify("notifications/cancelled", { requestId: first + 1 });
  await peer.request("tools/list", { _meta: META });
  assert.equal(shell.isTerminated, true);
});

Deno.test("an unreadable answer means no, and a question without an answer is asked again", async () => {
  const malformed: unknown[] = [
    ...["yes", null, 5, [], {}, { action: "maybe" }, { action: 1 }],
    ...[{ action: "accept", method: "elicitation/create" }, { result: ACCEPT }],
  ];
  for (const answer of malformed) {
    const scene = new Scene({ rules: RULES });
    const { peer } = await scene.client({ era: "modern" });
    const started = scene.shells.next();
    const first = peer.call("shell", ARGS, META);
    const shell = await started;
    const verdicts = [shell.exec(["ask", "1"]), shell.exec(["ask", "2"])];
    await scene.passTimeUntil(first);
    const asked = await first;
    const [one, two] = Object.keys(asked.inputRequests);
    const inputResponses = { [one!]: answer };
    const second = peer.call("shell", ARGS, META, { requestState: asked.requestState, inputResponses });
    await scene.passTimeUntil(second);
    const again = await second;
    assert.deepEqual(Object.keys(again.inputRequests), [two], JSON.stringify(answer));
    assert.deepEqual(await verdicts[0], { kind: "deny", reason: "the client's answer cannot be read" });
    const last = { requestState: again.requestState, inputResponses: { [two!]: ACCEPT } };
    const third = peer.call("shell", ARGS, META, last);
    assert.equal((await verdicts[1]!).kind, "escalate");
    shell.exit(0);
    await third;
  }
});

Deno.test("a state that was made up or changed is refused, and starts nothing", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client({ era: "modern" });
  for (const requestState of ["", "v1.e30.AAAA", "x"]) {
    await assert.rejects(peer.call("shell", ARGS, META, { requestState, inputResponses: {} }), McpError);
  }
  assert.equal(scene.shells.shells.length, 0);
});

Deno.test("after nine rounds a call asks no more, and its result says what was denied for it", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client({ era: "modern" });
  const started = scene.shells.next();
  let call = peer.call("shell", ARGS, META);
  const shell = await started;
  for (let round = 1; round <= 9; round++) {
    const verdict = shell.exec(["ask", String(round)]);
    await scene.passTimeUntil(call);
    const { requestState, inputRequests } = await call;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, ACCEPT]));
    call = peer.call("shell", ARGS, META, { requestState, inputResponses });
    assert.equal((await verdict).kind, "escalate");
  }
  const last = shell.exec(["ask", "10"]);
  await scene.passTimeUntil(last);
  assert.deepEqual(await last, {
    kind: "deny",
    reason: "this call has asked too many questions: run the rest in another call",
  });
  shell.exit(0);
  assert.equal(textOf(await call).denied[0].command, "/usr/bin/ask 10");
});

Deno.test("the command of a client that does not come back with its answers is ended", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client({ era: "modern" });
  const started = scene.shells.next();
  const first = peer.call("shell", ARGS, META);
  const shell = await started;
  const verdict = shell.exec(["ask"]);
  await scene.passTimeUntil(first);
  // The questions were asked at some time before: the clock went on while the answer was on its way.
  const passedMs = scene.clock.now();
  scene.clock.advance(ROUND_PATIENCE_MS - 1 - passedMs);
  assert.equal(shell.isTerminated, false);
  scene.clock.advance(1 + passedMs);
  assert.equal(shell.isTerminated, true);
  assert.deepEqual(await verdict, { kind: "deny", reason: "User cancelled execution" });
});
