import assert from "node:assert/strict";
import { McpError } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const UPDATE = "codex/sandbox-state/update";
const READ_ONLY = { sandboxPolicy: { type: "read-only" }, sandboxCwd: "/work" };

async function refused(promise: Promise<unknown>): Promise<McpError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof McpError) return error;
    throw error;
  }
  throw new Error("the request was not refused");
}

Deno.test("a command that ends is answered in the reference's form, with what the shell was started with", async () => {
  const scene = new Scene({ env: { PATH: "/usr/bin", CODEX_SANDBOX_NETWORK_DISABLED: "0" } });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", { command: "echo hi", workdir: "/work/a", login: false });
  const shell = await started;
  shell.print("e\n", "stderr");
  shell.print("hi\n");
  scene.clock.advance(1500);
  shell.exit(3);
  const result = await answer;
  assert.deepEqual(Object.keys(textOf(result)), ["exit_code", "output", "duration", "timed_out"]);
  assert.deepEqual(textOf(result), {
    exit_code: 3,
    output: "hi\ne\n",
    duration: { secs: 1, nanos: 500_000_000 },
    timed_out: false,
  });
  assert.deepEqual(result.structuredContent, textOf(result));
  const { command, cwd, login, env, sandbox, stdin, output } = shell.options;
  assert.deepEqual({ command, cwd, login, stdin, output }, {
    command: "echo hi",
    cwd: "/work/a",
    login: false,
    stdin: "closed",
    output: "separate",
  });
  assert.deepEqual(env, { PATH: "/usr/bin", CODEX_SANDBOX_NETWORK_DISABLED: "1" });
  assert.equal(sandbox?.permissions.type, "managed");
});

Deno.test("merge_output is understood by shell alone too, though it is not announced", async () => {
  for (const [merge_output, output] of [[true, "merged"], [false, "separate"]] as const) {
    const scene = new Scene();
    const { peer } = await scene.client();
    const started = scene.shells.next();
    const answer = peer.call("shell", { command: "x", workdir: "/work", merge_output });
    const shell = await started;
    assert.equal(shell.options.output, output);
    shell.exit(0);
    await answer;
  }
});

Deno.test("codex gets no structured content, which it would show in place of the text", async () => {
  const scene = new Scene();
  const { peer } = await scene.client({ name: "codex-mcp-client" });
  const started = scene.shells.next();
  const answer = peer.call("shell", { command: "x", workdir: "/work" });
  (await started).exit(0);
  assert.equal((await answer).structuredContent, undefined);
});

Deno.test("a command that takes too long is ended, and what it wrote is not lost", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", { command: "x", workdir: "/work", timeout_ms: 400 });
  const shell = await started;
  shell.print("half");
  await Promise.resolve();
  scene.clock.advance(399);
  assert.equal(shell.isTerminated, false);
  scene.clock.advance(1);
  const { exit_code, output, timed_out, signal } = textOf(await answer);
  assert.deepEqual({ exit_code, output, timed_out, signal }, {
    exit_code: 124,
    output: "half",
    timed_out: true,
    signal: undefined,
  });
  assert.equal((await answer).isError, true);
  assert.equal(shell.isTerminated, true);
});

Deno.test("a client of the reference's time gets its errors, and the output that they leave out as data", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  assert.deepEqual(await peer.request(UPDATE, READ_ONLY), {});
  const run = async (play: (shell: Awaited<ReturnType<typeof scene.shells.next>>) => void) => {
    const started = scene.shells.next();
    const answer = refused(peer.call("shell", { command: "x", workdir: "/work", timeout_ms: 400 }));
    const shell = await started;
    await Promise.resolve();
    play(shell);
    return await answer;
  };
  const timedOut = await run((shell) => {
    shell.print("half");
    scene.clock.advance(400);
  });
  assert.deepEqual([timedOut.code, timedOut.message], [-32_603, "sandbox error: command timed out"]);
  assert.equal((timedOut.data as { output: string }).output, "half");
  const killed = await run((shell) => shell.exit(137, "SIGKILL"));
  assert.deepEqual([killed.code, killed.message], [-32_603, "sandbox error: command was killed by a signal"]);
  const denied = await run((shell) => {
    shell.print("out\n");
    shell.print("f: Permission denied\n", "stderr");
    shell.exit(2);
  });
  assert.equal(
    denied.message,
    "sandbox error: sandbox denied exec error, exit code: 2, stdout: out\n, stderr: f: Permission denied\n",
  );
});

Deno.test("other clients get a result that names the signal, or says that the sandbox was probably the cause", async () => {
  const scene = new Scene();
  const { peer } = await scene.client({ name: "codex-mcp-client" });
  let started = scene.shells.next();
  let answer = peer.call("shell", { command: "x", workdir: "/work" });
  (await started).exit(137, "SIGKILL");
  assert.equal(textOf(await answer).signal, "SIGKILL");
  started = scene.shells.next();
  answer = peer.call("shell", { command: "x", workdir: "/work" });
  const shell = await started;
  shell.print("Read-only file system\n", "stderr");
  shell.exit(1);
  assert.deepEqual([textOf(await answer).looks_denied_by_sandbox, (await answer).isError], [true, false]);
});

Deno.test("children that hold the output open are waited for a while, then ended, and nothing that was written is lost", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", { command: "sleep 60 & echo hi", workdir: "/work" });
  const shell = await started;
  shell.isHeldOpen = true;
  shell.print("hi\n");
  shell.exit(0);
  await scene.passTimeUntil(answer);
  const { output, background_processes_ended } = textOf(await answer);
  assert.deepEqual([output, background_processes_ended, shell.hasStoppedReading, shell.isTerminated], [
    "hi\n",
    true,
    true,
    true,
  ]);
});

Deno.test("children that hold nothing open and are ended with the shell are told, too", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  for (const leavesChild of [true, false]) {
    const started = scene.shells.next();
    const answer = peer.call("shell", { command: "sleep 60 > log 2>&1 &", workdir: "/work" });
    const shell = await started;
    shell.leavesChild = leavesChild;
    shell.exit(0);
    assert.equal(textOf(await answer).background_processes_ended, leavesChild || undefined);
    assert.equal(shell.isTerminated, true);
  }
});

Deno.test("a cancelled call ends its command", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const id = peer.nextId;
  void peer.call("shell", { command: "sleep 60", workdir: "/work" }).catch(() => {});
  const shell = await started;
  peer.notify("notifications/cancelled", { requestId: id });
  await shell.exited;
  assert.equal(shell.isTerminated, true);
});

Deno.test("a connection that closes ends its commands", async () => {
  const scene = new Scene();
  const { peer, connection } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", { command: "sleep 60", workdir: "/work" }).catch(() => {});
  const shell = await started;
  await connection.close();
  assert.equal(shell.isTerminated, true);
});

Deno.test("wrong arguments, unknown tools and states that do not decode are refused before anything starts", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  const codes = async (promise: Promise<unknown>) => {
    const { code, message } = await refused(promise);
    return [code, message];
  };
  const prefix = "failed to deserialize parameters: ";
  assert.deepEqual(await codes(peer.call("nope", {})), [-32_602, "tool not found"]);
  assert.deepEqual(await codes(peer.call("shell_poll", { handle: "x" })), [-32_602, "tool not found"]);
  assert.deepEqual(await codes(peer.call("shell", { command: "x" })), [-32_602, `${prefix}missing field \`workdir\``]);
  assert.deepEqual(await codes(peer.call("shell", { workdir: "/" })), [-32_602, `${prefix}missing field \`command\``]);
  for (
    const wrong of [{ command: 5 }, { timeout_ms: -1 }, { timeout_ms: 1.5 }, { timeout_ms: 2 ** 65 }, { login: "no" }]
  ) {
    const [code] = await codes(peer.call("shell", { command: "x", workdir: "/", ...wrong }));
    assert.equal(code, -32_602, JSON.stringify(wrong));
  }
  const state = { permissionProfile: { type: "bogus" }, sandboxCwd: "/work" };
  const call = peer.call("shell", { command: "x", workdir: "/" }, { "codex/sandbox-state": state });
  assert.deepEqual(await codes(call), [-32_602, "failed to deserialize sandbox state"]);
  assert.deepEqual(await codes(peer.request(UPDATE)), [-32_602, "missing params for sandbox state request"]);
  const bad = { sandboxPolicy: { type: "bogus" }, sandboxCwd: "/work" };
  assert.deepEqual((await refused(peer.request(UPDATE, bad))).data, bad);
  assert.equal(scene.shells.shells.length, 0);
});

Deno.test("where no shell can be supervised a call fails with the reason", async () => {
  const scene = new Scene();
  scene.shells.refusal = "Cannot supervise the shell: the kernel has no notifications";
  const { peer } = await scene.client();
  const { code, message } = await refused(peer.call("shell", { command: "x", workdir: "/work" }));
  assert.deepEqual([code, message], [-32_603, "Cannot supervise the shell: the kernel has no notifications"]);
});
