/** Floods, bursts, stalled readers and vanished peers over real sockets: nothing locks up, leaks or disturbs others. */

import assert from "node:assert/strict";
import { listProcesses } from "../../src/os/children/procfs.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { residentMb } from "../support/proc.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import type { Client } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

const encoder = new TextEncoder();
const frame = (message: unknown) => clientFrame(OPCODE.text, encoder.encode(JSON.stringify(message)));

const FLOOD = ["sh", "-c", "exec cat /dev/zero"];

async function startFlood(socket: RawWebSocket, processId = "flood"): Promise<void> {
  await socket.handshake();
  const params = { processId, argv: FLOOD, cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
  await socket.sendText(JSON.stringify({ id: "start", method: "process/start", params }));
  const { error } = await socket.readUntil((message) => message.id === "start");
  assert.equal(error, undefined);
}

Deno.test("400 requests pipelined into a flood are all answered, on five connections, time and again", async () => {
  await using server = await TestServer.start();
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 5 }, async () => {
      using socket = await RawWebSocket.connect(server.url);
      await startFlood(socket);
      const burst = Array.from({ length: 400 }, (_, id) => frame({ id, method: "environment/status" }));
      // All of it is written before anything is read: a server that waits for its writer before it reads locks up here.
      for (const bytes of burst) await socket.write(bytes);
      const waiting = new Set(burst.keys());
      while (waiting.size > 0) {
        const { id, result } = await socket.readUntil((message) => typeof message.id === "number");
        assert.deepEqual(result, { status: "ready" });
        assert.ok(waiting.delete(id), `answer ${id} came twice`);
      }
      await socket.sendText('{"id":"end","method":"process/terminate","params":{"processId":"flood"}}');
      await socket.readUntil((message) => message.method === "process/closed");
    }));
  }
});

Deno.test("a stalled reader stops its own flood, costs little memory, and disturbs nobody", async () => {
  await using server = await TestServer.start();
  await using other = await server.connect();
  // A flood that is read first: what the server loads and compiles for its first one is not what a stalled reader costs.
  using warm = await RawWebSocket.connect(server.url);
  await startFlood(warm);
  for (let count = 0; count < 200; count++) await warm.readUntil((message) => message.method === "process/output");
  await warm.sendText('{"id":"end","method":"process/terminate","params":{"processId":"flood"}}');
  await warm.readUntil((message) => message.method === "process/closed");
  using stalled = await RawWebSocket.connect(server.url);
  await startFlood(stalled);
  await stalled.readUntil((message) => message.method === "process/output");
  const before = residentMb(server.pid);
  // Nothing is read from here on. The other client's calls give the server time to pile up what it wants.
  for (let i = 0; i < 1500; i++) await other.call("environment/status", null);
  const growth = residentMb(server.pid) - before;
  assert.ok(growth < 32, `resident memory grew by ${growth.toFixed(1)} MB`);
  // The stalled connection comes back, whole and in order.
  await stalled.sendText('{"id":"end","method":"process/terminate","params":{"processId":"flood"}}');
  let nextSeq = 2;
  const closed = await stalled.readUntil((message) => {
    if (message.method?.startsWith("process/")) assert.equal(message.params.seq, nextSeq++);
    return message.method === "process/closed";
  });
  assert.equal(closed.params.processId, "flood");
});

Deno.test("neither status nor terminate waits for a child that never reads its input", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const params = {
    processId: "p",
    argv: ["sleep", "1000"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    tty: false,
    pipeStdin: true,
  };
  await socket.sendText(JSON.stringify({ id: "start", method: "process/start", params }));
  await socket.readUntil((message) => message.id === "start");
  const chunk = "A".repeat(65536);
  for (let id = 0; id < 200; id++) {
    await socket.write(frame({ id, method: "process/write", params: { processId: "p", chunk, writeId: `${id}` } }));
  }
  await socket.sendText('{"id":"status","method":"environment/status"}');
  await socket.readUntil((message) => message.id === "status");
  await socket.sendText('{"id":"end","method":"process/terminate","params":{"processId":"p"}}');
  const end = await socket.readUntil((message) => message.id === "end");
  assert.deepEqual(end.result, { running: true });
  await socket.readUntil((message) => message.method === "process/closed");
});

Deno.test("nothing waits for long polls, and their answers come when there is something to report", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const start = { processId: "p", argv: ["sh", "-c", "read line; echo got $line"], cwd: "/", env: { PATH: "/bin" } };
  await client.call("process/start", { ...start, tty: false, pipeStdin: true });
  const polls = Array.from({ length: 50 }, () => client.call("process/read", { processId: "p", waitMs: 600_000 }));
  const wait = client.call("process/wait", { processId: "p" });
  assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
  await client.call("process/write", { processId: "p", chunk: btoa("x\n") });
  for (const { chunks } of await Promise.all(polls)) assert.equal(atob(chunks[0]!.chunk), "got x\n");
  assert.equal((await wait).exitCode, 0);
});

Deno.test("peers that vanish at any moment leave nothing behind", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "50"] });
  await using observer = await server.connect();
  const descriptors = () => [...Deno.readDirSync(`/proc/${server.pid}/fd`)].length;
  const run = async (count: number) => {
    await Promise.all(Array.from({ length: count }, async (_, index) => {
      const socket = await RawWebSocket.connect(server.url);
      await startFlood(socket);
      // Half a frame, half a message, or mid-flood: then gone without a word.
      if (index % 3 === 0) await socket.write(frame({ id: 1, method: "environment/status" }).subarray(0, 9));
      if (index % 3 === 1) await socket.sendFrame(OPCODE.text, encoder.encode('{"id":'), { isFinal: false });
      socket.drop();
    }));
  };
  await run(6);
  await until(observer, () => floodingChildren(server.pid) === 0);
  const before = descriptors();
  await run(12);
  await until(observer, () => floodingChildren(server.pid) === 0 && descriptors() <= before);
});

/** Waits, by way of calls to the server, until this holds; fails when thousands of calls have not brought it about. */
async function until(client: Client, holds: () => boolean): Promise<void> {
  for (let calls = 0; !holds(); calls++) {
    assert.ok(calls < 50_000, "it never came to hold");
    await client.call("environment/status", null);
  }
}

function floodingChildren(pid: number): number {
  return listProcesses().filter((process) => {
    try {
      return process.ppid === pid && Deno.readTextFileSync(`/proc/${process.pid}/cmdline`).includes("/dev/zero");
    } catch {
      return false; // Gone while we looked.
    }
  }).length;
}
