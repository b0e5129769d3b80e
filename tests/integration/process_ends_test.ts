/** Whom a signal or an end reaches, and what is said of a process that never was. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { processesMarked } from "../support/proc.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { TerminalSession } from "../support/terminal_session.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const START = { cwd: "/", env: { PATH: Deno.env.get("PATH")! }, tty: false };

/** A shell that leaves its tree in every way it can, and a word by which all of it is found. */
async function startTree(client: Client, end: string): Promise<{ processId: string; marker: string }> {
  const marker = `tree-${crypto.randomUUID()}`;
  const stay = (name: string) => `sh -c 'trap "" HUP; echo ${name}; while :; do sleep 1000; done' ${marker}`;
  const script = `${stay("child")} & setsid ${stay("session")} & (setsid ${stay("orphan")} &) ; ${end}`;
  const events = client.follow(marker);
  await client.call("process/start", { ...START, processId: marker, argv: ["sh", "-c", script] });
  let output = "";
  for await (const { method, params } of events) {
    if (method === "process/output") output += atob(params.chunk);
    if (output.split("\n").length === 4) break;
  }
  return { processId: marker, marker };
}

const alive = (marker: string) => processesMarked(marker).filter(({ state }) => state !== "Z").length;

Deno.test("process/terminate ends the group alone, and with tree all that descends from the process", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const { processId, marker } = await startTree(client, "wait");
  assert.deepEqual(await client.call("process/terminate", { processId }), { running: true });
  await client.call("process/wait", { processId });
  await until(() => alive(marker) === 2, () => `${alive(marker)} are alive`);

  // The process itself is gone; what it left is still found.
  const report = await client.call("process/terminate", { processId, tree: true });
  assert.deepEqual([report.running, report.survivorPids], [false, []]);
  assert(report.endedCount! >= 2, `${report.endedCount} were ended`);
  assert.equal(alive(marker), 0, "the answer comes when they have ended");
});

Deno.test("process/terminate with tree ends a running process and its descendants in one call", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const { processId, marker } = await startTree(client, "wait");
  const report = await client.call("process/terminate", { processId, tree: true });
  assert.deepEqual([report.running, report.survivorPids, alive(marker)], [true, [], 0]);
  assert.equal((await client.call("process/wait", { processId })).exitCode, 137);
  assert.equal(client.environmentInfo.capabilities.terminateTree, true);
  const unknown = await client.call("process/terminate", { processId: "none", tree: true });
  assert.deepEqual(unknown, { running: false, endedCount: 0, survivorPids: [] });
});

Deno.test("process/terminate with tree counts everything that it ends, the process itself and its group included", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  await client.call("process/start", { ...START, processId: "one", argv: ["sleep", "1000"] });
  assert.deepEqual(
    await client.call("process/terminate", { processId: "one", tree: true }),
    { running: true, endedCount: 1, survivorPids: [] },
  );
  const events = client.follow("two");
  const argv = ["sh", "-c", "sleep 1000 & echo up; wait"];
  await client.call("process/start", { ...START, processId: "two", argv });
  await events.next();
  const { endedCount } = await client.call("process/terminate", { processId: "two", tree: true });
  assert.equal(endedCount, 2);
});

Deno.test("a graceful end of a tree asks every descendant first, and others go on meanwhile", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const script = "setsid sh -c 'trap \"echo asked; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & " +
    // It goes on until it is asked itself, also when the other was asked, and ended, before it.
    "trap 'wait; exit 4' TERM; while :; do sleep 0.05; done";
  const events = client.follow("p");
  await client.call("process/start", { ...START, processId: "p", argv: ["sh", "-c", script] });
  await events.next();
  const mode = { type: "graceful", timeoutMs: 60_000 } as const;
  const ending = client.call("process/terminate", { processId: "p", tree: true, mode });
  assert.equal((await client.call("process/list", null)).processes.length, 1);
  assert.deepEqual((await ending).survivorPids, []);
  const { exitCode } = await client.call("process/wait", { processId: "p" });
  assert.equal(exitCode, 4);
  assert.equal(atob((await client.call("process/snapshot", { processId: "p" })).stdout), "ready\nasked\n");
});

Deno.test({
  name: "process/signal reaches a shell's group, and with target foreground the job that has its terminal",
  ignore: !areInstalled(["bash"], "signals to the foreground job"),
  fn: async () => {
    await using server = await TestServer.start();
    await using client = await server.connect();
    const env = { PS1: "$ ", HISTFILE: "/dev/null" };
    await using bash = await TerminalSession.start(client, ["bash", "--norc", "--noprofile", "-i"], { env });
    await bash.shows(["$"]);
    const job = `sh -c 'trap "echo got it" USR2; echo ready; while :; do sleep 0.05; done'`;
    await bash.enter(job);
    await bash.shows([`$ ${job}`, "ready"]);
    const { processId } = (await client.call("process/list", null)).processes[0]!;
    // The shell is alone in its group, and ignores this one.
    await client.call("process/signal", { processId, signal: "term" });
    await client.call("process/signal", { processId, signal: "usr2", target: "foreground" });
    // The job's present sleep does not survive it; the shell says so.
    await bash.until(({ lines }) => lines.includes("got it"));
    await client.call("process/signal", { processId, signal: "interrupt", target: "foreground" });
    await bash.until(({ lines }) => lines.at(-1) === "$");
    await bash.enter("exit 5");
    assert.equal(await bash.exitCode(), 5);
    assert.deepEqual(await client.call("process/signal", { processId, signal: "usr2", target: "foreground" }), {});
    assert.equal(client.environmentInfo.capabilities.signalForeground, true);

    await client.call("process/start", { ...START, processId: "pipe", argv: ["sleep", "1000"] });
    await assert.rejects(
      client.call("process/signal", { processId: "pipe", signal: "term", target: "foreground" }),
      (error: unknown) => error instanceof RpcError && error.message === "process pipe is not attached to a PTY",
    );
  },
});

Deno.test("a client that asked learns why its process could not be started; another is told what the reference says", async () => {
  await using server = await TestServer.start();
  await using plain = await server.connect();
  await using asking = await server.connect({ optionalFields: ["processFailure"] });
  const bad = { ...START, processId: "p", argv: ["/no/such/program"] };
  for (const client of [plain, asking]) await assert.rejects(client.call("process/start", bad), /No such file/);
  for (const method of ["process/read", "process/wait"] as const) {
    await assert.rejects(
      plain.call(method, { processId: "p" }),
      (error: unknown) => error instanceof RpcError && error.message === "unknown process id p",
    );
    const answer = await asking.call(method, { processId: "p", ...method === "process/read" ? { waitMs: 1000 } : {} });
    const { exited, exitCode, closed, failure, nextSeq } = answer;
    assert.deepEqual([exited, exitCode, closed, nextSeq], [false, null, true, 1]);
    assert.equal(failure, "the process could not be started: No such file or directory (os error 2)");
  }
  // The id is free, as after every failed start.
  await asking.call("process/start", { ...bad, argv: ["true"] });
  assert.equal((await asking.call("process/wait", { processId: "p" })).failure, null);
  assert.equal(asking.environmentInfo.capabilities.processFailure, true);
});

Deno.test("requests sent directly after a start that fails get the reason, without waiting for its answer", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect({ optionalFields: ["processFailure"] });
  const start = client.call("process/start", { ...START, processId: "p", argv: ["/no/such/program"] });
  const wait = client.call("process/wait", { processId: "p" });
  const read = client.call("process/read", { processId: "p", waitMs: 60_000 });
  await assert.rejects(start, /No such file/);
  for (const { failure } of [await wait, await read]) assert.match(failure!, /No such file/);
});
