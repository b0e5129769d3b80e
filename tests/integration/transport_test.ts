import assert from "node:assert/strict";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { checked } from "../support/answer_check.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { openWebSocket } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

const MIB = 1024 * 1024;
const status = (id: unknown) => JSON.stringify({ id, method: "environment/status" });
const ready = { status: "ready" };

/** A request padded to a length with an ignored member. */
function padded(id: number, bytes: number): Uint8Array<ArrayBuffer> {
  const head = `{"id":${id},"method":"environment/status","pad":"`;
  return new TextEncoder().encode(head + "x".repeat(bytes - head.length - 2) + '"}');
}

/** Code and reason of the next frame, which must be a close frame and the last. */
async function closeFrame(socket: RawWebSocket): Promise<[number, string]> {
  const frame = await socket.readFrame();
  assert.equal(frame?.opcode, OPCODE.close);
  assert.equal(await socket.readFrame(), null);
  const { payload } = frame!;
  return [(payload[0]! << 8) | payload[1]!, new TextDecoder().decode(payload.subarray(2))];
}

Deno.test("a frame of 15 MiB is served and one of 17 MiB ends its connection, and no other", async () => {
  await using server = await TestServer.start();
  using bystander = await RawWebSocket.connect(server.url);
  await bystander.handshake();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  await socket.sendFrame(OPCODE.text, padded(1, 15 * MIB));
  assert.deepEqual(await socket.readMessage(), { id: 1, result: ready });
  await socket.sendFrame(OPCODE.text, padded(2, 17 * MIB)).catch(
    () => {/* The server may close before all is sent. */},
  );
  assert.deepEqual(await closeFrame(socket), [1009, "frame of 17825792 bytes exceeds the limit of 16777216"]);
  await bystander.sendText(status(3));
  assert.deepEqual(await bystander.readMessage(), { id: 3, result: ready });
});

Deno.test("60 MiB in fragments are one message, 70 MiB end the connection", async () => {
  await using server = await TestServer.start();
  for (const [total, isAccepted] of [[60 * MIB, true], [70 * MIB, false]] as const) {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const message = padded(1, total);
    for (let at = 0; at < total; at += 8 * MIB) {
      const opcode = at === 0 ? OPCODE.text : OPCODE.continuation;
      const isFinal = at + 8 * MIB >= total;
      await socket.sendFrame(opcode, message.subarray(at, at + 8 * MIB), { isFinal }).catch(() => {/* as above */});
    }
    if (isAccepted) assert.deepEqual(await socket.readMessage(), { id: 1, result: ready });
    else assert.deepEqual(await closeFrame(socket), [1009, "message exceeds the limit of 67108864 bytes"]);
  }
});

Deno.test("a message that never ends costs no more than the limit", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const part = new Uint8Array(8 * MIB).fill(0x20);
  let sent = 0;
  try {
    await socket.sendFrame(OPCODE.text, part, { isFinal: false });
    for (; sent < 200; sent++) await socket.sendFrame(OPCODE.continuation, part, { isFinal: false });
  } catch {
    // Dropped, as it should be.
  }
  assert.ok(sent < 200, "1.6 GiB were taken");
  await using client = await server.connect();
  assert.deepEqual(await client.call("environment/status", null), ready);
});

Deno.test("text and binary frames are equivalent, and invalid UTF-8 is a violation only in text", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  await socket.sendFrame(OPCODE.binary, new TextEncoder().encode(status("b")));
  assert.deepEqual(await socket.readMessage(), { id: "b", result: ready });
  await socket.sendFrame(OPCODE.binary, Uint8Array.of(0x22, 0xff, 0x22));
  const answer = await socket.readMessage();
  assert.deepEqual([answer.id, answer.error.code], [-1, -32600]);
  await socket.sendFrame(OPCODE.text, Uint8Array.of(0x22, 0xff, 0x22));
  assert.deepEqual(await closeFrame(socket), [1007, "text frame is not valid UTF-8"]);
});

Deno.test("a library that sends too much is told so, though it has not finished sending", async () => {
  await using server = await TestServer.start();
  // The runtime's own websocket.
  const channel = await checked(await openWebSocket(server.url));
  const closed = new Promise<string>((resolve) => channel.onClose = resolve);
  channel.send("x".repeat(100 * MIB));
  assert.equal(await closed, "frame of 104857600 bytes exceeds the limit of 16777216 (close code 1009)");
});

Deno.test("violations are explained with id -1, then the connection ends", async () => {
  await using server = await TestServer.start();
  for (
    const text of [
      '{"method":"process/terminate","params":{}}',
      '{"id":1,"result":{}}',
      '{"id":1,"error":{"code":1,"message":"x"}}',
    ]
  ) {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    await socket.sendText(text);
    await socket.sendText(status(1));
    const answer = await socket.readMessage();
    assert.deepEqual([answer.id, answer.error.code], [-1, -32600], text);
    assert.deepEqual(await closeFrame(socket), [1008, answer.error.message], text);
  }
});

Deno.test("a close frame is echoed", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  await socket.sendFrame(OPCODE.close, Uint8Array.of(0x03, 0xe8));
  const frame = await socket.readFrame();
  assert.deepEqual([frame?.opcode, [...frame!.payload]], [OPCODE.close, [0x03, 0xe8]]);
  assert.equal(await socket.readFrame(), null);
});

Deno.test("the server pings at its interval and drops a peer that never answers", async () => {
  await using server = await TestServer.start({ args: ["--ping-interval-ms", "20"] });
  using socket = await RawWebSocket.connect(server.url);
  let pings = 0;
  for (let frame = await socket.readFrame(); frame !== null; frame = await socket.readFrame()) {
    assert.deepEqual([frame.opcode, frame.payload.length], [OPCODE.ping, 0]);
    pings++;
  }
  assert.equal(pings, 6);
});

Deno.test("x-request-id is echoed in the 101", async () => {
  await using server = await TestServer.start();
  const response = await fetch(server.url.replace("ws:", "http:") + "/readyz", { headers: { "x-request-id": "r1" } });
  assert.deepEqual([response.status, await response.text(), response.headers.get("x-request-id")], [200, "", null]);
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const head = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Request-Id: r1\r\n\r\n";
  await conn.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(4096);
  const read = await conn.read(buffer);
  conn.close();
  const answer = new TextDecoder().decode(buffer.subarray(0, read ?? 0)).toLowerCase();
  assert.match(answer, /^http\/1\.1 101 /);
  assert.match(answer, /\r\nx-request-id: r1\r\n/);
});

Deno.test("a Host that is a name is refused on a loopback listener", async () => {
  await using server = await TestServer.start();
  await assert.rejects(RawWebSocket.connect(server.url, { Host: "evil.example" }), /403/);
  (await RawWebSocket.connect(server.url, { Host: "localhost:1" })).drop();
});

Deno.test("a unix socket serves the same protocol, only for its owner, and replaces a stale file but no live one", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/s`;
  const url = `unix:${path}`;
  const first = await TestServer.start({ listen: url });
  assert.equal(first.url, url);
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
  using socket = await RawWebSocket.connect(url);
  await socket.handshake();
  await assert.rejects(TestServer.start({ listen: url }), /another program listens there/);
  first.kill("SIGKILL");
  await first.status;
  assert.ok(Deno.lstatSync(path).isSocket, "killed servers leave the file behind");
  await using second = await TestServer.start({ listen: url });
  using again = await RawWebSocket.connect(second.url);
  await again.handshake();
  await Deno.writeTextFile(`${directory}/file`, "precious");
  await assert.rejects(TestServer.start({ listen: `unix:${directory}/file` }), /a file of that name/);
  assert.equal(await Deno.readTextFile(`${directory}/file`), "precious");
  second.kill("SIGTERM");
  await second.status;
  assert.throws(() => Deno.lstatSync(path), Deno.errors.NotFound);
  await first[Symbol.asyncDispose]();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a session that its client ends is closed with 1000, behind the answer", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  await socket.sendText(JSON.stringify({ id: 1, method: "session/end" }));
  assert.deepEqual(await socket.readMessage(), { id: 1, result: {} });
  assert.deepEqual(await closeFrame(socket), [1000, "session has ended"]);
});
