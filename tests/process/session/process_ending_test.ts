/**
 * The ways a process comes to its end: signals, force and grace, deadlines, the end of its session. On fake children.
 *
 * More than 300 lines: every way to end on one bench.
 */

import assert from "node:assert/strict";
import { internalError } from "../../../src/errors.ts";
import {
  CLOSED_RETENTION_MS,
  DEADLINE_KILL_GRACE_MS,
  DRAIN_AFTER_KILL_MS,
  REAP_TIMEOUT_MS,
} from "../../../src/process/limits.ts";
import { PRESENT } from "../../../src/process/session/audience.ts";
import type { EndReason } from "../../../src/process/session/process_views.ts";
import { settled } from "../../support/fake_backend.ts";
import { ProcessSession, refuses, startOptions, TERMINAL } from "../../support/process_session.ts";

const SIGINT = 2;
const SIGKILL = 9;
const SIGTERM = 15;
const FORCE = { type: "force" } as const;

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function endOf(session: ProcessSession): Promise<[EndReason, string | null] | null> {
  const { exit } = await session.read();
  return exit === null ? null : [exit.end.reason, exit.end.signal];
}

// ---------------------------------------------------------------- signal, terminate, resize

Deno.test("signal() reaches the group of a running process and nobody else", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  session.manager.get("p").signal("interrupt");
  child.exit();
  session.manager.get("p").signal("interrupt");
  child.closeOutput();
  session.manager.get("p").signal("interrupt");
  assert.deepEqual(child.signals, [SIGINT]);
});

Deno.test("terminate() by force kills the group, and says whether there was something to kill", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  assert.equal(session.manager.get("p").terminate(FORCE), true);
  assert.deepEqual(child.signals, [SIGKILL]);
  await settled();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 exited 137", "p 2 closed"]);
  assert.equal(session.manager.get("p").terminate(FORCE), false);
  assert.deepEqual(await endOf(session), ["terminated", "SIGKILL"]);
  assert.equal(session.clock.pending, 1, "only the forgetting waits");
});

Deno.test("signal() reaches the group that has the terminal when that is asked for, and only of a terminal", async () => {
  const session = new ProcessSession();
  const child = await session.start({ io: TERMINAL });
  session.manager.get("p").signal("interrupt", "foreground");
  assert.deepEqual([child.signals, child.foregroundSignals], [[], [SIGINT]]);
  child.exit();
  session.manager.get("p").signal("interrupt", "foreground");
  assert.deepEqual(child.foregroundSignals, [SIGINT]);
  await session.start({ processId: "pipe" });
  await refuses(
    () => session.manager.get("pipe").signal("interrupt", "foreground"),
    "process pipe is not attached to a PTY",
  );
});

Deno.test("terminateTree() ends the tree at once or after its grace, also what an exited process has left", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  assert.deepEqual(await session.manager.get("p").terminateTree(FORCE), {
    running: true,
    endedCount: 1,
    survivorPids: [],
  });
  assert.deepEqual([child.signals[0], session.backend.endedTrees], [SIGKILL, [{ pids: [100], graceMs: 0 }]]);
  assert.deepEqual(await endOf(session), ["terminated", "SIGKILL"]);

  await session.manager.get("p").terminateTree({ type: "graceful", timeoutMs: 70 });
  assert.deepEqual(session.backend.endedTrees[1], { pids: [100], graceMs: 70 });

  const gentle = await session.start({ processId: "gentle" });
  assert.deepEqual(await session.manager.get("gentle").terminateTree({ type: "graceful", timeoutMs: 70 }), {
    running: true,
    endedCount: 1,
    survivorPids: [],
  });
  assert.deepEqual(gentle.signals, [15]);
  assert.deepEqual((await session.read("gentle")).exit?.end.reason, "terminated");
});

Deno.test("terminateTree() of a process that is being started waits for it", async () => {
  const session = new ProcessSession();
  session.backend.holdsSpawns = true;
  const starting = session.start();
  const ending = session.manager.get("p").terminateTree(FORCE);
  await settled();
  assert.deepEqual(session.backend.endedTrees, []);
  session.backend.finishSpawn();
  await starting;
  assert.equal((await ending).running, true);

  const failing = session.start({ processId: "q" });
  const never = session.manager.get("q").terminateTree(FORCE);
  session.backend.nextFailure = internalError("no");
  session.backend.finishSpawn();
  await assert.rejects(failing);
  assert.deepEqual(await never, { running: false, endedCount: 0, survivorPids: [] });
});

Deno.test("terminate() by force reaches the close although a descendant holds the output open", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  child.print("before");
  session.manager.get("p").terminate(FORCE);
  await settled();
  child.print("in the pipe");
  session.clock.advance(DRAIN_AFTER_KILL_MS);
  await settled();
  assert.deepEqual(session.sink.lines.slice(1), [
    "p 1 stdout before",
    "p 2 exited 137",
    "p 3 stdout in the pipe",
    "p 4 closed",
  ]);
});

Deno.test("terminate() by force reaches the close although nobody reads the output", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  session.sink.hasRoom = false;
  child.print("1");
  child.print("2");
  session.manager.get("p").terminate(FORCE);
  await settled();
  session.clock.advance(DRAIN_AFTER_KILL_MS);
  await settled();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout 1", "p 2 exited 137", "p 3 closed"]);
  session.sink.hasRoom = true;
  session.manager.resumeOutput();
});

Deno.test("terminate() leaves alone what has exited, though it is not closed", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  child.exit();
  assert.equal(session.manager.get("p").terminate(FORCE), false);
  assert.equal(session.manager.get("p").terminate({ type: "graceful", timeoutMs: 5 }), false);
  assert.deepEqual(child.signals, []);
  assert.equal(session.clock.pending, 0);
});

Deno.test("terminate() with grace lets the process end itself", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.ignoresTerm = true;
  assert.equal(session.manager.get("p").terminate({ type: "graceful", timeoutMs: 4000 }), true);
  child.print("bye");
  child.exit(5);
  assert.deepEqual(child.signals, [SIGTERM]);
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout bye", "p 2 exited 5", "p 3 closed"]);
  assert.deepEqual(await endOf(session), ["terminated", null]);
  assert.equal(session.clock.pending, 1, "only the forgetting waits");
});

Deno.test("terminate() with grace kills when the grace is over", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.ignoresTerm = true;
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 400 });
  session.clock.advance(399);
  assert.deepEqual(child.signals, [SIGTERM]);
  session.clock.advance(1);
  assert.deepEqual(child.signals, [SIGTERM, SIGKILL]);
  await settled();
  assert.deepEqual(await endOf(session), ["terminated", "SIGKILL"]);
});

Deno.test("terminate() by force wins over an earlier grace, and a shorter grace over a longer", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.ignoresTerm = true;
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 1000 });
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 100 });
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 5000 });
  session.clock.advance(100);
  assert.deepEqual(child.signals, [SIGTERM, SIGTERM, SIGTERM, SIGKILL]);

  const other = await session.start({ processId: "q" });
  other.ignoresTerm = true;
  session.manager.get("q").terminate({ type: "graceful", timeoutMs: 1000 });
  session.manager.get("q").terminate(FORCE);
  assert.deepEqual(other.signals, [SIGTERM, SIGKILL]);
});

Deno.test("resize() reaches a running terminal, does nothing after its exit, and needs a terminal", async () => {
  const session = new ProcessSession();
  const child = await session.start({ io: TERMINAL });
  session.manager.get("p").resize({ rows: 40, cols: 132 });
  assert.deepEqual(child.sizes, [{ rows: 40, cols: 132 }]);
  child.exit();
  session.manager.get("p").resize({ rows: 1, cols: 1 });
  assert.equal(child.sizes.length, 1);
  await session.start({ processId: "q" });
  await refuses(() => session.manager.get("q").resize({ rows: 1, cols: 1 }), "process q is not attached to a PTY");
});

// ---------------------------------------------------------------- deadlines

Deno.test("a process that outlives its timeout is asked, then killed, and what it printed is kept", async () => {
  const session = new ProcessSession();
  const child = await session.start({ timeoutMs: 1000 });
  child.ignoresTerm = true;
  child.print("so far");
  session.clock.advance(999);
  assert.deepEqual(child.signals, []);
  session.clock.advance(1);
  assert.deepEqual(child.signals, [SIGTERM]);
  session.clock.advance(DEADLINE_KILL_GRACE_MS);
  assert.deepEqual(child.signals, [SIGTERM, SIGKILL]);
  await settled();
  const { chunks, exit, closed } = await session.read();
  assert.deepEqual([decode(chunks[0]!.bytes), exit?.exitCode, closed], ["so far", 137, true]);
  assert.deepEqual(await endOf(session), ["timeout", "SIGKILL"]);
});

Deno.test("a process that ends in time is not affected by its timeout", async () => {
  const session = new ProcessSession();
  const child = await session.start({ timeoutMs: 1000, idleTimeoutMs: 500 });
  child.exit();
  session.clock.advance(5000);
  assert.deepEqual(child.signals, []);
  assert.deepEqual(await endOf(session), ["exit", null]);
});

Deno.test("what a timed out process leaves behind is killed after the grace, and its output closed", async () => {
  const session = new ProcessSession();
  const child = await session.start({ timeoutMs: 1000 });
  child.isOutputHeldOpen = true;
  session.clock.advance(1000);
  await settled();
  assert.deepEqual([(await session.read()).exit?.exitCode, (await session.read()).closed], [143, false]);
  session.clock.advance(DEADLINE_KILL_GRACE_MS);
  session.clock.advance(DRAIN_AFTER_KILL_MS);
  await settled();
  assert.deepEqual(child.signals, [SIGTERM, SIGKILL]);
  assert.equal((await session.read()).closed, true);
});

Deno.test("the idle timeout counts from the last output", async () => {
  const session = new ProcessSession();
  const child = await session.start({ idleTimeoutMs: 1000 });
  for (let count = 0; count < 5; count++) {
    session.clock.advance(900);
    child.print("alive");
  }
  assert.deepEqual(child.signals, []);
  session.clock.advance(999);
  assert.deepEqual(child.signals, []);
  session.clock.advance(1);
  await settled();
  assert.deepEqual(child.signals, [SIGTERM]);
  assert.deepEqual(await endOf(session), ["timeout", "SIGTERM"]);
});

Deno.test("the idle timeout does not count time in which we paused the output", async () => {
  const session = new ProcessSession();
  const child = await session.start({ idleTimeoutMs: 1000 });
  session.sink.hasRoom = false;
  child.print("x");
  session.clock.advance(10_000);
  assert.deepEqual(child.signals, []);
  session.sink.hasRoom = true;
  session.manager.resumeOutput();
  session.clock.advance(2000);
  assert.deepEqual(child.signals, [SIGTERM]);
});

Deno.test("the first reason for an end is reported", async () => {
  const session = new ProcessSession();
  const child = await session.start({ timeoutMs: 1000 });
  child.ignoresTerm = true;
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 5000 });
  session.clock.advance(1000);
  session.clock.advance(DEADLINE_KILL_GRACE_MS);
  await settled();
  assert.deepEqual(await endOf(session), ["terminated", "SIGKILL"]);
});

// ---------------------------------------------------------------- the end of the session

Deno.test("endAll() ends every process with its tree, and resolves when all are gone", async () => {
  const session = new ProcessSession();
  const [first, second] = [await session.start({ processId: "1" }), await session.start({ processId: "2" })];
  const wait = session.manager.get("1").wait({ until: "closed", timeoutMs: null });
  const outcome = await session.manager.endAll("sessionExpired", 0);
  assert.deepEqual(outcome, { kept: [], survivorPids: [] });
  assert.deepEqual(session.backend.endedTrees, [{ pids: [100, 101], graceMs: 0 }]);
  assert.deepEqual([first.isDisposed, second.isDisposed], [true, true]);
  assert.deepEqual((await wait).exit?.end, { reason: "sessionExpired", signal: "SIGKILL" });
  assert.equal(session.manager.size, 0);
  assert.equal(session.clock.pending, 0);
  await refuses(() => session.start(), "session has ended");
});

Deno.test("endAll() gives processes their grace, and tells an attached sink how they end", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.ignoresTerm = true;
  const ending = session.manager.endAll("serverShutdown", 1000);
  await settled();
  assert.deepEqual(child.signals, [SIGTERM]);
  child.print("bye");
  child.exit(0);
  session.clock.advance(1000);
  await ending;
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout bye", "p 2 exited 0", "p 3 closed"]);
});

Deno.test("endAll() called again without grace hurries the end", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.ignoresTerm = true;
  const gentle = session.manager.endAll("serverShutdown", 60_000);
  await settled();
  await session.manager.endAll("serverShutdown", 0);
  assert.equal(child.isDisposed, true);
  session.clock.advance(60_000);
  await gentle;
  assert.equal(session.clock.pending, 0);
});

Deno.test("endAll() closes what a descendant holds open", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  const ending = session.manager.endAll("sessionExpired", 0);
  await settled();
  await settled();
  session.clock.advance(DRAIN_AFTER_KILL_MS);
  assert.deepEqual(await ending, { kept: [], survivorPids: [] });
  assert.equal(child.isDisposed, true);
});

Deno.test("endAll() also ends what closed processes left behind, forgotten ones too", async () => {
  const session = new ProcessSession();
  (await session.start({ processId: "1" })).exit();
  session.clock.advance(CLOSED_RETENTION_MS);
  (await session.start({ processId: "2" })).exit();
  await session.manager.endAll("sessionExpired", 7);
  assert.deepEqual(session.backend.endedTrees, [{ pids: [100, 101], graceMs: 7 }]);
});

Deno.test("endAll() of a session without processes does not call the backend", async () => {
  const session = new ProcessSession();
  assert.deepEqual(await session.manager.endAll("serverShutdown", 0), { kept: [], survivorPids: [] });
  assert.deepEqual(session.backend.endedTrees, []);
});

Deno.test("endAll() still kills the groups when descendants cannot be looked for", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  session.backend.nextEndFailure = new Error("no /proc");
  await session.manager.endAll("sessionExpired", 0);
  assert.deepEqual([child.signals, child.isDisposed], [[SIGKILL], true]);
});

Deno.test("endAll() on expiry keeps the processes that asked for it, until the server ends", async () => {
  const session = new ProcessSession();
  const kept = await session.start({ processId: "kept", keepOnSessionEnd: true });
  const ended = await session.start({ processId: "ended" });
  const outcome = await session.manager.endAll("sessionExpired", 0);
  assert.deepEqual(outcome.kept.map(({ processId }) => processId), ["kept"]);
  assert.deepEqual([kept.isDisposed, ended.isDisposed], [false, true]);
  kept.print("still here");
  assert.equal((await session.read("kept")).chunks.length, 1);
  assert.equal(session.manager.size, 1);

  await session.manager.endAll("serverShutdown", 0);
  assert.equal(kept.isDisposed, true);
  assert.equal(session.manager.size, 0);
});

Deno.test("a process kept after its session is forgotten some time after it closed", async () => {
  const session = new ProcessSession();
  const kept = await session.start({ keepOnSessionEnd: true });
  await session.manager.endAll("sessionExpired", 0);
  kept.exit();
  session.clock.advance(CLOSED_RETENTION_MS);
  assert.equal(session.manager.size, 1, "nobody could have read it");
  session.manager.countRetention(PRESENT);
  session.clock.advance(CLOSED_RETENTION_MS - 1);
  assert.equal(session.manager.size, 1);
  session.clock.advance(1);
  assert.equal(session.manager.size, 0);
});

Deno.test("a process to be kept that closes while its session ends is forgotten in its time", async () => {
  const session = new ProcessSession();
  const kept = await session.start({ processId: "kept", keepOnSessionEnd: true });
  const slow = await session.start({ processId: "slow" });
  slow.ignoresTerm = true;
  const ending = session.manager.endAll("sessionExpired", 1000);
  await settled();
  kept.exit();
  session.clock.advance(1000);
  const outcome = await ending;
  assert.deepEqual(outcome.kept.map(({ processId }) => processId), ["kept"]);
  session.manager.countRetention(PRESENT);
  session.clock.advance(CLOSED_RETENTION_MS);
  assert.equal(session.manager.size, 0);
});

Deno.test("endAll() keeps a process that asked for it and had closed before, and drops it where nobody can reach it", async () => {
  for (const sharesKept of [true, false]) {
    const session = new ProcessSession({ sharesKept });
    const closed = await session.start({ processId: "closed", keepOnSessionEnd: true });
    const running = await session.start({ processId: "running", keepOnSessionEnd: true });
    closed.print("result");
    closed.exit(3);
    const { kept } = await session.manager.endAll("sessionEnded", 0);
    assert.deepEqual(kept.map(({ processId }) => processId), sharesKept ? ["closed", "running"] : ["running"]);
    if (sharesKept) assert.equal((await session.read("closed")).exit?.exitCode, 3);
    running.exit();
    assert.equal(session.manager.size, sharesKept ? 2 : 0);
  }
});

Deno.test("endAll() ends a process whose start is under way", async () => {
  const session = new ProcessSession();
  session.backend.holdsSpawns = true;
  const starting = session.start();
  const ending = session.manager.endAll("serverShutdown", 0);
  await settled();
  session.backend.finishSpawn();
  const child = await starting;
  assert.deepEqual(await ending, { kept: [], survivorPids: [] });
  assert.deepEqual([child.signals, child.isDisposed], [[SIGKILL], true]);
});

Deno.test("endAll() gives up a child that cannot be killed, and names it", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isUnkillable = true;
  const wait = session.manager.get("p").wait({ until: "closed", timeoutMs: null });
  const ending = session.manager.endAll("sessionExpired", 0);
  await settled();
  await settled();
  session.clock.advance(REAP_TIMEOUT_MS);
  assert.deepEqual(await ending, { kept: [], survivorPids: [100] });
  const { exit, closed, failure } = await wait;
  assert.deepEqual([exit, closed], [null, true]);
  assert.equal(failure, "process 100 did not end after SIGKILL, and the server gave up on it");
  assert.deepEqual([child.isDisposed, session.clock.pending], [true, 0]);
});

Deno.test("a session that ends before the answer to a start waits for the process all the same", async () => {
  const session = new ProcessSession();
  const started = await session.manager.start(startOptions());
  const { survivorPids } = await session.manager.endAll("sessionEnded", 0);
  assert.deepEqual([survivorPids, session.manager.size], [[], 0]);
  started.begin();
  await settled();
  assert.ok(!session.sink.lines.includes("p started"), "nobody was promised it");
});
