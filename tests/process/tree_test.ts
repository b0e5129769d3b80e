/** Descendants that try to get away, and other people's children that must not be touched. */

import assert from "node:assert/strict";
import { reap } from "../../src/os/child_reaping.ts";
import { readStat } from "../../src/os/procfs.ts";
import { PosixBackend } from "../../src/process/posix_backend.ts";
import { Gate } from "../support/gate.ts";
import { eventually, RecordedChild, shell, TERMINAL } from "../support/recorded_child.ts";

interface Scene {
  readonly backend: PosixBackend;
  readonly directory: string;
}

function testTree(claim: string, test: (scene: Scene) => Promise<void>): void {
  Deno.test(claim, async () => {
    const directory = await Deno.makeTempDir();
    const backend = new PosixBackend();
    try {
      await test({ backend, directory });
    } finally {
      const { survivors } = await backend.close({ graceMs: 0 });
      await Deno.remove(directory, { recursive: true });
      assert.deepEqual(survivors, []);
    }
  });
}

/** Runs in its own session, below nobody, holding `gate` open for writing after it has told its pid there. */
function daemon(gate: Gate, options: { before?: string } = {}): string {
  return `setsid -f bash -c '${options.before ?? ""} echo $$ >&3; exec sleep 1000' 3> ${gate.path} > /dev/null 2>&1`;
}

/** The pid of the daemon at this gate, and the moment nobody holds the gate any more. */
async function watchGate(gate: Gate): Promise<{ pid: number; gone: Promise<void> }> {
  const { pids, gone } = await watchCrowd(gate, 1);
  return { pid: pids[0]!, gone };
}

/** The same for several at one gate. A gate each would not do: opening one occupies a thread until somebody comes. */
async function watchCrowd(gate: Gate, count: number): Promise<{ pids: number[]; gone: Promise<void> }> {
  const file = await Deno.open(gate.path);
  const reader = file.readable.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n").length <= count) text += (await reader.read()).value;
  const gone = (async () => {
    while (!(await reader.read()).done);
  })();
  return { pids: text.trim().split("\n").map(Number), gone };
}

testTree("endTrees() ends a daemon that left its parent, group and session, and nobody else's", async (scene) => {
  const { backend, directory } = scene;
  const gates = await Promise.all(["one", "two"].map((name) => Gate.make(directory, name)));
  const starting = gates.map((gate) => RecordedChild.run(backend, shell(daemon(gate))));
  const [one, two] = await Promise.all(gates.map(watchGate));
  const children = await Promise.all(starting);
  for (const { pid } of [one!, two!]) {
    const stat = readStat(pid)!;
    assert.deepEqual([stat.ppid, stat.sid], [Deno.pid, pid]);
  }
  assert.deepEqual(await backend.endTrees([children[0]!.process], { graceMs: 0 }), { endedCount: 1, survivors: [] });
  await one!.gone;
  assert.ok(isRunning(two!.pid));
  assert.deepEqual(await backend.endTrees([children[1]!.process], { graceMs: 0 }), { endedCount: 1, survivors: [] });
  await two!.gone;
});

testTree("endTrees() keeps daemons apart whose starters were started at the same time", async (scene) => {
  const { backend, directory } = scene;
  const gates = await Promise.all(Array.from({ length: 8 }, (_, index) => Gate.make(directory, `${index}`)));
  const starting = gates.map((gate) => RecordedChild.run(backend, shell(daemon(gate))));
  const daemons = await Promise.all(gates.map(watchGate));
  const children = await Promise.all(starting);
  for (const [index, child] of children.entries()) {
    await backend.endTrees([child.process], { graceMs: 0 });
    await daemons[index]!.gone;
    assert.ok(daemons.slice(index + 1).every(({ pid }) => isRunning(pid)));
  }
});

testTree("endTrees() finds every daemon of a burst of starts once all of them are to end", async (scene) => {
  const { backend, directory } = scene;
  const gate = await Gate.make(directory, "gate");
  const starting = Array.from({ length: 40 }, () => RecordedChild.run(backend, shell(daemon(gate))));
  const { gone } = await watchCrowd(gate, 40);
  const children = await Promise.all(starting);
  let endedCount = 0;
  for (const { process } of children) endedCount += (await backend.endTrees([process], { graceMs: 0 })).endedCount;
  assert.equal(endedCount, 40);
  await gone;
});

testTree("endTrees() ends jobs of an interactive shell, which have groups of their own", async ({ backend }) => {
  const script = "set -m; sleep 1000 & sleep 1000 & trap '' HUP; echo ready; wait";
  const child = await RecordedChild.start(backend, { ...shell(""), argv: ["bash", "-c", script], io: TERMINAL });
  await child.saw("pty", "ready");
  const report = await backend.endTrees([child.process], { graceMs: 0 });
  assert.deepEqual(report, { endedCount: 3, survivors: [] });
  await child.end;
});

testTree("endTrees() ends a process that replaces itself without pause", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("hop() { hop & exit; }; echo ready; hop"));
  await child.saw("stdout", "ready");
  assert.deepEqual((await backend.endTrees([child.process], { graceMs: 0 })).survivors, []);
  // Every hop inherits the output, so its end is theirs.
  await child.end;
});

testTree("endTrees() ends a loop that makes daemons, and all of them", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const script = `exec 3> ${gate.path}; echo 1 >&3; while :; do setsid -f sleep 1000; done`;
  const child = await RecordedChild.start(backend, shell(script));
  const { gone } = await watchGate(gate);
  await eventually("there are some daemons", () => daemonCount(backend) >= 5);
  const report = await backend.endTrees([child.process], { graceMs: 0 });
  assert.ok(report.endedCount >= 5);
  assert.deepEqual(report.survivors, []);
  await gone;
});

testTree("endTrees() asks before it kills, also processes that are stopped", async ({ backend }) => {
  const script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
  const child = await RecordedChild.start(backend, shell(script));
  await child.saw("stdout", "ready");
  child.process.signalGroup(19);
  await backend.endTrees([child.process], { graceMs: 10_000 });
  await child.end;
  assert.equal(child.text("stdout"), "ready\nasked\n");
});

testTree("a daemon that gave up its mark is left until the server ends, and ended then", async (scene) => {
  const { backend, directory } = scene;
  const gate = await Gate.make(directory, "gate");
  const starting = RecordedChild.run(backend, shell(daemon(gate, { before: "ulimit -S -x unlimited;" })));
  const { pid, gone } = await watchGate(gate);
  const child = await starting;
  assert.deepEqual(await backend.endTrees([child.process], { graceMs: 0 }), { endedCount: 0, survivors: [] });
  assert.ok(isRunning(pid));
  const report = await backend.close({ graceMs: 0 });
  assert.deepEqual(report, { endedCount: 1, survivors: [] });
  await gone;
});

testTree("descendantsOf() lists what runs below one child", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const other = await RecordedChild.start(backend, shell("sleep 1000 & echo $!; wait"));
  const child = await RecordedChild.start(backend, shell(`sleep 1000 & echo $!; ${daemon(gate)}; wait`));
  const { pid } = await watchGate(gate);
  await child.saw("stdout", "\n");
  await other.saw("stdout", "\n");
  const found = backend.descendantsOf(child.process).map((process) => process.pid);
  assert.deepEqual(found.sort(), [Number(child.text("stdout")), pid].sort());
});

testTree("orphans that have ended are reaped, and other parts' children are not", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const starting = RecordedChild.run(backend, shell(`setsid -f sh -c 'echo $$ >&3' 3> ${gate.path} > /dev/null 2>&1`));
  const { pid, gone } = await watchGate(gate);
  await gone;
  const child = await starting;
  await eventually("the orphan is a zombie", () => readStat(pid)?.state === "Z");
  const unrelated = new Deno.Command("sh", { args: ["-c", "exit 3"] }).spawn();
  // Without giving the runtime a turn, in which it would reap its own.
  const deadline = performance.now() + 10_000;
  while (readStat(unrelated.pid)?.state !== "Z") assert.ok(performance.now() < deadline);
  for (let sweeps = 0; sweeps < 5; sweeps++) backend.tree.sweep();
  assert.equal(readStat(unrelated.pid)?.state, "Z");
  assert.equal(readStat(pid), null);
  assert.equal((await unrelated.status).code, 3);
  assert.equal(child.process.signalGroup(9), false);
});

testTree("close() leaves children of other parts of the program alone", async ({ backend }) => {
  await RecordedChild.run(backend, shell("true"));
  const inOurSession = new Deno.Command("sleep", { args: ["1000"] }).spawn();
  const withOwnSession = new Deno.Command("setsid", { args: ["sleep", "1000"] }).spawn();
  const unprotect = backend.tree.protect(withOwnSession.pid);
  await backend.close({ graceMs: 0 });
  for (const child of [inOurSession, withOwnSession]) {
    child.kill("SIGTERM");
    assert.equal((await child.status).signal, "SIGTERM");
  }
  unprotect();
});

testTree("close() reaps all children it has started", async ({ backend }) => {
  const children = await Promise.all(
    Array.from({ length: 5 }, () => RecordedChild.start(backend, shell("sleep 1000 & wait"))),
  );
  const report = await backend.close({ graceMs: 0 });
  assert.ok(report.endedCount >= 5);
  for (const { process } of children) assert.deepEqual(reap(process.pid), { type: "unknown" });
});

/** Sleepers in sessions of their own that have become our children. */
function daemonCount(backend: PosixBackend): number {
  return backend.tree.snapshot().living((owner) => owner.type === "roots")
    .filter(({ ppid, pid, sid }) => ppid === Deno.pid && pid === sid).length;
}

/** Neither ended nor stopped. */
function isRunning(pid: number): boolean {
  return ["R", "S", "D"].includes(readStat(pid)?.state ?? "");
}
