/** What is asked right before the end of a connection is answered before it. */

import assert from "node:assert/strict";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";

const status = (id: unknown) => JSON.stringify({ id, method: "environment/status" });
const ready = { status: "ready" };

Deno.test("what is asked in the same packet as a close frame is answered before that is echoed", async () => {
  await using server = await TestServer.start();
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "content");
  for (let round = 0; round < 20; round++) {
    using socket = await RawWebSocket.connect(server.url);
    const { sessionId } = await socket.handshake();
    const start = { processId: "p", argv: ["cat"], cwd: "/", env: {}, tty: false, pipeStdin: true, arg0: null };
    const asked = [
      status(1),
      JSON.stringify({ id: 2, method: "fs/readFile", params: { path: file } }),
      JSON.stringify({ id: 3, method: "process/start", params: start }),
      JSON.stringify({ id: 4, method: "process/wait", params: { processId: "p" } }),
    ].map((text) => clientFrame(OPCODE.text, new TextEncoder().encode(text)));
    const goodbye = clientFrame(OPCODE.close, Uint8Array.of(0x03, 0xe8));
    await socket.write(Uint8Array.from([...asked, goodbye].flatMap((frame) => [...frame])));
    const answers = new Map<unknown, unknown>();
    let frame = await socket.readFrame();
    for (; frame?.opcode === OPCODE.text; frame = await socket.readFrame()) {
      const { id, result } = JSON.parse(new TextDecoder().decode(frame.payload));
      answers.set(id, result);
    }
    assert.deepEqual([frame?.opcode, [...frame!.payload]], [OPCODE.close, [0x03, 0xe8]]);
    assert.deepEqual(answers.get(1), ready);
    assert.deepEqual(answers.get(2), { dataBase64: btoa("content") });
    assert.equal((answers.get(3) as { processId: string }).processId, "p");
    assert.equal(answers.has(4), false, "nobody waits for long polls");
    using next = await RawWebSocket.connect(server.url);
    await next.handshake({ resumeSessionId: sessionId });
    await next.sendText(JSON.stringify({ id: 1, method: "process/terminate", params: { processId: "p" } }));
    assert.deepEqual(await next.readMessage(), { id: 1, result: { running: true } });
  }
  await Deno.remove(file);
});

Deno.test("requests that take a while are answered before a close frame is echoed, endless polls are not", async () => {
  await using server = await TestServer.start();
  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response("body"));
  // The probe of the sandbox takes longer than the end of a connection may.
  await using first = await server.connect();
  await first.call("environment/sandbox", null);
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const start = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false, pipeStdin: true, arg0: null };
  const setUp = [
    { id: 1, method: "process/start", params: { ...start, processId: "over", argv: ["true"] } },
    { id: 2, method: "process/start", params: { ...start, processId: "runs", argv: ["cat"] } },
    { id: 3, method: "process/start", params: { ...start, processId: "ends", argv: ["cat"] } },
    { id: 4, method: "process/wait", params: { processId: "over", until: "closed" } },
  ];
  for (const request of setUp) await socket.sendText(JSON.stringify(request));
  await socket.readUntil(({ id }) => id === 4);

  const ended = [
    { method: "process/wait", params: { processId: "over" } },
    { method: "process/wait", params: { processId: "runs", timeoutMs: 0 } },
    { method: "process/read", params: { processId: "over", waitMs: 60_000 } },
    { method: "process/list", params: { details: true } },
    {
      method: "process/terminate",
      params: { processId: "ends", tree: true, mode: { type: "graceful", timeoutMs: 60_000 } },
    },
    { method: "environment/sandbox" },
    { method: "http/request", params: { requestId: "r", method: "GET", url: `http://127.0.0.1:${http.addr.port}/` } },
  ].map((request, index) => ({ id: 10 + index, ...request }));
  const endless = [
    { id: 20, method: "process/wait", params: { processId: "runs" } },
    { id: 21, method: "process/read", params: { processId: "runs", waitMs: 60_000 } },
  ];
  const frames = [...endless, ...ended].map((request) =>
    clientFrame(OPCODE.text, new TextEncoder().encode(JSON.stringify(request)))
  );
  const goodbye = clientFrame(OPCODE.close, Uint8Array.of(0x03, 0xe8));
  await socket.write(Uint8Array.from([...frames, goodbye].flatMap((frame) => [...frame])));
  const answered: number[] = [];
  let frame = await socket.readFrame();
  for (; frame?.opcode === OPCODE.text; frame = await socket.readFrame()) {
    const { id, error } = JSON.parse(new TextDecoder().decode(frame.payload));
    assert.equal(error, undefined, `${id}: ${JSON.stringify(error)}`);
    if (id >= 10) answered.push(id);
  }
  assert.equal(frame?.opcode, OPCODE.close);
  assert.deepEqual(answered.sort(), ended.map(({ id }) => id));
  await http.shutdown();
});

Deno.test("what is asked in the same packet as a frame that breaks the rules is answered before the reason", async () => {
  await using server = await TestServer.start();
  const fragment = clientFrame(OPCODE.text, new Uint8Array(1), { isFinal: false });
  const broken: readonly [code: number, frame: Uint8Array][] = [
    [1002, Uint8Array.of(0x81, 0x00)], // No mask.
    [1002, clientFrame(OPCODE.continuation, new Uint8Array(1))],
    [1002, Uint8Array.of(...fragment, ...fragment)],
    [1002, clientFrame(OPCODE.close, new Uint8Array(1))],
    [1007, clientFrame(OPCODE.text, Uint8Array.of(0xff))],
    [1009, clientFrame(OPCODE.text, new Uint8Array(), { claimedLength: 18 * 1024 * 1024 })],
  ];
  for (const [code, frame] of broken) {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    await socket.write(Uint8Array.of(...clientFrame(OPCODE.text, new TextEncoder().encode(status(1))), ...frame));
    assert.deepEqual(await socket.readMessage(), { id: 1, result: ready });
    const farewell = await socket.readFrame();
    const [high = 0, low = 0] = farewell!.payload;
    assert.deepEqual([farewell?.opcode, high * 256 + low], [OPCODE.close, code]);
  }
});
