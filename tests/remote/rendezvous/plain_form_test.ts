/** Executors of the seed's form and clients with a plain URL, over real sockets. */

import assert from "node:assert/strict";
import { concatBytes } from "../../../src/bytes.ts";
import { clientFrame, RawWebSocket } from "../../support/raw_websocket.ts";
import { closing, Hall, nextMessage, okay, text, TOKENS } from "./hall.ts";

Deno.test("an executor of the seed's form and a client with a token are spliced, text and binary, both ways", async () => {
  await using hall = await Hall.open();
  const answer = okay(await hall.registerSeed("box-1"));
  assert.deepEqual(Object.keys(answer).sort(), ["executor_id", "id", "spareConnections", "url"]);
  assert.equal(answer.executor_id, "box-1");
  assert.ok(answer.url.startsWith(`${hall.rendezvous.url}/rendezvous/executor/box-1?ticket=`));
  using executor = await RawWebSocket.connect(answer.url);
  using client = await hall.client("box-1");
  await client.sendText('{"hello":1}');
  assert.deepEqual((await executor.readFrame())!.payload, text('{"hello":1}'));
  await executor.sendFrame(0x2, text("{}"));
  const frame = await client.readFrame();
  assert.deepEqual([frame!.opcode, frame!.isFinal, frame!.payload], [0x2, true, text("{}")]);
  // Fragments stay fragments: nothing is joined or held.
  await client.sendFrame(0x1, text("a"), { isFinal: false });
  assert.deepEqual((await executor.readFrame())!.isFinal, false);
  await client.sendFrame(0x0, text("b"));
  assert.deepEqual((await executor.readFrame())!.opcode, 0x0);
});

Deno.test("when either side of a splice leaves, the other is told and dropped, and the close code is passed on", async () => {
  await using hall = await Hall.open();
  const executor = await hall.seedExecutor("box-1");
  const client = await hall.client("box-1");
  await client.sendFrame(0x8, Uint8Array.of(0x0f, 0xa1, ...text("bye")));
  assert.deepEqual(await closing(executor), [4001, "bye"]);
  executor.drop();
  client.drop();

  const again = await hall.seedExecutor("box-1");
  using second = await hall.client("box-1");
  again.drop();
  assert.deepEqual(await closing(second), [1000, ""]);
});

Deno.test("data in the same packet as a close frame is passed on before it", async () => {
  await using hall = await Hall.open();
  const [first, second] = [await hall.seedExecutor("box-1"), await hall.seedExecutor("box-2")];
  const [one, two] = [await hall.client("box-1"), await hall.client("box-2")];
  for (const [from, to] of [[one, first], [second, two]] as const) {
    const goodbye = clientFrame(0x8, Uint8Array.of(0x03, 0xe8));
    await from.write(concatBytes([clientFrame(0x1, text("last")), clientFrame(0x1, text("words")), goodbye]));
    assert.deepEqual(await nextMessage(to), text("last"));
    assert.deepEqual(await nextMessage(to), text("words"));
    // At once, although whoever said goodbye has not hung up.
    assert.equal((await closing(to))[0], 1000);
    from.drop();
    to.drop();
  }
});

Deno.test("a client waits while its executor is away, and gets it when it comes", async () => {
  await using hall = await Hall.open();
  const held = hall.client("box-1");
  // Two that wait: each gets a websocket of its own.
  const heldToo = hall.client("box-1");
  using first = await hall.seedExecutor("box-1");
  using second = await hall.seedExecutor("box-1");
  using one = await held;
  using two = await heldToo;
  await one.sendText("1");
  await two.sendText("2");
  const seen = [await nextMessage(first), await nextMessage(second)].map((bytes) => new TextDecoder().decode(bytes!));
  assert.deepEqual(seen.sort(), ["1", "2"]);
});

Deno.test("a client that left while it waited does not count", async () => {
  await using hall = await Hall.open();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(hall.url).port) });
  const head = [
    "GET /connect/box-1 HTTP/1.1",
    "Host: x",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Authorization: Bearer ${TOKENS.client}`,
  ];
  await conn.write(text(head.join("\r\n") + "\r\n\r\n"));
  conn.close();
  using executor = await hall.seedExecutor("box-1");
  using client = await hall.client("box-1");
  await client.sendText("mine");
  assert.deepEqual(await nextMessage(executor), text("mine"));
});

Deno.test("registrations of one process share an id, another process is refused while the first one lives (duty 6)", async () => {
  await using hall = await Hall.open();
  using executor = await hall.seedExecutor("box-1");
  okay(await hall.registerSeed("box-1"));
  const answering = (async () => {
    // Alive: it answers pings.
    for (let frame = await executor.readFrame(); frame !== null; frame = await executor.readFrame()) {
      if (frame.opcode === 0x9) await executor.sendFrame(0xa, frame.payload);
    }
  })();
  const other = await hall.registerSeed("box-1", "another-process");
  assert.deepEqual([other.status, other.json.error.code], [409, "executor_id_in_use"]);
  executor.drop();
  await answering;
  okay(await hall.registerSeed("box-1", "another-process"));
});

Deno.test("registrations of one process may overlap: each URL opens a websocket, and those of another process none", async () => {
  await using hall = await Hall.open();
  const [first, second] = [okay(await hall.registerSeed("box-1")), okay(await hall.registerSeed("box-1"))];
  using one = await RawWebSocket.connect(first.url);
  using two = await RawWebSocket.connect(second.url);
  using client = await hall.client("box-1");
  await client.sendFrame(0x1, new TextEncoder().encode("hello"));
  assert.equal((await two.readFrame())?.opcode, 0x1, "the newest is given away first");
  one.drop();
  two.drop();
  client.drop();
  // Nobody is there any more: another process gets the id, and the URLs of the first are worth nothing.
  let other = await hall.registerSeed("box-1", "another-process");
  while (other.status === 409) other = await hall.registerSeed("box-1", "another-process");
  okay(other);
  await assert.rejects(RawWebSocket.connect(second.url), /401/);
});
