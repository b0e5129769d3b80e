import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { RpcError } from "../support/rpc_client.ts";
import { TestServer, type TestServerOptions } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const TAKEN = { id: -1, error: { code: -32600, message: "session has been resumed by another connection" } };
const start = { argv: ["cat"], cwd: "/", env: {}, tty: false, pipeStdin: true, arg0: null };

/** Five looks of the server: one is to be enough, and the machine may be busy. */
const LIMIT_MS = 25_000;

/** Asks for the session until it is had; returns how often that was refused. */
async function resumeAgainAndAgain(server: TestServer, sessionId: string): Promise<number> {
  const begun = performance.now();
  for (let refusals = 0;; refusals++) {
    try {
      await using client = await server.connect({ resumeSessionId: sessionId });
      assert.equal(client.sessionId, sessionId);
      return refusals;
    } catch (error) {
      assert.ok(error instanceof RpcError && error.code === -32010, String(error));
      assert.ok(performance.now() - begun < LIMIT_MS, "it is locked out");
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** The frames of a connection whose peer has vanished go unread and unanswered, pings included. */
Deno.test("a client that vanished is back in its session after one check, however often it asks", async () => {
  await using server = await TestServer.start();
  using vanished = await RawWebSocket.connect(server.url);
  const { sessionId } = await vanished.handshake();
  const refusals = await resumeAgainAndAgain(server, sessionId);
  assert.ok(refusals > 3, `${refusals} refusals are not often`);
});

async function comesBackBehindInput(options: TestServerOptions): Promise<void> {
  await using server = await TestServer.start(options);
  using vanished = await RawWebSocket.connect(server.url);
  const { sessionId } = await vanished.handshake();
  const params = { processId: "p", ...start, argv: ["sleep", "600"] };
  await vanished.sendText(JSON.stringify({ id: 1, method: "process/start", params }));
  assert.equal((await vanished.readUntil(({ id }) => id === 1)).error, undefined);
  // Twice what the server takes ahead: it stops reading, and its kernel has no room for a pong either.
  let isAllSent = false;
  const chunk = "x".repeat(1_200_000);
  const sending = (async () => {
    for (let id = 2; id < 120; id++) {
      await vanished.sendText(JSON.stringify({ id, method: "process/write", params: { processId: "p", chunk } }));
    }
    isAllSent = true;
  })().catch(() => {/* The connection is dropped in the end. */});
  await resumeAgainAndAgain(server, sessionId);
  assert.equal(isAllSent, false, "the server has taken everything: the test shows nothing");
  vanished.drop();
  await sending;
}

const isCompiled = Deno.env.has("EXEC_SERVER_BINARY");
const WITHOUT_FFI = "and so it is where the server cannot ask the kernel what has come, and what the peer has taken";
Deno.test(
  "a client that vanished behind input that nobody reads is back in its session as soon" +
    (isCompiled ? "" : `, ${WITHOUT_FFI}`),
  async () => {
    // The compiled program's permissions are built in. Both at a time: they wait for five seconds.
    const others = isCompiled ? [] : [comesBackBehindInput({ withoutPermissions: ["ffi"] })];
    await Promise.all([comesBackBehindInput({}), ...others]);
  },
);

Deno.test("a session is taken over at once; the old connection is told, and its late requests do nothing", async () => {
  await using server = await TestServer.start();
  using old = await RawWebSocket.connect(server.url);
  const { sessionId } = await old.handshake();
  await old.sendText(JSON.stringify({ id: 1, method: "process/start", params: { processId: "p", ...start } }));
  assert.equal((await old.readUntil(({ id }) => id === 1)).error, undefined);
  await old.sendText(JSON.stringify({ id: 2, method: "process/wait", params: { processId: "p" } }));

  await using client = await server.connect({ resumeSessionId: sessionId, takeover: true });
  assert.equal(client.sessionId, sessionId);
  const events = client.follow("p");
  const write = (chunk: string) => ({ processId: "p", chunk: btoa(chunk) });
  await old.sendText(JSON.stringify({ id: 3, method: "process/write", params: write("late\n") })).catch(() => {
    // Gone already.
  });
  assert.deepEqual(await old.readMessage(), TAKEN);
  const farewell = await old.readFrame();
  assert.deepEqual([farewell?.opcode, [...farewell!.payload.subarray(0, 2)]], [0x8, [0x03, 0xf0]]);
  assert.equal(new TextDecoder().decode(farewell!.payload.subarray(2)), TAKEN.error.message);
  assert.equal(await old.readFrame(), null);

  await client.call("process/write", write("mine\n"));
  await client.call("process/closeStdin", { processId: "p" });
  let output = "";
  for await (const { method, params } of events) if (method === "process/output") output += atob(params.chunk);
  assert.equal(output, "mine\n");
  assert.equal(client.environmentInfo.capabilities.sessionTakeover, true);
});

Deno.test("an old connection that does not read delays no takeover, and no output is lost to it or told twice", async () => {
  await using server = await TestServer.start({ args: ["--retained-output-bytes-per-process", "67108864"] });
  const lines = 400_000;
  let socket = await RawWebSocket.connect(server.url);
  const { sessionId } = await socket.handshake();
  const argv = ["seq", "1", String(lines)];
  const params = { processId: "p", ...start, argv, pipeStdin: false };
  await socket.sendText(JSON.stringify({ id: 1, method: "process/start", params }));
  await socket.readUntil(({ id }) => id === 1);

  const chunks = new Map<number, string>();
  const stuck: RawWebSocket[] = [];
  let isClosed = false;
  let next = 1;
  // Each connection reads a little and then nothing more, with the server's sends stuck behind it.
  for (let round = 0; !isClosed; round++) {
    stuck.push(socket);
    socket = await RawWebSocket.connect(server.url);
    await socket.handshake({ resumeSessionId: sessionId, takeover: true });
    await socket.sendText(
      JSON.stringify({ id: 2, method: "process/read", params: { processId: "p", afterSeq: next - 1 } }),
    );
    let told = 0;
    // New output may come before the answer to the read, to its very end: that has told nothing of what came between.
    let isAnswered = false;
    for (let messages = 0; (messages < 10 || round > 20 || isClosed) && !(isClosed && isAnswered); messages++) {
      const message = await socket.readMessage();
      assert.notEqual(message, null, "the newest connection lives");
      if (message.id === 2) {
        for (const chunk of message.result.chunks) note(chunk);
        isAnswered = true;
        isClosed ||= message.result.closed;
      } else if ("seq" in (message.params ?? {})) {
        assert.ok(told === 0 || message.params.seq === told + 1, "notifications of one connection have no gaps");
        told = message.params.seq;
        if (message.method === "process/output") note(message.params);
        isClosed = message.method === "process/closed";
      }
    }
    while (chunks.has(next)) next++;
  }
  for (const connection of [...stuck, socket]) connection.drop();
  const output = [...chunks].sort(([a], [b]) => a - b).map(([, chunk]) => atob(chunk)).join("");
  assert.equal(output, Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join(""));

  function note({ seq, chunk }: { seq: number; chunk: string }): void {
    assert.equal(chunks.get(seq) ?? chunk, chunk);
    chunks.set(seq, chunk);
  }
});

Deno.test("if many take a session over at once, one has it in the end, and the others are told", async () => {
  await using server = await TestServer.start();
  const first = await server.connect();
  // Some lose the session before they have heard that they had it.
  const rivals = await Promise.allSettled(
    Array.from({ length: 20 }, () => server.connect({ resumeSessionId: first.sessionId, takeover: true })),
  );
  const living = new Set([first]);
  for (const rival of rivals) if (rival.status === "fulfilled") living.add(rival.value);
  for (const client of living) client.closed.then(() => living.delete(client));
  await until(() => living.size === 1, () => `${living.size} connections live`);
  const [winner] = living;
  assert.deepEqual(await winner!.call("environment/status", null), { status: "ready" });
  await assert.rejects(
    server.connect({ resumeSessionId: first.sessionId }),
    (error) => error instanceof RpcError && error.code === -32010,
  );
  await winner!.close();
});
