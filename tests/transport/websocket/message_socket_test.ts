/** Both ends of a websocket, ours, over real sockets: each role reads what the other writes, and nothing else. */

import assert from "node:assert/strict";
import { sourceOf } from "../../../src/bytes.ts";
import { systemClock } from "../../../src/clock.ts";
import { StreamedMessage } from "../../../src/rpc/streamed_message.ts";
import type { OutboundMessage } from "../../../src/rpc/link.ts";
import { MessageSocket, type RawMessage } from "../../../src/transport/websocket/message_socket.ts";
import type { WebSocketOptions } from "../../../src/transport/websocket/websocket_endpoint.ts";
import { encodeFrame, OPCODE, readFrame } from "../../../src/transport/websocket/websocket_frames.ts";
import { WebSocketLink } from "../../../src/transport/websocket/websocket_link.ts";

const LENGTHS = [0, 1, 5, 125, 126, 127, 4096, 16_370, 65_535, 65_536, 300_001];

for (const [near, far] of [["client", "server"], ["server", "client"]] as const) {
  Deno.test(`raw messages of any length pass from ${near} to ${far}, as text and as bytes, one by one and together`, async () => {
    await using pair = await socketPair();
    const sender = new MessageSocket(pair.near, options(near));
    const receiver = new MessageSocket(pair.far, options(far));
    const messages = LENGTHS.flatMap((length) => [true, false].map((isText) => ({ isText, bytes: patterned(length) })));
    const received: RawMessage[] = [];
    const ends = [
      sender.receive(() => {}),
      receiver.receive(({ isText, bytes }) => void received.push({ isText, bytes: bytes.slice() })),
    ];
    for (const message of messages) await sender.send([message]);
    await sender.send(messages);
    sender.close({ cause: "done", reason: "" });
    assert.deepEqual((await Promise.all(ends)).map(({ type }) => type), ["closedByUs", "peerClosed"]);
    assert.deepEqual(received, [...messages, ...messages]);
  });
}

Deno.test("a link in the client's role sends texts, parts and streams that a server's link reads", async () => {
  await using pair = await socketPair();
  const client = new WebSocketLink(pair.near, options("client"));
  const server = new WebSocketLink(pair.far, options("server"));
  const content = patterned(2_000_001);
  const messages: [OutboundMessage, string][] = [
    ["short", "short"],
    ["grüße ".repeat(20_000), "grüße ".repeat(20_000)],
    [["parts ", "x".repeat(400_000)], "parts " + "x".repeat(400_000)],
    [new StreamedMessage("<", sourceOf([content]), ">"), `<${content.toBase64()}>`],
    ["ü".repeat(60), "ü".repeat(60)],
  ];
  const received: (string | null)[] = [];
  const ends = [client.receive(() => {}), server.receive((text) => void received.push(text))];
  await client.send(messages.map(([message]) => message));
  client.close();
  await Promise.all(ends);
  assert.deepEqual(received, messages.map(([, text]) => text));
});

Deno.test("a client refuses a masked frame and one that is too long", async () => {
  for (
    const [frame, reason] of [
      [encodeFrame(OPCODE.text, patterned(3), "client"), /server frame is masked/],
      [encodeFrame(OPCODE.text, patterned(1001), "server"), /frame of 1001 bytes exceeds the limit of 1000/],
    ] as const
  ) {
    await using pair = await socketPair();
    const client = new MessageSocket(pair.near, { ...options("client"), maxFrameBytes: 1000 });
    await pair.far.write(frame);
    await pair.far.closeWrite();
    const end = await client.receive(() => assert.fail("a message came through"));
    assert.ok(end.type === "violation");
    assert.match(end.reason, reason);
  }
});

Deno.test("every frame of a client has a mask of its own", () => {
  const frames = Array.from({ length: 1000 }, () => encodeFrame(OPCODE.text, patterned(8), "client"));
  assert.ok(new Set(frames.map((frame) => frame.subarray(2, 6).join())).size > 990);
  for (const frame of frames) {
    const read = readFrame(frame, 0, frame.length);
    assert.ok(read.type === "frame");
    assert.deepEqual(frame.subarray(read.payloadStart, read.end), patterned(8));
  }
});

function options(role: "client" | "server"): WebSocketOptions {
  return { clock: systemClock, pingIntervalMs: 30_000, role };
}

function patterned(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, index) => 32 + index % 90);
}

async function socketPair(): Promise<{ near: Deno.TcpConn; far: Deno.TcpConn } & AsyncDisposable> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [near, far] = await Promise.all([Deno.connect({ port: listener.addr.port }), listener.accept()]);
  const closeQuietly = (conn: Deno.Conn) => {
    try {
      conn.close();
    } catch {
      // Closed by the websocket on it.
    }
  };
  return {
    near,
    far,
    [Symbol.asyncDispose]: () => Promise.resolve([near, far].forEach(closeQuietly)),
  };
}
