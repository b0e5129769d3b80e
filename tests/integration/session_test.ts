import assert from "node:assert/strict";
import { MAX_DETACHED_SESSIONS } from "../../src/protocol/limits.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

Deno.test("a session is resumed after an abrupt loss, as often as needed", async () => {
  await using server = await TestServer.start();
  let socket = await RawWebSocket.connect(server.url);
  const { sessionId } = await socket.handshake();
  for (let i = 0; i < 3; i++) {
    socket.drop();
    socket = await resumeWhenFree(server, sessionId);
  }
  socket.drop();
});

Deno.test("a session is free once its connection has ended, even if the peer leaves the socket open", async () => {
  await using server = await TestServer.start();
  const ends: Record<string, (socket: RawWebSocket) => Promise<void>> = {
    "close frame": (socket) => socket.sendFrame(0x8, Uint8Array.of(0x03, 0xe8)),
    "unknown notification": (socket) => socket.sendText('{"method":"nope"}'),
    "unknown opcode": (socket) => socket.sendFrame(0x3, new Uint8Array()),
  };
  for (const [name, end] of Object.entries(ends)) {
    using socket = await RawWebSocket.connect(server.url);
    const { sessionId } = await socket.handshake();
    await end(socket);
    while (await socket.readFrame() !== null);

    using next = await RawWebSocket.connect(server.url);
    assert.equal((await next.handshake({ resumeSessionId: sessionId })).sessionId, sessionId, name);
  }
});

Deno.test("a session held by a live connection is refused with -32010 and its owner keeps it", async () => {
  await using server = await TestServer.start();
  await using owner = await server.connect();
  for (let i = 0; i < 3; i++) {
    await assert.rejects(
      server.connect({ resumeSessionId: owner.sessionId }),
      (error) => error instanceof RpcError && error.code === -32010,
    );
  }
  assert.deepEqual(await owner.call("environment/status", null), { status: "ready" });
});

Deno.test("an expired session is unknown, and its connection may still open a fresh one", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const first = await server.connect();
  await first.close();
  const resume = { id: 1, method: "initialize", params: { clientName: "x", resumeSessionId: first.sessionId } };
  for (;;) {
    using socket = await RawWebSocket.connect(server.url);
    await socket.sendText(JSON.stringify(resume));
    const { error } = await socket.readMessage();
    // In time after all, or before the server has noticed the loss: then it has not expired yet.
    if (error === undefined || error.code === -32010) continue;
    assert.deepEqual(error, { code: -32600, message: `unknown session id ${first.sessionId}` });
    await socket.handshake();
    return;
  }
});

/** Resumes as soon as the server has noticed that the old connection is gone. */
async function resumeWhenFree(server: TestServer, sessionId: string): Promise<RawWebSocket> {
  for (;;) {
    const socket = await RawWebSocket.connect(server.url);
    try {
      const resumed = await socket.handshake({ resumeSessionId: sessionId });
      assert.equal(resumed.sessionId, sessionId);
      return socket;
    } catch (error) {
      socket.drop();
      if ((error as { code?: number }).code !== -32010) throw error;
    }
  }
}

Deno.test("a client says how long its session waits for it, up to the server's maximum, and is told", async () => {
  await using server = await TestServer.start({
    args: ["--detached-session-ttl-ms", "1", "--max-detach-ttl-ms", "60000"],
  });
  const asking = { optionalFields: ["detachTtlMs"] };
  const ttls: unknown[] = [];
  for (const detachTtlMs of [undefined, 0, 30_000, 90_000]) {
    using socket = await RawWebSocket.connect(server.url);
    ttls.push((await socket.handshake({ ...asking, detachTtlMs })).detachTtlMs);
  }
  assert.deepEqual(ttls, [1, 0, 30_000, 60_000]);

  const patient = await RawWebSocket.connect(server.url);
  const hello = await patient.handshake({ detachTtlMs: 60_000 });
  assert.deepEqual(Object.keys(hello), ["sessionId", "environmentInfo"], "who does not ask is told what it always was");
  assert.equal(hello.environmentInfo.capabilities.detachTtl, true);
  patient.drop();
  // Two that are not as patient end after it.
  for (let i = 0; i < 2; i++) {
    const hasty = await server.connect();
    await hasty.close();
    await server.logged("sessionExpired", 3 + i);
  }
  using back = await RawWebSocket.connect(server.url);
  assert.equal((await back.handshake({ resumeSessionId: hello.sessionId })).sessionId, hello.sessionId);

  using wrong = await RawWebSocket.connect(server.url);
  const params = { clientName: "t", detachTtlMs: -1 };
  await wrong.sendText(JSON.stringify({ id: 1, method: "initialize", params }));
  const { error } = await wrong.readMessage() as { error: { code: number; message: string } };
  assert.equal(error.code, -32602);
  assert.match(error.message, /detachTtlMs: Invalid input: expected a non-negative integer/);
});

Deno.test("sessions that wait for their clients are bounded: those without processes go first, attached ones never", async () => {
  await using server = await TestServer.start({ args: ["--log-level", "info"] });
  using attached = await RawWebSocket.connect(server.url);
  const { sessionId: attachedId } = await attached.handshake();
  const leave = async (start?: object) => {
    using socket = await RawWebSocket.connect(server.url);
    const { sessionId } = await socket.handshake({ detachTtlMs: 86_400_000 });
    if (start !== undefined) {
      await socket.sendText(JSON.stringify({ id: 1, method: "process/start", params: start }));
      assert.equal((await socket.readUntil(({ id }) => id === 1)).error, undefined);
    }
    // Its close frame is answered when the session waits.
    await socket.sendFrame(0x8, Uint8Array.of(0x03, 0xe8));
    while (await socket.readFrame() !== null);
    return sessionId;
  };
  const resume = async (resumeSessionId: string) => {
    using socket = await RawWebSocket.connect(server.url);
    await socket.sendText(
      JSON.stringify({ id: 1, method: "initialize", params: { clientName: "x", resumeSessionId } }),
    );
    const { error, result } = await socket.readMessage();
    return error ?? result.sessionId;
  };
  const env = { PATH: "/usr/bin:/bin" };
  const start = { processId: "p", argv: ["sleep", "600"], cwd: "/", env, tty: false };
  const [working, oldest, next] = [await leave(start), await leave(), await leave()];
  for (let count = 3; count < MAX_DETACHED_SESSIONS; count++) await leave();
  assert.equal(server.timesLogged("session ended"), 0);
  await leave();
  assert.deepEqual(await resume(oldest), { code: -32600, message: `unknown session id ${oldest}` });
  assert.equal(await resume(next), next);
  assert.equal(await resume(working), working);
  await server.logged(`reason=sessionExpired bound="${MAX_DETACHED_SESSIONS} detached sessions"`);
  const { code } = await resume(attachedId);
  assert.equal(code, -32010, "its client is there");
});
