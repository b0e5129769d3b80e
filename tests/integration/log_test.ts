/** What an operator can follow in the log of a real server: requests, processes and failures, by trace and by label. */

import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";

const TRACE = { trace_id: "4bf92f3577b34da6a3ce929d0e0e4736", span_id: "00f067aa0ba902b7" };
const trace = { traceparent: `00-${TRACE.trace_id}-${TRACE.span_id}-01`, tracestate: "vendor=tracestate-value" };
const THREAD = "01a1b2c3-0000-7000-8000-000000000001";

// deno-lint-ignore no-explicit-any
type Line = Record<string, any>;

/** A server whose log is read line by line once it has ended. */
async function logOf(
  level: string,
  use: (server: TestServer) => Promise<void>,
): Promise<{ text: string; lines: Line[] }> {
  const server = await TestServer.start({ args: ["--log", "json", "--log-level", level] });
  {
    await using _server = server;
    await use(server);
  }
  const text = await server.log;
  return { text, lines: text.trimEnd().split("\n").map((line) => JSON.parse(line)) };
}

/** Sends a request and reads until its answer, past the notifications before it. */
async function ask(socket: RawWebSocket, request: Record<string, unknown>): Promise<Line> {
  await socket.sendText(JSON.stringify(request));
  return await readUntil(socket, (message) => message.id === request.id);
}

async function readUntil(socket: RawWebSocket, isWanted: (message: Line) => boolean): Promise<Line> {
  for (;;) {
    const message = await socket.readMessage();
    assert.notEqual(message, null, "the connection ended");
    if (isWanted(message)) return message;
  }
}

function start(processId: string, script: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const env = { PATH: "/usr/bin:/bin", API_KEY: "environment-value" };
  return { processId, argv: ["sh", "-c", script], cwd: "/tmp", env, tty: false, ...more };
}

const find = (lines: readonly Line[], wanted: Line) =>
  lines.filter((line) => Object.entries(wanted).every(([name, value]) => line[name] === value));

Deno.test("a process is followed from its request to its exit by trace, thread and tool call", async () => {
  const { text, lines } = await logOf("debug", async (server) => {
    using socket = await RawWebSocket.connect(server.url, { "x-request-id": "upgrade-7" });
    await socket.handshake();
    const metadata = { threadId: THREAD, toolCallId: "c1" };
    const params = start("p1", "echo output-content; exit 7", { metadata });
    assert.ok((await ask(socket, { id: 1, method: "process/start", params, trace })).result);
    await readUntil(socket, (message) => message.method === "process/closed");
    assert.ok((await ask(socket, { id: "r2", method: "process/read", params: { processId: "p1" } })).result);
  });
  const labels = { connection: 1, request: "1", process: "p1", thread: THREAD, toolCall: "c1", ...TRACE };
  const [started] = find(lines, { message: "process started", ...labels, tty: false, sandboxed: false });
  assert.ok(started, text);
  const exit = { pid: started.pid, exitCode: 7, reason: "exit" };
  assert.equal(find(lines, { message: "process exited", ...labels, ...exit }).length, 1, text);
  assert.equal(find(lines, { message: "request answered", method: "process/start", ...labels }).length, 1, text);
  const [read] = find(lines, { message: "request answered", method: "process/read", request: '"r2"', process: "p1" });
  assert.ok(read !== undefined && typeof read.tookMs === "number" && !("trace_id" in read), text);
  assert.equal(find(lines, { message: "connected", requestId: "upgrade-7" }).length, 1, text);
  for (const secret of ["environment-value", "output-content", "b3V0cHV0LWNvbnRlbnQ", "tracestate-value"]) {
    assert.ok(!text.includes(secret), secret);
  }
});

Deno.test("refused requests carry their trace, whatever they are refused for", async () => {
  const { text, lines } = await logOf("debug", async (server) => {
    using socket = await RawWebSocket.connect(server.url);
    const early = await ask(socket, { id: 1, method: "environment/status", trace });
    assert.equal(early.error.code, -32600);
    await socket.handshake();
    assert.equal((await ask(socket, { id: 2, method: "process/start", params: {}, trace })).error.code, -32602);
    assert.equal((await ask(socket, { id: 3, method: "no/such", trace })).error.code, -32601);
    const metadata = { toolCallId: "x".repeat(1_000_000) };
    const params = { ...start("p2", "", { metadata }), argv: ["/no/such/program"] };
    assert.equal((await ask(socket, { id: 4, method: "process/start", params, trace })).error.code, -32603);
  });
  const refused = find(lines, { message: "request refused", ...TRACE });
  assert.deepEqual(refused.map(({ request }) => request), ["1", "2", "3", "4"], text.slice(0, 4000));
  const { process, toolCall } = refused[3]!;
  assert.deepEqual([process, toolCall], ["p2", "x".repeat(127) + "…"]);
});

Deno.test("refusals of file requests name their paths, as the client has written them", async () => {
  const { text, lines } = await logOf("debug", async (server) => {
    const client = await server.connect();
    const from = "file:///no/such/file%E2%80%AE";
    await assert.rejects(client.call("fs/readFile", { path: from }));
    await assert.rejects(client.call("fs/writeFile", { path: "/no/such/\u202efile", dataBase64: "" }));
    await assert.rejects(client.call("fs/copy", { sourcePath: from, destinationPath: "/no/to", recursive: false }));
    await client.call("fs/getMetadata", { path: "/" });
  });
  const refused = find(lines, { message: "request refused" }).map(({ method, path, from, to }) => ({
    method,
    ...(path === undefined ? { from, to } : { path }),
  }));
  assert.deepEqual(refused, [
    { method: "fs/readFile", path: "file:///no/such/file%E2%80%AE" },
    { method: "fs/writeFile", path: "/no/such/\u202efile" },
    { method: "fs/copy", from: "file:///no/such/file%E2%80%AE", to: "/no/to" },
  ], text);
  assert.ok(!text.includes("\u202e"), text);
});

Deno.test("refusals of requests with a handle name it, and its path while it is open", async () => {
  const path = "file:///proc/self/status";
  const { text, lines } = await logOf("debug", async (server) => {
    await using client = await server.connect();
    const read = (handleId: string, len = 0) => client.call("fs/readBlock", { handleId, offset: 0, len });
    await assert.rejects(read("a", 1));
    await client.call("fs/open", { handleId: "a", path });
    await assert.rejects(client.call("fs/open", { handleId: "b", path: "/no/such/file" }));
    await assert.rejects(read("a"));
    await assert.rejects(read("a", -1));
    await assert.rejects(client.call("fs/writeBlock", { handleId: "a", offset: 0, chunk: "eA==" }));
    await assert.rejects(read("b", 1));
    await client.call("fs/close", { handleId: "a" });
    await assert.rejects(read("a", 1));
    await assert.rejects(client.call("fs/close", { handleId: "x".repeat(33) }));
  });
  const refused = find(lines, { message: "request refused" }).map(({ method, handle, path }) => [method, handle, path]);
  assert.deepEqual(refused, [
    ["fs/readBlock", "a", undefined],
    ["fs/open", "b", "/no/such/file"],
    ["fs/readBlock", "a", path],
    ["fs/readBlock", "a", path],
    ["fs/writeBlock", "a", path],
    ["fs/readBlock", "b", undefined],
    ["fs/readBlock", "a", undefined],
    ["fs/close", "x".repeat(33), undefined],
  ], text);
});

Deno.test("an invalid trace context is ignored, and one that is not an object is malformed", async () => {
  const { text, lines } = await logOf("debug", async (server) => {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    for (const [id, traceparent] of ["", "zz", "00-0-0-0", null].entries()) {
      const answer = await ask(socket, { id, method: "environment/status", trace: { traceparent, tracestate: "a" } });
      assert.deepEqual(answer, { id, result: { status: "ready" } });
    }
    await socket.sendText('{"id":9,"method":"environment/status","trace":5}');
    assert.equal((await readUntil(socket, () => true)).id, -1);
  });
  assert.equal(find(lines, { message: "request answered", method: "environment/status" }).length, 4, text);
  assert.ok(!text.includes("trace_id"), text);
});

Deno.test("a session's whole id, with which it could be taken over, is in no line", async () => {
  let sessionId = "";
  const { text, lines } = await logOf("debug", async (server) => {
    await using holder = await server.connect();
    sessionId = holder.sessionId;
    await assert.rejects(server.connect({ resumeSessionId: sessionId }), /is already attached/);
  });
  assert.equal(find(lines, { message: "request refused", method: "initialize" }).length, 1, text);
  assert.ok(text.includes(sessionId.slice(0, 8)) && !text.includes(sessionId), text);
});

Deno.test("at the default level requests and processes leave no lines, and a session's opening has its trace", async () => {
  const { text, lines } = await logOf("info", async (server) => {
    using socket = await RawWebSocket.connect(server.url);
    const opened = await ask(socket, { id: 1, method: "initialize", params: { clientName: "traced" }, trace });
    assert.ok(opened.result);
    await socket.sendText('{"method":"initialized"}');
    assert.ok((await ask(socket, { id: 2, method: "process/start", params: start("p", "exit 1") })).result);
    await readUntil(socket, (message) => message.method === "process/closed");
    assert.ok((await ask(socket, { id: 3, method: "no/such", trace })).error);
  });
  assert.equal(find(lines, { message: "session opened", client: "traced", ...TRACE }).length, 1, text);
  assert.deepEqual(lines.filter(({ level }) => level === "debug"), []);
  assert.ok(lines.every(({ message }) => !/^(process|request) /.test(message)), text);
});
