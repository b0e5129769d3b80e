/** What a process tells of itself, when, and to whom, on fake children. */

import assert from "node:assert/strict";
import { MAX_OUTPUT_CHUNK_BYTES } from "../../../src/process/backend.ts";
import { DENIAL_GRACE_MS } from "../../../src/process/limits.ts";
import type { EndReason } from "../../../src/process/session/process_views.ts";
import { type FakeChild, settled } from "../../support/fake_backend.ts";
import {
  PIPE_WITH_INPUT,
  ProcessSession,
  RecordingSink,
  startOptions,
  TERMINAL,
} from "../../support/process_session.ts";

const SIGTERM = 15;
const FORCE = { type: "force" } as const;

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

// ---------------------------------------------------------------- events

Deno.test("a process tells of its start, output, exit and close, with one dense numbering", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.print("a");
  child.print("b", "stderr");
  child.exit(5);
  assert.deepEqual(session.sink.lines, ["p started", "p 1 stdout a", "p 2 stderr b", "p 3 exited 5", "p 4 closed"]);
  assert.equal(child.isDisposed, true);
});

Deno.test("a silent process numbers its exit 1 and its close 2", async () => {
  const session = new ProcessSession();
  (await session.start()).exit();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 exited 0", "p 2 closed"]);
});

Deno.test("output that follows the exit comes before the close", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.isOutputHeldOpen = true;
  child.print("early");
  child.exit(3);
  child.print("late");
  assert.deepEqual((await session.read()).closed, false);
  child.closeOutput();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout early", "p 2 exited 3", "p 3 stdout late", "p 4 closed"]);
});

Deno.test("a process that closes its output and runs on closes when it exits", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.closeOutput();
  assert.deepEqual(session.sink.lines, ["p started"]);
  child.exit();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 exited 0", "p 2 closed"]);
});

Deno.test("no event of a process is sent until the answer to its start has been queued", async () => {
  const session = new ProcessSession();
  const started = await session.manager.start(startOptions());
  const child = session.backend.last;
  child.print("a");
  child.print("b");
  assert.deepEqual(session.sink.lines, []);
  assert.equal((await session.read()).chunks.length, 0, "output stays in the pipe rather than piling up");
  started.begin();
  await settled();
  assert.deepEqual(session.sink.lines, ["p started", "p 1 stdout a", "p 2 stdout b"]);
  started.begin();
  child.exit();
  assert.deepEqual(session.sink.lines.slice(3), ["p 3 exited 0", "p 4 closed"]);
});

Deno.test("if a process ends before its answer has been queued, all its events follow the answer", async () => {
  const session = new ProcessSession();
  const started = await session.manager.start(startOptions());
  session.backend.last.exit(4);
  await settled();
  assert.deepEqual(session.sink.lines, []);
  started.begin();
  await settled();
  assert.deepEqual(session.sink.lines, ["p started", "p 1 exited 4", "p 2 closed"]);
});

Deno.test("a connection lost before the answer to the start frees the process of waiting for it", async () => {
  const session = new ProcessSession();
  const started = await session.manager.start(startOptions());
  const child = session.backend.last;
  child.print("unheard");
  session.manager.detach();
  await settled();
  assert.equal(child.isPaused, false);
  const next = new RecordingSink();
  session.manager.attach(next);
  child.print("heard");
  started.begin();
  assert.deepEqual(next.lines, ["p 2 stdout heard"]);
  assert.deepEqual(session.sink.lines, []);
});

Deno.test("a sink without room pauses the output of the process that filled it", async () => {
  const session = new ProcessSession();
  const [loud, quiet] = [await session.start({ processId: "loud" }), await session.start({ processId: "quiet" })];
  session.sink.hasRoom = false;
  loud.print("1");
  loud.print("2");
  assert.equal(loud.isPaused, true);
  assert.equal(quiet.isPaused, false, "a process that says nothing need not be paused");
  assert.deepEqual(session.sink.lines.slice(2), ["loud 1 stdout 1"]);
  session.sink.hasRoom = true;
  session.manager.resumeOutput();
  await settled();
  assert.deepEqual(session.sink.lines.slice(3), ["loud 2 stdout 2"]);
});

Deno.test("exit and close are reported even without room", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  session.sink.hasRoom = false;
  child.exit(1);
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 exited 1", "p 2 closed"]);
});

Deno.test("a paused process that exits closes only when its output has been taken", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  session.sink.hasRoom = false;
  child.print("1");
  child.print("2");
  child.exit();
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout 1", "p 2 exited 0"]);
  session.sink.hasRoom = true;
  session.manager.resumeOutput();
  await settled();
  assert.deepEqual(session.sink.lines.slice(3), ["p 3 stdout 2", "p 4 closed"]);
});

Deno.test("without a sink a process runs on, is never paused, and can be read later", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  session.sink.hasRoom = false;
  child.print("1");
  assert.equal(child.isPaused, true);
  session.manager.detach();
  await settled();
  assert.equal(child.isPaused, false, "what stalled on the lost connection goes on");
  child.print("2");
  child.exit(6);
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout 1"]);

  const next = new RecordingSink();
  session.manager.attach(next);
  await settled();
  assert.deepEqual(next.lines, [], "nothing is told again");
  const { chunks, exit, closed, nextSeq } = await session.read();
  assert.deepEqual(chunks.map(({ seq, bytes }) => [seq, decode(bytes)]), [[1, "1"], [2, "2"]]);
  assert.deepEqual([exit?.exitCode, closed, nextSeq], [6, true, 5]);
});

Deno.test("a chunk from a large shared buffer is retained alone", async () => {
  const session = new ProcessSession();
  const child = await session.start();
  child.print(new Uint8Array(MAX_OUTPUT_CHUNK_BYTES).subarray(0, 3));
  assert.equal((await session.read()).chunks[0]!.bytes.buffer.byteLength, 3);
});

Deno.test("with a small cap output is cut into chunks that can be retained", async () => {
  const session = new ProcessSession({ retainedOutputBytes: 1000 });
  const child = await session.start();
  child.print(new Uint8Array(2600).map((_, index) => index));
  const sizes = session.sink.events.flatMap((event) => event.type === "output" ? [event.chunk.bytes.length] : []);
  assert.deepEqual(sizes, [...Array(10).fill(250), 100], "every byte is told");
  const { chunks } = await session.read();
  assert.deepEqual(chunks.map(({ seq }) => seq), [8, 9, 10, 11]);
  assert.equal(chunks[0]!.bytes[0], (7 * 250) % 256);
});

// ---------------------------------------------------------------- exit

const EXITS: [
  claim: string,
  end: (child: FakeChild) => void,
  exitCode: number,
  reason: EndReason,
  signal: string | null,
][] = [
  ["an exit", (child) => child.exit(0), 0, "exit", null],
  ["an exit with 255", (child) => child.exit(255), 255, "exit", null],
  ["a death by SIGTERM", (child) => child.die(SIGTERM), 143, "signal", "SIGTERM"],
  ["a death by SIGSEGV", (child) => child.die(11), 139, "signal", "SIGSEGV"],
  ["a lost status", (child) => child.loseStatus(), -1, "exit", null],
];

Deno.test("a process whose status or output the server lost has a failure, and others have none", async () => {
  const FATES: [(child: FakeChild) => void, string | null][] = [
    [(child) => child.exit(), null],
    [(child) => child.loseStatus(), "the exit status of the process was lost"],
    [(child) => {
      child.breakOutput("stdout: Input/output error (os error 5)");
      child.exit(3);
    }, "the output of the process could not be read to its end: stdout: Input/output error (os error 5)"],
  ];
  for (const [meet, failure] of FATES) {
    const session = new ProcessSession();
    const child = await session.start();
    const wait = session.manager.get("p").wait({ until: "closed", timeoutMs: null });
    meet(child);
    assert.deepEqual([(await wait).failure, (await session.read()).failure], [failure, failure]);
  }
});

for (const [claim, end, exitCode, reason, signal] of EXITS) {
  for (const io of [PIPE_WITH_INPUT, TERMINAL]) {
    Deno.test(`${claim} on a ${io.type} is exit code ${exitCode}`, async () => {
      const session = new ProcessSession();
      end(await session.start({ io }));
      assert.deepEqual((await session.read()).exit, { exitCode, sandboxDenied: false, end: { reason, signal } });
    });
  }
}

Deno.test("only a sandboxed process can have been denied something", async () => {
  for (const isSandboxed of [true, false]) {
    const session = new ProcessSession();
    const child = await session.start({ isSandboxed });
    child.print("Permission denied", "stderr");
    child.closeOutput();
    child.exit(1);
    assert.equal((await session.read()).exit?.sandboxDenied, isSandboxed);
  }
});

Deno.test("the verdict on a sandboxed process waits a moment for trailing output", async () => {
  const session = new ProcessSession();
  const child = await session.start({ isSandboxed: true });
  child.isOutputHeldOpen = true;
  child.exit(1);
  assert.equal((await session.read()).exit, null);
  assert.equal(session.manager.get("p").terminate(FORCE), false, "it has exited all the same");
  child.print("sandbox says no");
  session.clock.advance(DENIAL_GRACE_MS);
  assert.equal((await session.read()).exit?.sandboxDenied, true);
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 stdout sandbox says no", "p 2 exited 1"]);
});

const REFUSED = [{ call: "socket(AF_INET, SOCK_STREAM)", program: "/usr/bin/curl", isProbe: false }];
const PROBED = [{ call: "socket(AF_NETLINK, SOCK_RAW)", program: "/usr/bin/node", isProbe: true }];

Deno.test("a sandboxed process that failed after a known refusal counts as denied, whatever it prints", async () => {
  const cases = [
    { denials: REFUSED, exitCode: 1, output: "", expected: true },
    { denials: REFUSED, exitCode: 0, output: "", expected: false },
    { denials: [], exitCode: 1, output: "", expected: false },
    { denials: PROBED, exitCode: 1, output: "", expected: false },
    { denials: [...PROBED, ...REFUSED], exitCode: 1, output: "", expected: true },
    // Where nothing is known of, there may have been something else: the words count as ever.
    { denials: [], exitCode: 1, output: "Permission denied", expected: true },
    { denials: null, exitCode: 1, output: "", expected: false },
  ];
  for (const { denials, exitCode, output, expected } of cases) {
    const session = new ProcessSession();
    session.backend.networkDenials = denials;
    const child = await session.start({ isSandboxed: true });
    if (output !== "") child.print(output);
    child.exit(exitCode);
    const { exit, networkDenials } = await session.read();
    assert.deepEqual([exit?.sandboxDenied, networkDenials], [expected, denials]);
    const told = session.sink.events.find((event) => event.type === "exited");
    assert.deepEqual([told?.exit.sandboxDenied, told?.networkDenials], [expected, denials]);
  }
});

Deno.test("the verdict does not wait for output when a refusal is known", async () => {
  const session = new ProcessSession();
  session.backend.networkDenials = REFUSED;
  const child = await session.start({ isSandboxed: true });
  child.isOutputHeldOpen = true;
  child.exit(1);
  assert.equal((await session.read()).exit?.sandboxDenied, true);
});

Deno.test("the verdict does not wait when the output has ended or the exit is a success", async () => {
  const session = new ProcessSession();
  const failing = await session.start({ isSandboxed: true });
  failing.exit(1);
  assert.deepEqual(session.sink.lines.slice(1), ["p 1 exited 1", "p 2 closed"]);
  const fine = await session.start({ processId: "q", isSandboxed: true });
  fine.isOutputHeldOpen = true;
  fine.print("permission denied");
  fine.exit(0);
  assert.deepEqual((await session.read("q")).exit?.sandboxDenied, false);
});
