import assert from "node:assert/strict";
import { FINISHED_COMMAND_MS, MAX_CLIENT_COMMANDS, MAX_OPEN_CALLS, OUTPUT_GATHER_MS } from "../../src/mcp/limits.ts";
import { McpError } from "../support/mcp_peer.ts";
import { until } from "../support/until.ts";
import { Scene, textOf } from "./scene.ts";

const RULES = `prefix_rule(pattern = ["ask"], decision = "prompt")\n`;
const ARGS = { command: "x", workdir: "/work", yield_ms: 1000 };

Deno.test("with all tools there are four, and the description of shell says how long commands may take", async () => {
  const { peer } = await new Scene({ hasHandles: true }).client();
  const { tools } = await peer.request("tools/list");
  assert.deepEqual(tools.map(({ name }: { name: string }) => name), [
    "shell",
    "shell_poll",
    "shell_input",
    "shell_stop",
  ]);
  for (const { annotations } of tools) {
    assert.deepEqual([annotations.readOnlyHint, annotations.destructiveHint, annotations.openWorldHint], [
      false,
      true,
      true,
    ]);
  }
});

Deno.test("a command that takes longer than its call goes on under a handle", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const first = peer.call("shell", { ...ARGS, stdin: true, merge_output: true });
  const shell = await started;
  assert.deepEqual([shell.options.stdin, shell.options.output], ["open", "merged"]);
  shell.print("one\n");
  await scene.passTimeUntil(first);
  const { exit_code, output, running, handle } = textOf(await first);
  assert.deepEqual({ exit_code, output, running }, { exit_code: null, output: "one\n", running: true });

  shell.print("two\n");
  const poll = peer.call("shell_poll", { handle, wait_ms: 500 });
  await scene.passTimeUntil(poll);
  assert.deepEqual([textOf(await poll).output, textOf(await poll).handle], ["two\n", handle]);

  const input = peer.call("shell_input", { handle, text: "yes\n", close: true, wait_ms: 500 });
  await scene.passTimeUntil(input);
  assert.deepEqual([shell.written, shell.isStdinClosed], [["yes\n"], true]);

  const last = peer.call("shell_poll", { handle });
  shell.print("three\n");
  shell.exit(0);
  assert.deepEqual([textOf(await last).exit_code, textOf(await last).output], [0, "three\n"]);
  await assert.rejects(peer.call("shell_poll", { handle }), (error: McpError) => error.code === -32_602);
});

Deno.test("a poll returns a moment after new output, and at once if there is unseen output", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, { ...ARGS, stdin: true });
  const idle = scene.clock.pending;
  const timers = (count: number) =>
    until(() => scene.clock.pending === idle + count, () => `${scene.clock.pending - idle} timers, not ${count}`);

  const poll = peer.call("shell_poll", { handle, wait_ms: 45_000 });
  await timers(1);
  shell.print("one\n");
  await timers(2);
  scene.clock.advance(OUTPUT_GATHER_MS - 1);
  shell.print("two\n", "stderr");
  scene.clock.advance(1);
  assert.deepEqual([textOf(await poll).output, textOf(await poll).running], ["one\ntwo\n", true]);

  shell.print("before\n");
  const input = peer.call("shell_input", { handle, text: "x\n", wait_ms: 45_000 });
  await timers(1);
  scene.clock.advance(10_000);
  shell.print("answer\n");
  await timers(2);
  scene.clock.advance(OUTPUT_GATHER_MS);
  assert.equal(textOf(await input).output, "before\nanswer\n", "what was there before the text answers nothing");

  shell.print("unseen\n");
  const late = peer.call("shell_poll", { handle, wait_ms: 45_000 });
  await timers(2);
  scene.clock.advance(OUTPUT_GATHER_MS);
  assert.equal(textOf(await late).output, "unseen\n");
  assert.equal(scene.clock.pending, idle, "nothing is left behind");
});

Deno.test("a poll whose output another one has taken waits on", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, ARGS);
  const idle = scene.clock.pending;
  const polls = [
    peer.call("shell_poll", { handle, wait_ms: 45_000 }),
    peer.call("shell_poll", { handle, wait_ms: 10 }),
  ];
  await until(() => scene.clock.pending === idle + 2, () => "the polls do not wait");
  shell.print("one\n");
  scene.clock.advance(10);
  assert.equal(textOf(await polls[1]).output, "one\n");
  scene.clock.advance(OUTPUT_GATHER_MS);
  shell.print("two\n");
  scene.clock.advance(OUTPUT_GATHER_MS);
  assert.equal(textOf(await polls[0]).output, "two\n");
});

Deno.test("shell_stop ends the command and returns what was left", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, ARGS);
  shell.print("rest\n");
  const { output, stopped } = textOf(await peer.call("shell_stop", { handle }));
  assert.deepEqual([output, stopped, shell.isTerminated], ["rest\n", true, true]);
});

Deno.test("only its own client can use a handle", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { handle } = await scene.leftRunning(peer, ARGS);
  const { peer: another } = await scene.client();
  await assert.rejects(another.call("shell_stop", { handle }), McpError);
  assert.equal(scene.shells.shells[0]!.isTerminated, false);
});

Deno.test("a prompt that comes up between two calls is asked in the next, and a call does not end with one open", async () => {
  const scene = new Scene({ hasHandles: true, rules: RULES });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, ARGS);
  const verdict = shell.exec(["ask"]);
  assert.equal(peer.prompts.length, 0);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  peer.onElicit = () => promise;
  const poll = peer.call("shell_poll", { handle, wait_ms: 100 });
  await peer.until(() => peer.prompts.length === 1);
  scene.clock.advance(60_000);
  resolve({ action: "accept", content: {} });
  assert.equal((await verdict).kind, "escalate");
  assert.equal(textOf(await poll).running, true);
});

Deno.test("of two polls of a command the remaining one asks", async () => {
  const scene = new Scene({ hasHandles: true, rules: RULES });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, ARGS);
  const idle = scene.clock.pending;
  const left = peer.call("shell_poll", { handle, wait_ms: 40_000 });
  await until(() => scene.clock.pending === idle + 1, () => "the first look does not wait");
  const short = peer.call("shell_poll", { handle, wait_ms: 10 });
  await until(() => scene.clock.pending === idle + 2, () => "the second look does not wait");
  scene.clock.advance(10);
  assert.equal(textOf(await short).running, true);
  peer.onElicit = () => ({ action: "accept", content: {} });
  let verdict = "";
  void shell.exec(["ask"]).then(({ kind }) => verdict = kind);
  await until(() => verdict !== "", () => "the question is not asked", 10_000);
  assert.equal(verdict, "escalate");
  shell.exit(0);
  assert.equal(textOf(await left).exit_code, 0);
});

Deno.test("commands that have ended give way to others, oldest first, and a later poll is told so", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const start = async () => {
    const started = scene.shells.next();
    const answer = peer.call("shell", { ...ARGS, yield_ms: 0, timeout_ms: 9_000_000 });
    const shell = await started;
    await scene.passTimeUntil(answer);
    return { shell, handle: textOf(await answer).handle as string };
  };
  const told = (handle: string) => peer.call("shell_poll", { handle }).then(textOf, ({ message }) => message);
  const kept = [];
  while (kept.length < MAX_CLIENT_COMMANDS) kept.push(await start());
  await assert.rejects(peer.call("shell", ARGS), /64 others of this client still run or wait; end one/);

  // Not in the order in which they began.
  for (const index of [5, 2, 7]) {
    kept[index]!.shell.print(`${index}`);
    kept[index]!.shell.exit(index);
    await scene.passTimeUntil(kept[index]!.shell.closed);
  }
  const later = [await start(), await start()];
  assert.match(
    await told(kept[5]!.handle),
    /its command has ended, and its result was dropped, because later commands/,
  );
  assert.match(await told(kept[2]!.handle), /because later commands needed its room/);
  const { exit_code, output } = await told(kept[7]!.handle);
  assert.deepEqual([exit_code, output], [7, "7"]);
  assert.match(await told(kept[7]!.handle), /its command has ended, or there was none/);
  later.push(await start());
  await assert.rejects(peer.call("shell", ARGS), /still run or wait/);
  assert.ok(kept.every(({ shell }, index) => [2, 5, 7].includes(index) || !shell.isTerminated));

  later[0]!.shell.exit(0);
  await scene.passTimeUntil(later[0]!.shell.closed);
  await until(() => {
    scene.clock.advance(FINISHED_COMMAND_MS);
    return scene.clock.pending === MAX_CLIENT_COMMANDS - 1;
  }, () => `${scene.clock.pending} timers`);
  assert.match(await told(later[0]!.handle), /because nobody fetched it within 10 minutes/);
});

Deno.test("of commands that are started at once no more begin than a client may have, and each end gives its place back", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const long = { ...ARGS, yield_ms: 3_600_000, timeout_ms: 9_000_000 };
  const answers = Array.from({ length: MAX_CLIENT_COMMANDS }, () => peer.call("shell", long));
  const refusal = async () => {
    const call = peer.call("shell", { ...ARGS, yield_ms: 0 }).then(() => "it began", ({ message }) => message);
    await scene.passTimeUntil(call);
    return await call;
  };
  for (const told of await Promise.all(Array.from({ length: 40 }, refusal))) {
    assert.match(
      told,
      /Cannot start the command: 64 others of this client still run or wait; end one \(shell_stop\), or/,
    );
  }
  assert.equal(scene.shells.shells.length, MAX_CLIENT_COMMANDS);
  const { shells } = scene.shells;

  // By itself, because its client gives it up, and because it cannot be started.
  shells[0]!.exit(0);
  await answers[0];
  let started = scene.shells.next();
  const requestId = peer.nextId;
  void peer.call("shell", long).catch(() => {});
  const shell = await started;
  assert.match(await refusal(), /still run or wait/);
  peer.notify("notifications/cancelled", { requestId });
  await shell.exited;
  scene.shells.refusal = "no sandbox here";
  // Its place comes back when nothing of it runs any more, of which a client that gave it up is not told.
  while (/still run or wait/.test(await refusal()));
  for (let count = 0; count < 3; count++) await assert.rejects(peer.call("shell", ARGS), /no sandbox here/);
  for (let count = 0; count < 3; count++) {
    await assert.rejects(peer.call("shell", { ...ARGS, workdir: 1 }), /failed to deserialize parameters/);
  }
  scene.shells.refusal = null;
  started = scene.shells.next();
  const last = peer.call("shell", ARGS);
  (await started).exit(0);
  assert.equal(textOf(await last).exit_code, 0);
  for (const other of shells) other.exit(0);
  await Promise.all(answers);
});

Deno.test("calls that wait for their answers are bounded, and each answer makes room for another call", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, ARGS);
  const look = () => peer.call("shell_poll", { handle, wait_ms: 45_000 }).then(textOf, ({ message }) => message);
  const looks = Array.from({ length: MAX_OPEN_CALLS }, look);
  const tooMany = look();
  await scene.passTimeUntil(tooMany);
  assert.match(
    await tooMany,
    /Cannot serve the call: 256 others of this client wait for their answers; cancel one, or/,
  );
  shell.print("news\n");
  const answered = Promise.any(looks);
  await scene.passTimeUntil(answered);
  await answered;
  const later = look();
  shell.exit(0);
  assert.equal((await Promise.all(looks)).filter(({ output }) => output === "news\n").length, 1);
  assert.equal((await later).exit_code ?? 0, 0);
});

Deno.test("progress is told to clients that sent a token", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", { ...ARGS, yield_ms: 60_000 }, { progressToken: "t" });
  const shell = await started;
  scene.clock.advance(1000);
  await until(() => peer.notifications.length === 1, () => "no progress after a second", 10_000);
  scene.clock.advance(5000);
  await until(() => peer.notifications.length === 2, () => "no more progress", 10_000);
  assert.deepEqual(peer.notifications.map(({ params }) => params), [
    { progressToken: "t", progress: 1, message: "running for 1 s" },
    { progressToken: "t", progress: 6, message: "running for 6 s" },
  ]);
  shell.exit(0);
  await answer;
  assert.equal(scene.clock.pending, 0, "nothing is left behind");
});
