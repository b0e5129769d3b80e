import assert from "node:assert/strict";
import type { AuditRecord } from "../../src/mcp/audit.ts";
import { McpError, McpPeer } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const RULES = `
prefix_rule(pattern = ["ask"], decision = "prompt")
prefix_rule(pattern = ["git"], decision = "allow")
prefix_rule(pattern = ["no"], decision = "forbidden")
prefix_rule(pattern = ["/opt/tool"], decision = "allow")
`;
const ARGS = { command: "x", workdir: "/work", timeout_ms: 800 };
const ACCEPT = { action: "accept", content: {} };

Deno.test("the table of decisions: rules by severity, then the heuristic", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  assert.deepEqual(await shell.exec(["git", "status"]), { kind: "escalate", pathIsNamed: false });
  assert.deepEqual(await shell.exec(["/opt/tool"]), { kind: "escalate", pathIsNamed: true });
  assert.deepEqual(await shell.exec(["no", "x y"]), { kind: "deny", reason: "Execution forbidden by policy" });
  assert.deepEqual(await shell.exec(["ls"]), { kind: "run" });
  assert.equal(peer.prompts.length, 0);
  peer.onElicit = () => ACCEPT;
  assert.deepEqual(await shell.exec(["ask", "a b"]), { kind: "escalate", pathIsNamed: false });
  assert.deepEqual(await shell.exec(["rm", "-rf", "x"]), { kind: "run" });
  peer.onElicit = () => ({ action: "decline" });
  assert.deepEqual(await shell.exec(["ask"]), { kind: "deny", reason: "User declined execution" });
  peer.onElicit = () => ({ action: "cancel" });
  assert.deepEqual(await shell.exec(["rm", "-f", "x"]), { kind: "deny", reason: "User cancelled execution" });
  peer.onElicit = () => Promise.reject(new Error("boom"));
  assert.deepEqual(await shell.exec(["ask"]), { kind: "deny", reason: "the client could not be asked for approval" });
  assert.deepEqual(peer.prompts.map(({ message }) => message), [
    "Allow agent to run `/usr/bin/ask 'a b'` in `/work`?",
    "Allow agent to run `/usr/bin/rm -rf x` in `/work`?",
    "Allow agent to run `/usr/bin/ask` in `/work`?",
    "Allow agent to run `/usr/bin/rm -f x` in `/work`?",
    "Allow agent to run `/usr/bin/ask` in `/work`?",
  ]);
  shell.exit(0);
  assert.deepEqual(textOf(await answer).denied, [
    { command: "/usr/bin/no 'x y'", reason: "Execution forbidden by policy" },
    { command: "/usr/bin/ask", reason: "User declined execution" },
    { command: "/usr/bin/rm -f x", reason: "User cancelled execution" },
    { command: "/usr/bin/ask", reason: "the client could not be asked for approval" },
  ]);
});

Deno.test("what the shell did not start itself runs inside where a rule allows it, unless all may leave", async () => {
  for (const [escalate, kind] of [["shell", "run"], ["all", "escalate"]] as const) {
    const scene = new Scene({ rules: RULES, escalate });
    const { peer } = await scene.client();
    peer.onElicit = () => ACCEPT;
    const started = scene.shells.next();
    void peer.call("shell", ARGS);
    const shell = await started;
    assert.equal((await shell.exec(["git"], { isShell: false })).kind, kind);
    assert.equal((await shell.exec(["ask"], { isShell: false })).kind, kind);
    assert.equal((await shell.exec(["no"], { isShell: false })).kind, "deny");
    shell.exit(0);
  }
});

Deno.test("descriptors are passed on to programs that are named for it by their path, and only outside", async () => {
  const scene = new Scene({ rules: RULES, descriptorPrograms: ["/usr/bin/git", "/usr/bin/no", "/usr/bin/other"] });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", ARGS);
  const shell = await started;
  const passed = async (name: string, file: string) => {
    const verdict = await shell.exec([name], { file });
    return verdict.kind === "escalate" ? verdict.passFds : verdict.kind;
  };
  assert.equal(await passed("git", "/usr/bin/git"), true);
  assert.equal(await passed("git", "/work/git"), undefined);
  assert.equal(await passed("no", "/usr/bin/no"), "deny");
  assert.equal(await passed("other", "/usr/bin/other"), "run");
  shell.exit(0);
});

Deno.test("with preserved paths a rule for a name is no rule for a path", async () => {
  const scene = new Scene({ rules: RULES, preservesPaths: true });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", ARGS);
  const shell = await started;
  assert.equal((await shell.exec(["no"])).kind, "run");
  assert.equal((await shell.exec(["tool"], { file: "/opt/tool" })).kind, "escalate");
  shell.exit(0);
});

Deno.test("the schema is empty for codex and others, and the reference's for clients of its time", async () => {
  const scene = new Scene({ rules: RULES });
  for (const name of ["codex-mcp-client", "other", "old"]) {
    const { peer } = await scene.client({ name });
    if (name === "old") {
      await peer.request("codex/sandbox-state/update", { sandboxPolicy: { type: "read-only" }, sandboxCwd: "/work" });
    }
    const started = scene.shells.next();
    void peer.call("shell", ARGS);
    const shell = await started;
    await shell.exec(["ask"]);
    shell.exit(0);
    const requestedSchema = peer.prompts[0]?.requestedSchema;
    if (name === "old") assert.match(JSON.stringify(requestedSchema), /"title":"Execution Permission Request"/);
    else assert.deepEqual(requestedSchema, { type: "object", properties: {} });
  }
});

Deno.test("the clock stands still while a prompt is open, and goes on with what was left", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const asked = Promise.withResolvers<void>();
  const { promise: agreed, resolve: agree } = Promise.withResolvers<unknown>();
  peer.onElicit = () => {
    asked.resolve();
    return agreed;
  };
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  scene.clock.advance(700);
  const verdict = shell.exec(["ask"]);
  await asked.promise;
  scene.clock.advance(100_000);
  assert.equal(shell.isTerminated, false);
  agree(ACCEPT);
  await verdict;
  scene.clock.advance(99);
  assert.equal(shell.isTerminated, false);
  scene.clock.advance(1);
  assert.equal(textOf(await answer).timed_out, true);
});

Deno.test("an answer is remembered for the session if it says so, for this very command alone", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", ARGS);
  const shell = await started;
  peer.onElicit = () => ACCEPT;
  await shell.exec(["ask", "1"]);
  await shell.exec(["ask", "1"]);
  assert.equal(peer.prompts.length, 2);
  peer.onElicit = () => ({ ...ACCEPT, _meta: { persist: "session" } });
  await shell.exec(["ask", "1"]);
  assert.equal((await shell.exec(["ask", "1"])).kind, "escalate");
  assert.equal(peer.prompts.length, 3);
  peer.onElicit = () => ({ action: "decline" });
  assert.equal((await shell.exec(["ask", "2"])).kind, "deny");
  shell.exit(0);
  const { peer: another } = await scene.client();
  const next = scene.shells.next();
  void another.call("shell", ARGS);
  const second = await next;
  assert.equal((await second.exec(["ask", "1"])).kind, "deny");
  second.exit(0);
});

Deno.test("a client that cannot be asked gets a denial with the reason", async () => {
  const scene = new Scene({ rules: RULES });
  for (const capabilities of [{}, { elicitation: { url: {} } }]) {
    const { peer } = await scene.client({ capabilities });
    const started = scene.shells.next();
    const answer = peer.call("shell", ARGS);
    const shell = await started;
    const verdict = await shell.exec(["ask"]);
    assert.deepEqual(verdict, {
      kind: "deny",
      reason: "it needs the user's approval, and this client cannot ask for it",
    });
    shell.exit(1);
    assert.equal(textOf(await answer).denied.length, 1);
    assert.equal(peer.prompts.length, 0);
  }
});

Deno.test("each decision leaves a line: what, who asked, which rule, what became of it", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  peer.onElicit = () => ACCEPT;
  const started = scene.shells.next();
  void peer.call("shell", ARGS, { callId: "call-7" });
  const shell = await started;
  await shell.exec(["ls"], { isShell: false });
  await shell.exec(["ask", "x"]);
  shell.exit(0);
  const facts = scene.audit.map((record) =>
    record.event === "decision" && [record.file, record.decidedBy, record.outcome]
  );
  assert.deepEqual(facts, [["/usr/bin/ls", "none", "run"], ["/usr/bin/ask", "rule", "escalate"]]);
  const [first, second] = scene.audit as [AuditRecord, AuditRecord];
  assert.deepEqual([first.byShell, second.call, second.client, second.answer], [false, "call-7", "test", "accept"]);
  assert.deepEqual(second.rules, [{ decision: "prompt", file: "/rules/a.rules", line: 2 }]);
});

// ---------------------------------------------------------------- the 2026 era

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
    reason: "one call can ask no more questions: run the rest in another call",
  });
  shell.exit(0);
  assert.equal(textOf(await call).denied[0].command, "/usr/bin/ask 10");
});

Deno.test("a client that does not come back for its prompts loses the command", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client({ era: "modern" });
  const started = scene.shells.next();
  const first = peer.call("shell", ARGS, META);
  const shell = await started;
  const verdict = shell.exec(["ask"]);
  await scene.passTimeUntil(first);
  scene.clock.advance(3_600_000);
  assert.equal(shell.isTerminated, true);
  assert.deepEqual(await verdict, { kind: "deny", reason: "User cancelled execution" });
});
