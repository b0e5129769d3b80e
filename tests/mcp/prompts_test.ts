import assert from "node:assert/strict";
import { auditLog, type AuditRecord } from "../../src/mcp/audit.ts";
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

Deno.test("an allowed program that the shell did not start itself runs inside, unless all may leave", async () => {
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

Deno.test("nobody is asked about a program that may not leave the sandbox, unless it would run inside", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  peer.onElicit = () => ACCEPT;
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  const named: boolean[] = [];
  const whyItStays = (pathIsNamed: boolean) => {
    named.push(pathIsNamed);
    return Promise.resolve(pathIsNamed ? null : "it can be written");
  };
  const reason = "cannot leave the sandbox: it can be written";
  assert.deepEqual(await shell.exec(["ask"], { whyItStays }), { kind: "deny", reason });
  assert.equal(peer.prompts.length, 0);
  assert.deepEqual(await shell.exec(["ask"], { whyItStays, isShell: false }), { kind: "run" });
  assert.deepEqual(await shell.exec(["rm", "-rf", "x"], { whyItStays }), { kind: "run" });
  assert.equal(peer.prompts.length, 2);
  assert.deepEqual(named, [false]);
  shell.exit(0);
  assert.deepEqual(textOf(await answer).denied, [{ command: "/usr/bin/ask", reason }]);
  assert.equal((scene.audit[0] as AuditRecord).outcome, "deny");
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

Deno.test("the end of a program that was let out, or differed from the decision, has a line too", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer, connection } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", ARGS, { callId: "call-7" });
  const shell = await started;
  const call = { file: "/usr/bin/x", argv: ["x"], cwd: "/work", env: {}, pid: 7, isShell: true };
  shell.options.onEscalated?.(call, { type: "started", pid: 8 });
  shell.options.onEscalated?.(call, { type: "abandoned" });
  shell.options.onStrictEnd?.(call, "killed");
  shell.options.onUndecided?.({ file: null, pid: 9, isShell: false }, "Bad address (os error 14)");
  shell.exit(0);
  const asked = { holder: null, session: connection.id, callNumber: 1, call: "call-7", client: "test" };
  const common = { ...asked, file: "/usr/bin/x" };
  assert.deepEqual(scene.audit, [
    { event: "escalation", ...common, callerPid: 7, outcome: "started", pid: 8 },
    { event: "escalation", ...common, callerPid: 7, outcome: "abandoned" },
    { event: "strict", ...common, pid: 7, outcome: "killed" },
    { event: "failed", ...asked, file: null, pid: 9, byShell: false, reason: "Bad address (os error 14)" },
  ]);
});

Deno.test("commands of calls with the same id, of one client or of two, are told apart in the audit", async () => {
  const scene = new Scene({ rules: RULES });
  const clients = [await scene.client(), await scene.client()];
  for (const { peer } of [...clients, clients[0]!]) {
    const started = scene.shells.next();
    const answer = peer.call("shell", ARGS, { callId: "call-7" });
    const shell = await started;
    await Promise.all([shell.exec(["ls"]), shell.exec(["no"])]);
    shell.exit(0);
    await answer;
  }
  const records = scene.audit as AuditRecord[];
  assert.deepEqual(records.map(({ callNumber }) => callNumber), [1, 1, 2, 2, 3, 3]);
  const [one, two] = clients.map(({ connection }) => connection.id);
  assert.notEqual(one, two);
  assert.deepEqual(records.map(({ session }) => session), [one, one, two, two, one, one]);
  assert.ok(records.every(({ call, client, holder }) => call === "call-7" && client === "test" && holder === null));
});

Deno.test("lines of the audit do not grow with what a client or a program says", async () => {
  const scene = new Scene();
  const long = "x".repeat(100_000);
  const { peer } = await scene.client({ name: long });
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS, { callId: long });
  const shell = await started;
  await shell.exec(["ls", long]);
  shell.options.onUndecided?.({ file: `/${long}`, pid: 9, isShell: false }, long);
  shell.exit(0);
  await answer;
  const lines: string[] = [];
  const log = auditLog((line) => lines.push(line));
  for (const record of scene.audit) log.write(record);
  assert.equal(lines.length, 2);
  assert.ok(lines.every((line) => line.length < 10_000), lines.map(({ length }) => length).join(" "));
});

Deno.test("a program that a rule lets out, and that may not leave, is listed like a denied one", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  const call = { file: "/work/git", argv: ["git", "a b"], cwd: "/work", env: {}, pid: 7, isShell: true };
  shell.options.onEscalated?.(call, { type: "refused", reason: "it could have been written from inside" });
  shell.options.onEscalated?.(call, { type: "started", pid: 8 });
  shell.options.onEscalated?.(call, { type: "exited", exitCode: 0 });
  shell.exit(1);
  assert.deepEqual(textOf(await answer).denied, [
    { command: "/work/git 'a b'", reason: "cannot leave the sandbox: it could have been written from inside" },
  ]);
  assert.equal(scene.audit.length, 3);
});
