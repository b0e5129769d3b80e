/**
 * What a user is promised about processes, seen from the other end of a real socket.
 *
 * More than 300 lines: one promise after another, each on a server of its own.
 */

import assert from "node:assert/strict";
import type { ProcessExitedNotification } from "../../src/protocol/process.ts";
import { Gate } from "../support/gate.ts";
import { processesMarked } from "../support/proc.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { Client, type Notification, type NotificationStream, RpcError } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { connectChecked, serverCommand, TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const PIPES = { type: "pipe", stdin: "closed" } as const;
const PIPES_WITH_INPUT = { type: "pipe", stdin: "open" } as const;
const TERMINAL = { type: "pty", rows: 24, cols: 80 } as const;

/** Says `ready`, and stays until it is ended. */
const STAY = "echo ready; exec sleep 1000";
/**
 * The same, but finishes its work when it is asked to end. It waits for input that never comes and not for a child: one
 * that is forked just after the signal came would hold the output open.
 */
const FINISH_ON_TERM = "trap 'echo finishing; exit 7' TERM; echo ready; while :; do read line; done";

/** The reference's words for a program that is not there. */
const NO_SUCH_FILE = "No such file or directory (os error 2)";

interface StartFields {
  io?: typeof PIPES | typeof PIPES_WITH_INPUT | typeof TERMINAL;
  timeoutMs?: number;
  idleTimeoutMs?: number;
}

function script(processId: string, text: string, fields: StartFields = {}) {
  const env = { PATH: "/usr/bin:/bin" };
  return { processId, argv: ["/bin/sh", "-c", text], cwd: "/", env, io: PIPES, ...fields };
}

/** Starts a script and follows it. */
async function start(client: Client, ...args: Parameters<typeof script>): Promise<NotificationStream> {
  const params = script(...args);
  const stream = client.follow(params.processId);
  await client.call("process/start", params);
  return stream;
}

function textOf({ method, params }: Notification): string {
  return method === "process/output" ? atob(params.chunk) : "";
}

/** Takes notifications until the output ends with this; returns the output. */
async function outputUpTo(stream: NotificationStream, ending: string): Promise<string> {
  let output = "";
  while (!output.endsWith(ending)) {
    const { done, value } = await stream.next();
    assert.ok(!done, `the process closed after writing ${JSON.stringify(output)}`);
    output += textOf(value);
  }
  return output;
}

/** Takes everything up to the end of the process. */
async function remainder(stream: NotificationStream): Promise<{ output: string; exited: ProcessExitedNotification }> {
  let output = "";
  let exited: ProcessExitedNotification | null = null;
  for await (const notification of stream) {
    output += textOf(notification);
    if (notification.method === "process/exited") exited = notification.params;
  }
  assert.ok(exited !== null, `no exit was told; output: ${JSON.stringify(output)}`);
  return { output, exited };
}

/** Takes the session up again, as soon as the server has noticed that its connection is gone. */
async function resume(server: TestServer, sessionId: string): Promise<Client> {
  for (;;) {
    try {
      return await server.connect({ resumeSessionId: sessionId });
    } catch (error) {
      if (!(error instanceof RpcError && error.code === -32010)) throw error;
    }
  }
}

function refusal(code: number, message: RegExp) {
  return (error: unknown) => error instanceof RpcError && error.code === code && message.test(error.message);
}

// ---------------------------------------------------------------- losing and resuming a connection

Deno.test("a process that is to run behind a network proxy is refused, because there is no proxy", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  await inScratchDirectory(async (directory) => {
    const started = `${directory}/started`;
    const params = { ...script("p", `touch '${started}'`), networkProxy: { proxy: { enabled: true } } };
    await assert.rejects(client.call("process/start", params), { code: -32600, message: /no network proxy/ });
    await assert.rejects(Deno.stat(started), Deno.errors.NotFound);
    assert.deepEqual(await client.call("process/list", null), { processes: [] });
  });
});

Deno.test("output from a time without a connection can be read after the resume, and new output comes live again", () =>
  inScratchDirectory(async (directory) => {
    const gates = await Promise.all(["a", "b", "c"].map((name) => Gate.make(directory, name)));
    await using server = await TestServer.start();
    const first = await server.connect();
    const lines = gates.map(({ path }, index) => `read go < ${path}; echo ${index + 1}`);
    const live = await start(first, "p", `echo 0; ${lines.join("; ")}`);
    await outputUpTo(live, "0\n");
    await first.close();
    await gates[0]!.open();
    // The child stands at the second gate only after it has written, with nobody to write to.
    await gates[1]!.open();

    await using second = await resume(server, first.sessionId);
    const resumed = second.follow("p");
    const read = await second.call("process/read", { processId: "p", afterSeq: 1, waitMs: 20_000 });
    const missed = read.chunks.map(({ chunk }) => atob(chunk)).join("");
    assert.ok("1\n2\n".startsWith(missed) && missed !== "", missed);
    await gates[2]!.open();
    const { output, exited } = await remainder(resumed);
    assert.ok(output.endsWith("3\n") && "1\n2\n3\n".endsWith(output), output);
    const { chunks, nextSeq, closed } = await second.call("process/read", { processId: "p" });
    assert.equal(chunks.map(({ chunk }) => atob(chunk)).join(""), "0\n1\n2\n3\n");
    assert.deepEqual(chunks.map(({ seq }) => seq), chunks.map((_, index) => index + 1));
    assert.deepEqual([exited.seq, nextSeq, closed], [chunks.length + 1, chunks.length + 3, true]);
  }));

Deno.test("a write that is repeated after a resume is not typed twice", async () => {
  await using server = await TestServer.start();
  const first = await server.connect();
  const live = await start(first, "p", "exec cat", { io: PIPES_WITH_INPUT });
  const one = { processId: "p", chunk: btoa("one\n"), writeId: "w1" };
  assert.deepEqual(await first.call("process/write", one), { status: "accepted" });
  await outputUpTo(live, "one\n");
  await first.close();

  await using second = await resume(server, first.sessionId);
  const resumed = second.follow("p");
  assert.deepEqual(await second.call("process/write", one), { status: "accepted" });
  const two = { processId: "p", chunk: btoa("two\n"), writeId: "w2" };
  for (let i = 0; i < 3; i++) assert.deepEqual(await second.call("process/write", two), { status: "accepted" });
  await second.call("process/closeStdin", { processId: "p" });
  assert.equal((await remainder(resumed)).output, "two\n");
  // The memory of what was accepted outlives even the process.
  assert.deepEqual(await second.call("process/write", one), { status: "accepted" });
});

Deno.test("a process ends with its session when nobody comes back, with time to finish if the server grants it", () =>
  inScratchDirectory(async (directory) => {
    const done = await Gate.make(directory, "done");
    await using server = await TestServer.start({
      args: ["--detached-session-ttl-ms", "50", "--shutdown-grace-period-ms", "20000"],
    });
    const client = await server.connect();
    const handler = `trap 'echo finished > ${done.path}; exit' TERM; echo ready; while :; do read line; done`;
    await outputUpTo(await start(client, "p", handler, { io: PIPES_WITH_INPUT }), "ready\n");
    await client.close();
    assert.equal(await done.readAll(), "finished\n");
  }));

// ---------------------------------------------------------------- opt-in fields and notifications

Deno.test("why a process ended is told to clients that asked, in notification, read and wait alike", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect({ optionalFields: ["processEndReason"] });
  const terminate =
    (mode: { type: "force" } | { type: "graceful"; timeoutMs: number }) => async (processId: string) => {
      await client.call("process/terminate", { processId, mode });
    };
  const nothing = async () => {};
  const graceful = terminate({ type: "graceful", timeoutMs: 20_000 });
  const cases = [
    { text: "echo ready; exit 3", act: nothing, end: { exitCode: 3, endReason: "exit", signal: null } },
    { text: "echo ready; kill -SEGV $$", act: nothing, end: { exitCode: 139, endReason: "signal", signal: "SIGSEGV" } },
    {
      text: STAY,
      act: (processId: string) => client.call("process/signal", { processId, signal: "hup" }),
      end: { exitCode: 129, endReason: "signal", signal: "SIGHUP" },
    },
    {
      text: STAY,
      act: terminate({ type: "force" }),
      end: { exitCode: 137, endReason: "terminated", signal: "SIGKILL" },
    },
    { text: STAY, act: graceful, end: { exitCode: 143, endReason: "terminated", signal: "SIGTERM" } },
    { text: FINISH_ON_TERM, act: graceful, end: { exitCode: 7, endReason: "terminated", signal: null } },
  ];
  for (const [index, { text, act, end }] of cases.entries()) {
    for (const io of [PIPES_WITH_INPUT, TERMINAL]) {
      const processId = `${index} ${io.type}`;
      const stream = await start(client, processId, text, { io });
      await outputUpTo(stream, io.type === "pty" ? "ready\r\n" : "ready\n");
      await act(processId);
      const { exited } = await remainder(stream);
      const { seq } = exited;
      assert.deepEqual(exited, { processId, seq, sandboxDenied: false, ...end });
      const present = { exited: true, closed: true, failure: null, sandboxDenied: false, nextSeq: seq + 2, ...end };
      const read = await client.call("process/read", { processId, afterSeq: seq });
      assert.deepEqual(read, { chunks: [], ...present });
      assert.deepEqual(await client.call("process/wait", { processId }), { timedOut: false, ...present });
    }
  }
});

Deno.test("clients that did not ask see the reference's objects and nothing more", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const { exited } = await remainder(await start(client, "p", "exit 1"));
  assert.deepEqual(exited, { processId: "p", seq: 1, exitCode: 1, sandboxDenied: false });
  const present = { exited: true, exitCode: 1, closed: true, failure: null, sandboxDenied: false, nextSeq: 3 };
  assert.deepEqual(await client.call("process/read", { processId: "p" }), { chunks: [], ...present });
  assert.deepEqual(await client.call("process/wait", { processId: "p" }), { timedOut: false, ...present });
});

Deno.test("started and failed are told to clients that asked, and to no others", async () => {
  await using server = await TestServer.start();
  const conversation = async (notifications: string[]) => {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake({ notifications });
    const missing = { ...script("p", ""), argv: ["/does/not/exist"] };
    await socket.sendText(JSON.stringify({ id: 1, method: "process/start", params: missing }));
    await socket.readUntil(({ id }) => id === 1);
    // The failed start has left the id free.
    await socket.sendText(JSON.stringify({ id: 2, method: "process/start", params: script("p", "echo hi") }));
    const seen: string[] = [];
    await socket.readUntil(({ id, method, params }) => {
      seen.push(method ?? `answer ${id}`);
      if (method === "process/failed") assert.deepEqual(params, { processId: "p", message: NO_SUCH_FILE });
      if (method === "process/started") assert.deepEqual(params, { processId: "p" });
      return method === "process/closed";
    });
    return seen;
  };
  const usual = ["answer 2", "process/output", "process/exited", "process/closed"];
  assert.deepEqual(await conversation([]), usual);
  const asked = await conversation(["process/started", "process/failed", "process/unheardOf"]);
  assert.deepEqual(asked.filter((name) => name !== "process/failed"), [usual[0], "process/started", ...usual.slice(1)]);
});

// ---------------------------------------------------------------- deadlines

Deno.test("a process that outlives its time is ended, gently and then by force, and its output stays", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect({ optionalFields: ["processEndReason"] });
  const stubborn = "trap '' TERM; echo partial; exec sleep 1000";
  const runs = await Promise.all([
    start(client, "late", "echo partial; exec sleep 1000", { timeoutMs: 300 }),
    start(client, "stubborn", stubborn, { timeoutMs: 300 }),
    start(client, "punctual", "echo partial", { timeoutMs: 20_000 }),
  ]);
  const ends = await Promise.all(runs.map(remainder));
  assert.deepEqual(ends.map(({ output }) => output), ["partial\n", "partial\n", "partial\n"]);
  assert.deepEqual(
    ends.map(({ exited }) => [exited.exitCode, exited.endReason, exited.signal]),
    [[143, "timeout", "SIGTERM"], [137, "timeout", "SIGKILL"], [0, "exit", null]],
  );
  const { chunks } = await client.call("process/read", { processId: "late" });
  assert.deepEqual(chunks.map(({ chunk }) => atob(chunk)), ["partial\n"]);
});

Deno.test("a silent process is ended, one that keeps writing is not", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect({ optionalFields: ["processEndReason"] });
  const talkative = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.1; done";
  const [silent, chatty] = await Promise.all([
    start(client, "silent", STAY, { idleTimeoutMs: 1_000 }).then(remainder),
    // In all it takes longer than it may be silent.
    start(client, "talkative", talkative, { idleTimeoutMs: 1_000 }).then(remainder),
  ]);
  assert.deepEqual([silent.output, silent.exited.endReason], ["ready\n", "timeout"]);
  assert.deepEqual([chatty.output.split("\n").length, chatty.exited.endReason], [13, "exit"]);
});

// ---------------------------------------------------------------- looking at processes

Deno.test("process/list shows all processes, with their real pids", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  assert.deepEqual(await client.call("process/list", null), { processes: [] });
  await remainder(await start(client, "ended", "exit 4"));
  const staying = await start(client, "staying", STAY, { io: TERMINAL });
  await outputUpTo(staying, "ready\r\n");
  const { processes } = await client.call("process/list", null);
  assert.deepEqual(
    processes.map(({ processId, argv, cwd, tty, exited, exitCode, closed, nextSeq }) => {
      return { processId, argv, cwd, tty, exited, exitCode, closed, nextSeq };
    }),
    [
      {
        processId: "ended",
        argv: ["/bin/sh", "-c", "exit 4"],
        cwd: "file:///",
        tty: false,
        exited: true,
        exitCode: 4,
        closed: true,
        nextSeq: 3,
      },
      {
        processId: "staying",
        argv: ["/bin/sh", "-c", STAY],
        cwd: "file:///",
        tty: true,
        exited: false,
        exitCode: null,
        closed: false,
        nextSeq: 2,
      },
    ],
  );
  const [, { pid, ageMs }] = processes as [unknown, (typeof processes)[number]];
  // It says that it is ready a moment before it becomes the other program.
  const commandLine = () => Deno.readTextFileSync(`/proc/${pid}/cmdline`);
  await until(() => commandLine() === "sleep\u00001000\u0000", commandLine);
  assert.ok(ageMs >= 0 && ageMs < 60_000, `${ageMs}`);
});

Deno.test("clients see their own processes only, even under the same id", async () => {
  await using server = await TestServer.start();
  await using one = await server.connect();
  await using other = await server.connect();
  const heard = new Set<unknown>();
  other.onNotification(({ params }) => heard.add("processId" in params ? params.processId : params));
  const staying = await start(one, "mine", STAY);
  await outputUpTo(staying, "ready\n");
  const both = await Promise.all([start(one, "same", "echo one"), start(other, "same", "echo other")]);
  assert.deepEqual((await Promise.all(both.map(remainder))).map(({ output }) => output), ["one\n", "other\n"]);

  const unknown = refusal(-32600, /^unknown process id mine$/);
  await assert.rejects(other.call("process/read", { processId: "mine" }), unknown);
  await assert.rejects(other.call("process/snapshot", { processId: "mine" }), unknown);
  assert.deepEqual(await other.call("process/terminate", { processId: "mine" }), { running: false });
  await other.call("process/signal", { processId: "mine", signal: "term" });
  const ids = async (client: Client) =>
    (await client.call("process/list", null)).processes.map(({ processId }) => processId);
  assert.deepEqual([await ids(one), await ids(other)], [["mine", "same"], ["same"]]);
  const { exited } = await one.call("process/wait", { processId: "mine", timeoutMs: 0 });
  assert.equal(exited, false);
  assert.deepEqual([...heard], ["same"]);
});

// ---------------------------------------------------------------- configuration

Deno.test("--retained-output-bytes-per-process bounds what is kept, not what is sent", async () => {
  const cap = 1000;
  await using server = await TestServer.start({ args: ["--retained-output-bytes-per-process", `${cap}`] });
  await using client = await server.connect();
  const whole = Array.from({ length: 2000 }, (_, i) => `${i + 1}\n`).join("");
  const { output } = await remainder(await start(client, "p", "seq 2000"));
  assert.equal(output, whole);
  const snapshot = await client.call("process/snapshot", { processId: "p" });
  assert.deepEqual(snapshot, {
    stdout: btoa(whole.slice(0, cap / 2) + whole.slice(-cap / 2)),
    stderr: "",
    terminal: "",
    truncated: true,
    exitCode: 0,
    running: false,
    nextSeq: snapshot.nextSeq,
  });
  const { chunks, nextSeq } = await client.call("process/read", { processId: "p" });
  const kept = chunks.map(({ chunk }) => atob(chunk)).join("");
  assert.ok(kept.length > 0 && kept.length <= cap && whole.endsWith(kept), `${kept.length} bytes`);
  const last = chunks.map(({ seq }) => seq).at(-1)!;
  assert.deepEqual(chunks.map(({ seq }) => seq), chunks.map((_, i) => last - chunks.length + 1 + i));
  assert.equal(nextSeq, snapshot.nextSeq);
});

Deno.test("--max-processes-per-connection counts what has not closed", async () => {
  await using server = await TestServer.start({ args: ["--max-processes-per-connection", "2"] });
  await using client = await server.connect();
  await using other = await server.connect();
  const first = await start(client, "first", STAY);
  await start(client, "second", STAY);
  const third = script("third", "echo in");
  await assert.rejects(client.call("process/start", third), refusal(-32600, /\b2\b/));
  await remainder(await start(other, "third", "echo in"));
  await client.call("process/terminate", { processId: "first" });
  await remainder(first);
  assert.equal((await remainder(await start(client, "third", "echo in"))).output, "in\n");
});

Deno.test("--no-allow-direct-exec and --no-allow-prepared-exec each close their own way", async () => {
  const attempts = async (flag: string) => {
    await using server = await TestServer.start({ args: [flag] });
    await using client = await server.connect();
    const { processId: _, io, ...request } = script("", "exit 0");
    const direct = { processId: "direct", io, ...request };
    const prepared = { processId: "prepared", kind: "prepared", io, request } as const;
    const answer = (error: unknown) => error instanceof RpcError ? [error.code, error.message] : error;
    return await Promise.all([direct, prepared].map((params) => client.call("process/start", params).catch(answer)));
  };
  assert.deepEqual(await attempts("--no-allow-direct-exec"), [
    [-32600, "this server does not allow direct execution"],
    { processId: "prepared", sandboxType: "none" },
  ]);
  assert.deepEqual(await attempts("--no-allow-prepared-exec"), [
    { processId: "direct", sandboxType: "none" },
    [-32600, "this server does not allow prepared execution"],
  ]);
});

// ---------------------------------------------------------------- order, surroundings, the server's end

Deno.test("the answer to a start leaves before anything the process does, a thousand times", async () => {
  const count = 1000;
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake({ notifications: ["process/started"] });
  const sending = (async () => {
    for (let id = 1; id <= count; id++) {
      const params = { ...script(`${id}`, ""), argv: ["/bin/echo", `${id}`] };
      await socket.sendText(JSON.stringify({ id, method: "process/start", params }));
    }
  })();
  const steps = new Map<string, string[]>();
  for (let open = count; open > 0;) {
    const { id, result, method, params } = await socket.readUntil(() => true);
    const processId: string = result?.processId ?? params?.processId ?? `failed ${id}`;
    const seen = steps.get(processId) ?? [];
    steps.set(processId, [
      ...seen,
      method === "process/output" ? `wrote ${atob(params.chunk).trim()}` : method ?? "answer",
    ]);
    if (method === "process/closed") open--;
  }
  await sending;
  const expected = (id: number) => ["answer", "process/started", `wrote ${id}`, "process/exited", "process/closed"];
  for (let id = 1; id <= count; id++) assert.deepEqual(steps.get(`${id}`), expected(id));
});

Deno.test("children get the open-files limit and the umask that the server was started with", async () => {
  const { program, args } = serverCommand();
  const launcher = 'ulimit -Sn 345 && umask 027 && { "$@" & server=$!; trap "kill $server" TERM; wait; wait; }';
  const child = new Deno.Command("sh", {
    args: ["-c", launcher, "sh", program, ...args, "--listen", "ws://127.0.0.1:0", "--log-level", "error"],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value: url } = await reader.read();
  {
    await using client = await connectChecked(url!.trim());
    const ends = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const io = index % 2 === 0 ? PIPES : TERMINAL;
        return (await remainder(await start(client, `${index}`, "ulimit -Sn; umask", { io }))).output;
      }),
    );
    assert.deepEqual([...new Set(ends.map((output) => output.replaceAll("\r", "")))], ["345\n0027\n"]);
  }
  child.kill("SIGTERM");
  await child.status;
  await reader.cancel();
});

Deno.test("a server that is asked to end lets processes finish in their grace, and tells how they ended", async () => {
  await using server = await TestServer.start({ args: ["--shutdown-grace-period-ms", "20000"] });
  const client = await server.connect({ optionalFields: ["processEndReason"] });
  const finishing = await start(client, "finishing", FINISH_ON_TERM, { io: PIPES_WITH_INPUT });
  const obeying = await start(client, "obeying", STAY, { io: TERMINAL });
  await outputUpTo(finishing, "ready\n");
  await outputUpTo(obeying, "ready\r\n");
  server.kill("SIGTERM");
  const { output, exited } = await remainder(finishing);
  assert.equal(output, "finishing\n");
  assert.deepEqual([exited.exitCode, exited.endReason, exited.signal], [7, "serverShutdown", null]);
  const other = (await remainder(obeying)).exited;
  assert.deepEqual([other.exitCode, other.endReason, other.signal], [143, "serverShutdown", "SIGTERM"]);
  assert.equal((await server.status).code, 0);
  await client.closed;
});

Deno.test("when the grace period is over, processes are killed", async () => {
  await using server = await TestServer.start({ args: ["--shutdown-grace-period-ms", "100"] });
  const client = await server.connect();
  const stubborn = await start(client, "stubborn", "trap '' TERM; echo ready; exec sleep 1000");
  await outputUpTo(stubborn, "ready\n");
  server.kill("SIGTERM");
  assert.equal((await remainder(stubborn)).exited.exitCode, 137);
  assert.equal((await server.status).code, 0);
  await client.closed;
});

Deno.test("children end with a server that is killed", () =>
  inScratchDirectory(async (directory) => {
    const gate = await Gate.make(directory, "never-opened");
    await using server = await TestServer.start();
    const client = await server.connect();
    for (const io of [PIPES, TERMINAL]) {
      const staying = await start(client, io.type, `echo ready; read line < ${gate.path}`, { io });
      await outputUpTo(staying, io.type === "pty" ? "ready\r\n" : "ready\n");
    }
    const alive = () => processesMarked(gate.path);
    assert.equal(alive().length, 2);
    server.kill("SIGKILL");
    await server.status;
    await client.closed;
    await until(() => alive().length === 0, () => JSON.stringify(alive()));
  }));
