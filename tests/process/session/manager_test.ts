/**
 * What callers ask of a session's processes, on fake children.
 *
 * More than 300 lines: one suite on one bench.
 */

import assert from "node:assert/strict";
import { DomainError, internalError } from "../../../src/errors.ts";
import { CLOSED_RETENTION_MS, MAX_QUEUED_INPUT_BYTES } from "../../../src/process/limits.ts";
import type { StartOptions } from "../../../src/process/session/manager.ts";
import { settled } from "../../support/fake_backend.ts";
import {
  PIPE,
  PIPE_WITH_INPUT,
  ProcessSession,
  RecordingSink,
  refuses,
  startOptions,
  TERMINAL,
} from "../../support/process_session.ts";

const SIGINT = 2;
const SIGKILL = 9;
const FORCE = { type: "force" } as const;
const NO_ID = { writeId: null };

const STATUS = { networkDenials: null, failure: null };
const NOTHING_YET = {
  ...STATUS,
  chunks: [],
  nextSeq: 1,
  exit: null,
  closed: false,
  gap: { firstSeq: null, droppedBytes: 0 },
};

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

// ---------------------------------------------------------------- start

Deno.test("start() refuses an id that is taken, while it runs and for a while after it closed", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  await refuses(() => session.start(), "process p already exists");
  child.exit();
  session.clock.advance(CLOSED_RETENTION_MS - 1);
  await refuses(() => session.start(), "process p already exists");
  assert.equal((await session.read()).closed, true);
  session.clock.advance(1);
  await refuses(() => session.read(), "unknown process id p");
  await session.start();
});

Deno.test("start() that fails leaves the id free, tells so, and passes the reason on", async () => {
  const session = new ProcessSession();
  session.backend.nextFailure = internalError("No such file or directory (os error 2)");
  await assert.rejects(session.start(), { kind: "internal", message: "No such file or directory (os error 2)" });
  assert.deepEqual(session.sink.lines, ["p failed No such file or directory (os error 2)"]);
  await refuses(() => session.read(), "unknown process id p");
  await session.start();
});

Deno.test("start() that fails by an internal fault gives no details", async () => {
  const session = new ProcessSession();
  session.backend.nextFailure = new TypeError("secret detail");
  await assert.rejects(session.start(), (error: unknown) => {
    assert(error instanceof DomainError);
    assert.equal(error.kind, "internal");
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

Deno.test("start() counts processes that are not closed, starting ones included", async () => {
  const session = new ProcessSession({ maxProcesses: 2 });
  const first = await session.start({ processId: "1" });
  session.backend.holdsSpawns = true;
  const starting = session.start({ processId: "2" });
  const message = "this session may not have more than 2 processes at once";
  await refuses(() => session.start({ processId: "3" }), message);
  first.isOutputHeldOpen = true;
  first.exit();
  await refuses(() => session.start({ processId: "3" }), message);
  first.closeOutput();
  session.backend.finishSpawn();
  await starting;
  session.backend.holdsSpawns = false;
  await session.start({ processId: "3" });
  await refuses(() => session.start({ processId: "4" }), message);
});

Deno.test("start() refuses the kind that is not allowed", async () => {
  const noDirect = new ProcessSession({ allowDirect: false });
  await refuses(() => noDirect.start({ kind: "direct" }), "this server does not allow direct execution");
  await noDirect.start({ kind: "prepared" });
  const noPrepared = new ProcessSession({ allowPrepared: false });
  await refuses(() => noPrepared.start({ kind: "prepared" }), "this server does not allow prepared execution");
  await noPrepared.start({ kind: "direct" });
});

Deno.test("a process that is being started takes no input yet, and is resized, signalled and ended once it has started", async () => {
  const session = new ProcessSession();
  session.backend.holdsSpawns = true;
  const starting = session.start({ io: TERMINAL });
  const { manager } = session;
  assert.equal(manager.get("p").write(encode("x"), NO_ID), "starting");
  assert.equal(manager.get("p").closeStdin(), "starting");
  assert.deepEqual(await session.read(), NOTHING_YET);
  assert.equal(manager.list()[0]!.pid, null);
  manager.get("p").resize({ rows: 1, cols: 2 });
  manager.get("p").signal("interrupt");
  assert.equal(manager.get("p").terminate(FORCE), true);
  await refuses(() => session.start(), "process p already exists");
  const read = session.read("p", { waitMs: 1000 });

  session.backend.finishSpawn();
  const child = await starting;
  assert.deepEqual(child.sizes, [{ rows: 1, cols: 2 }]);
  assert.deepEqual(child.signals, [SIGINT, SIGKILL]);
  assert.equal((await read).exit?.exitCode, 137);
});

Deno.test("waits on a process whose start fails learn why", async () => {
  const session = new ProcessSession();
  session.backend.holdsSpawns = true;
  const starting = session.start();
  const read = session.read("p", { waitMs: 1000 });
  const wait = session.manager.get("p").wait({ until: "closed", timeoutMs: null });
  session.manager.get("p").signal("interrupt");
  session.backend.nextFailure = internalError("no");
  session.backend.finishSpawn();
  await assert.rejects(starting, /^DomainError: no$/);
  const failed = { ...STATUS, nextSeq: 1, exit: null, closed: true, failure: "the process could not be started: no" };
  assert.deepEqual(await read, { ...failed, chunks: [], gap: NOTHING_YET.gap });
  assert.deepEqual(await wait, { ...failed, timedOut: false });
  assert.equal(session.clock.pending, 0);
  await refuses(() => session.read(), "unknown process id p");
  assert.deepEqual(session.manager.failedStart("p"), failed);
  session.backend.holdsSpawns = false;
  await session.start();
  assert.equal(session.manager.failedStart("p"), null, "the id means something else now");
});

Deno.test("start() spawns the substitute, and shows the request", async () => {
  const session = new ProcessSession();
  const substitute = { argv: ["other", "words"], arg0: null, cwd: "/", env: { A: "1" }, io: PIPE };
  const child = await session.start({ substitute: () => Promise.resolve(substitute) });
  assert.deepEqual(child.request, substitute);
  assert.deepEqual(session.manager.list().map(({ argv }) => argv), [["program"]]);
});

Deno.test("start() takes the id before the substitute is made, and spawns nothing once the session has ended", async () => {
  const session = new ProcessSession();
  const found = Promise.withResolvers<StartOptions["request"]>();
  let asked = 0;
  const substitute = () => (asked++, found.promise);
  const starting = session.manager.start(startOptions({ substitute }));
  await refuses(() => session.manager.start(startOptions({ substitute })), "process p already exists");
  assert.equal(asked, 1);

  const ending = session.manager.endAll("sessionExpired", 0);
  found.resolve(startOptions().request);
  await refuses(() => starting, "session has ended");
  assert.deepEqual(await ending, { kept: [], survivorPids: [] });
  assert.deepEqual(session.backend.children, []);
});

// ---------------------------------------------------------------- read

Deno.test("read() of a fresh process", async () => {
  const session = new ProcessSession();
  await session.start();
  assert.deepEqual(await session.read(), NOTHING_YET);
});

Deno.test("read() after the close counts exit and close, and repeats itself", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.print("hi\n");
  child.exit(3);
  const expected = {
    chunks: [{ seq: 1, stream: "stdout", bytes: encode("hi\n") }],
    nextSeq: 4,
    exit: { exitCode: 3, sandboxDenied: false, end: { reason: "exit", signal: null } },
    closed: true,
    ...STATUS,
    gap: { firstSeq: 1, droppedBytes: 0 },
  };
  assert.deepEqual(await session.read(), expected);
  assert.deepEqual(await session.read(), expected);
});

Deno.test("read() with a byte budget gives a cursor after the last chunk it returns", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  for (const text of ["aaaa", "bbbb", "cc"]) child.print(text);
  child.exit();
  const sequence: [number, number][] = [];
  let afterSeq = 0;
  for (let calls = 0; calls < 5; calls++) {
    const { chunks, nextSeq } = await session.read("p", { afterSeq, maxBytes: 8 });
    sequence.push([chunks.length, nextSeq]);
    afterSeq = nextSeq - 1;
  }
  assert.deepEqual(sequence, [[2, 3], [1, 4], [0, 6], [0, 6], [0, 6]]);
  assert.equal((await session.read("p", { maxBytes: 0 })).chunks.length, 1);
});

Deno.test("read() that waits ends with the next output, exit or close", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  const first = session.read("p", { waitMs: 1000 });
  child.print("x");
  assert.equal((await first).chunks.length, 1);

  const second = session.read("p", { afterSeq: 1, waitMs: 1000 });
  child.exit(2);
  assert.deepEqual([(await second).exit?.exitCode, (await second).closed], [2, false]);

  const third = session.read("p", { afterSeq: 2, waitMs: 1000 });
  await settled();
  child.closeOutput();
  assert.equal((await third).closed, true);
  assert.equal(session.clock.pending, 1, "only the forgetting waits");
});

Deno.test("read() that waits does not wake for output before its cursor", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  let isOver = false;
  const read = session.read("p", { afterSeq: 5, waitMs: 1000 }).then((outcome) => (isOver = true, outcome));
  child.print("x");
  await settled();
  assert.equal(isOver, false);
  session.clock.advance(1000);
  assert.deepEqual((await read).chunks, []);
});

Deno.test("read() returns at once if there is something to report, however long it may wait", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  child.exit();
  assert.equal((await session.read("p", { waitMs: 1000 })).exit?.exitCode, 0);
  child.closeOutput();
  assert.equal((await session.read("p", { afterSeq: 99, waitMs: 1000 })).closed, true);
});

Deno.test("read() that waits ends at its deadline with nothing", async () => {
  const session = new ProcessSession();
  await session.start();
  const read = session.read("p", { waitMs: 300 });
  session.clock.advance(300);
  assert.deepEqual(await read, NOTHING_YET);
});

Deno.test("read() that waits is given up with its connection", async () => {
  const session = new ProcessSession();
  await session.start();
  const controller = new AbortController();
  const read = session.read("p", { waitMs: 300, signal: controller.signal });
  controller.abort(new Error("connection is gone"));
  await assert.rejects(read, /connection is gone/);
  assert.equal(session.clock.pending, 0);
});

for (const method of ["read", "wait", "snapshot", "resize"] as const) {
  Deno.test(`${method}() of an unknown process is refused`, async () => {
    const { manager } = new ProcessSession();
    const calls = {
      read: () => manager.get("none").read({ afterSeq: 0, maxBytes: null, waitMs: 0 }),
      wait: () => manager.get("none").wait({ until: "closed", timeoutMs: null }),
      snapshot: () => manager.get("none").snapshot(),
      resize: () => manager.get("none").resize({ rows: 1, cols: 1 }),
    };
    await refuses(calls[method], "unknown process id none");
  });
}

// ---------------------------------------------------------------- write, closeStdin

Deno.test("write() and closeStdin() refuse what is not possible", async () => {
  const session = new ProcessSession();
  const { manager } = session;
  await session.start();
  assert.equal(manager.get("p").write(encode("x"), NO_ID), "stdinClosed");
  assert.equal(manager.get("p").closeStdin(), "stdinClosed");
});

Deno.test("closeStdin() of a pipe ends the input after what was written", async () => {
  const session = new ProcessSession();
  const child = await session.start({ io: PIPE_WITH_INPUT });
  session.manager.get("p").write(encode("abc"), { writeId: "1" });
  assert.equal(session.manager.get("p").closeStdin(), "accepted");
  assert.equal(session.manager.get("p").write(encode("x"), { writeId: "2" }), "stdinClosed");
  assert.equal(session.manager.get("p").closeStdin(), "stdinClosed");
  child.consume();
  assert.deepEqual([child.consumedText, child.isInputEnded], ["abc", true]);
});

Deno.test("closeStdin() of a terminal types its end-of-file character, and may do so again", async () => {
  const session = new ProcessSession();
  const child = await session.start({ io: TERMINAL });
  assert.equal(session.manager.get("p").closeStdin(), "accepted");
  assert.equal(session.manager.get("p").write(encode("x"), NO_ID), "accepted");
  assert.equal(session.manager.get("p").closeStdin(), "accepted");
  child.consume();
  assert.deepEqual([child.consumedText, child.isInputEnded], ["\x04x\x04", false]);
});

Deno.test("write() that waits is released by exit and by force, and accepted ids stay accepted", async () => {
  for (const end of ["exit", "terminate"] as const) {
    const session = new ProcessSession();
    const child = await session.start({ io: PIPE_WITH_INPUT });
    session.manager.get("p").write(new Uint8Array(MAX_QUEUED_INPUT_BYTES), { writeId: "1" });
    const waiting = session.manager.get("p").write(encode("x"), { writeId: "2" });
    assert(waiting instanceof Promise);
    if (end === "exit") child.exit();
    else session.manager.get("p").terminate(FORCE);
    assert.equal(await waiting, "stdinClosed", end);
    assert.equal(session.manager.get("p").write(encode("x"), { writeId: "1" }), "accepted");
    assert.equal(session.manager.get("p").write(encode("x"), { writeId: "3" }), "stdinClosed");
  }
});

Deno.test("write ids are known on the next connection", async () => {
  const session = new ProcessSession();
  const child = await session.start({ io: PIPE_WITH_INPUT });
  session.manager.get("p").write(encode("once"), { writeId: "1" });
  session.manager.detach();
  session.manager.attach(new RecordingSink());
  assert.equal(session.manager.get("p").write(encode("once"), { writeId: "1" }), "accepted");
  child.consume();
  assert.equal(child.consumedText, "once");
});

// ---------------------------------------------------------------- wait, snapshot, list

Deno.test("wait() ends with the exit or the close, as asked", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  const exited = session.manager.get("p").wait({ until: "exited", timeoutMs: null });
  const closed = session.manager.get("p").wait({ until: "closed", timeoutMs: 5000 });
  child.exit(4);
  const exit = { exitCode: 4, sandboxDenied: false, end: { reason: "exit", signal: null } };
  assert.deepEqual(await exited, { nextSeq: 2, exit, closed: false, ...STATUS, timedOut: false });
  child.closeOutput();
  assert.deepEqual(await closed, { nextSeq: 3, exit, closed: true, ...STATUS, timedOut: false });
  assert.equal((await session.manager.get("p").wait({ until: "closed", timeoutMs: 0 })).timedOut, false);
});

Deno.test("wait() ends at its deadline and says so", async () => {
  const session = new ProcessSession();
  await session.start();
  const wait = session.manager.get("p").wait({ until: "closed", timeoutMs: 50 });
  session.clock.advance(50);
  assert.deepEqual(await wait, { nextSeq: 1, exit: null, closed: false, ...STATUS, timedOut: true });
  assert.equal((await session.manager.get("p").wait({ until: "exited", timeoutMs: 0 })).timedOut, true);
});

Deno.test("wait() is given up with its connection", async () => {
  const session = new ProcessSession();
  await session.start();
  const controller = new AbortController();
  const wait = session.manager.get("p").wait({ until: "closed", timeoutMs: null, signal: controller.signal });
  controller.abort(new Error("connection is gone"));
  await assert.rejects(wait, /connection is gone/);
});

Deno.test("snapshot() shows the streams apart, and the present", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.print("out");
  child.print("err", "stderr");
  const { stdout, stderr, terminal, truncated, exit, nextSeq } = session.manager.get("p").snapshot();
  assert.deepEqual([decode(stdout), decode(stderr), terminal.length], ["out", "err", 0]);
  assert.deepEqual([truncated, exit, nextSeq], [false, null, 3]);
});

Deno.test("snapshot() of a terminal shows one stream; retention and snapshot are capped each by itself", async () => {
  const session = new ProcessSession({ retainedOutputBytes: 400 });
  const child = await session.start({ io: TERMINAL });
  child.print("a".repeat(300));
  child.print("b".repeat(300));
  const { terminal, truncated, stdout } = session.manager.get("p").snapshot();
  assert.equal(decode(terminal), "a".repeat(200) + "b".repeat(200));
  assert.deepEqual([truncated, stdout.length], [true, 0]);
  const retained = (await session.read()).chunks.map(({ bytes }) => decode(bytes)).join("");
  assert.equal(retained, "a".repeat(100) + "b".repeat(300), "what is read is the newest");
});

Deno.test("list() describes every process in the order of start", async () => {
  const session = new ProcessSession();
  const first = await session.start({ processId: "1" });
  session.clock.advance(50);
  await session.start({ processId: "2", io: TERMINAL, keepOnSessionEnd: true });
  first.print("x");
  first.exit(1);
  const exit = { exitCode: 1, sandboxDenied: false, end: { reason: "exit", signal: null } };
  const uids = session.manager.list().map(({ uid }) => uid);
  assert.match(uids.join(" "), /^[0-9a-z]{12} [0-9a-z]{12}$/);
  assert.notEqual(uids[0], uids[1]);
  const latest = { name: null, outputMode: "latest", unacknowledgedBytes: 0, waitsForAck: false };
  assert.deepEqual(session.manager.list(), [
    {
      ...latest,
      processId: "1",
      uid: uids[0],
      pid: 100,
      argv: ["program"],
      cwd: "/",
      tty: false,
      size: null,
      silentMs: 0,
      ageMs: 50,
      keepOnSessionEnd: false,
      nextSeq: 4,
      exit,
      closed: true,
      ...STATUS,
    },
    {
      ...latest,
      processId: "2",
      uid: uids[1],
      pid: 101,
      argv: ["program"],
      cwd: "/",
      tty: true,
      size: { rows: 24, cols: 80 },
      silentMs: null,
      ageMs: 0,
      keepOnSessionEnd: true,
      nextSeq: 1,
      exit: null,
      closed: false,
      ...STATUS,
    },
  ]);
});
