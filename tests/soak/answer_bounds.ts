/**
 * A client that asks for much and reads nothing: what it has asked for waits with the client, not in the server's memory,
 * and nobody else notices.
 */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { peakMb, type Toll, tollOf } from "../support/bystander.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { processesMarked, residentMb } from "../support/proc.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { reportToll } from "./toll.ts";

const MIB = 1024 * 1024;
/** How long the server may do what it wants while nothing is read of it. */
const UNREAD_MS = 3_000;
/** Three times what is wanted on a quiet machine. */
const MAX_WAIT_MS = 3 * 100;

interface Request {
  readonly method: string;
  readonly params: unknown;
}

function frames(requests: readonly Request[]): Uint8Array {
  const encoder = new TextEncoder();
  return concatBytes(requests.map((request, id) => {
    return clientFrame(OPCODE.text, encoder.encode(JSON.stringify({ id: id + 1, ...request })));
  }));
}

function repeated(count: number, request: Request): Request[] {
  return Array.from({ length: count }, () => request);
}

const MAX_READING_GROWTH_MB = 3 * 192;

/** So many answers are read in the end: all would be gigabytes. */
const ANSWERS_READ = 60;

/** Sends everything and reads nothing for a while, which is what the toll is of; then reads some answers. */
async function neglect(
  server: TestServer,
  socket: RawWebSocket,
  requests: readonly Request[],
): Promise<{ toll: Toll; failures: number }> {
  const beforeMb = residentMb(server.pid);
  const toll = await tollOf(server, async () => {
    await socket.write(frames(requests));
    await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
  });
  let failures = 0;
  const open = new Set(requests.keys());
  for (let read = 0; read < ANSWERS_READ && open.size > 0; read++) {
    const { id, error } = await nextAnswer(socket);
    assert.ok(open.delete(id - 1), `answer ${id} came twice or was not asked for`);
    if (error) failures++;
  }
  // The collector lets some of what has left pile up before it looks at it.
  const growthMb = peakMb(server.pid) - beforeMb;
  assert.ok(growthMb < MAX_READING_GROWTH_MB, `resident memory grew by ${growthMb.toFixed(1)} MB as answers were read`);
  return { toll, failures };
}

const ID = /^\{"id":(\d+),"(result|error)"/;

/** The head of an answer: parsing gigabytes of content is not what this measures. */
async function nextAnswer(socket: RawWebSocket): Promise<{ id: number; error: boolean }> {
  for (;;) {
    const frame = await socket.readFrame();
    if (frame === null) throw new Error("connection closed");
    const match = ID.exec(new TextDecoder().decode(frame.payload.subarray(0, 64)));
    if (match !== null) return { id: Number(match[1]), error: match[2] === "error" };
  }
}

function check(what: string, toll: Toll, maxGrowthMb: number): void {
  reportToll(what, toll);
  assert.ok(toll.growthMb < maxGrowthMb, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
}

async function connected(server: TestServer): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  return socket;
}

Deno.test("4000 pipelined fs/readFile of 1 MiB less a byte", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    using socket = await connected(server);
    const path = `${directory}/file`;
    Deno.writeFileSync(path, new Uint8Array(MIB - 1).fill(7));
    const requests = repeated(4000, { method: "fs/readFile", params: { path } });
    const { toll, failures } = await neglect(server, socket, requests);
    assert.equal(failures, 0);
    check("4000 fs/readFile of 1 MiB less a byte", toll, 3 * 96);
  }));

Deno.test("500 fs/readDirectory of 20000 long names", () =>
  inScratchDirectory(async (directory) => {
    for (let i = 0; i < 20_000; i++) Deno.writeTextFileSync(`${directory}/${String(i).padEnd(250, "x")}`, "");
    await using server = await TestServer.start();
    using socket = await connected(server);
    const requests = repeated(500, { method: "fs/readDirectory", params: { path: directory } });
    const { toll, failures } = await neglect(server, socket, requests);
    assert.equal(failures, 0);
    check("500 fs/readDirectory of 20000 long names", toll, 3 * 128);
  }));

/** Each takes a second or more on a busy machine. */
const LISTS = 10;

for (const [count, refused] of [[7_500, 0], [50_000, 1]] as const) {
  Deno.test(`fs/list of ${count} links with targets of 4 KB`, () =>
    inScratchDirectory(async (directory) => {
      const target = "t".repeat(4000);
      for (let i = 0; i < count; i++) Deno.symlinkSync(target, `${directory}/${i}`);
      await using server = await TestServer.start();
      using socket = await connected(server);
      const requests = repeated(LISTS, { method: "fs/list", params: { path: directory } });
      const { toll, failures } = await neglect(server, socket, requests);
      assert.equal(failures, refused * LISTS);
      check(`${LISTS} fs/list of ${count} links with targets of 4 KB`, toll, 3 * 128);
    }));
}

Deno.test("1000 process/list of 80 processes with command lines of 1.5 MB", async () => {
  await using server = await TestServer.start();
  using socket = await connected(server);
  const argv = ["true", ...new Array<string>(15).fill("x".repeat(100_000))];
  {
    await using client = await server.connect();
    for (let i = 0; i < 80; i++) {
      const start = { argv, cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false, keepOnSessionEnd: true };
      await client.call("process/start", { ...start, processId: `p${i}` });
      await client.call("process/wait", { processId: `p${i}` });
    }
  }
  const requests = repeated(1000, { method: "process/list", params: { scope: "server" } });
  const { toll, failures } = await neglect(server, socket, requests);
  assert.equal(failures, 0);
  check("1000 process/list of 80 long command lines", toll, 3 * 64);
});

/** A file whose copy takes long enough for everything behind it to be read meanwhile. */
function largeFile(directory: string): { path: string; copy: Request } {
  const path = `${directory}/large`;
  const file = Deno.openSync(path, { write: true, create: true });
  const block = new Uint8Array(16 * MIB).fill(1);
  for (let written = 0; written < 512 * MIB; written += file.writeSync(block));
  file.close();
  return {
    path,
    copy: { method: "fs/copy", params: { sourcePath: path, destinationPath: `${path}.copy`, recursive: false } },
  };
}

for (const count of [1500, 4000]) {
  Deno.test(`${count} process/read of 1 MiB that become ready together`, () =>
    inScratchDirectory(async (directory) => {
      const { copy } = largeFile(directory);
      await using server = await TestServer.start();
      using socket = await connected(server);
      const processId = "talker";
      const start: Request = {
        method: "process/start",
        params: {
          processId,
          argv: ["head", "-c", String(MIB), "/dev/zero"],
          cwd: "/",
          env: { PATH: Deno.env.get("PATH")! },
          io: { type: "pipe", stdin: "closed" },
        },
      };
      await socket.write(frames([start]));
      await socket.readUntil(({ method }) => method === "process/closed");
      const read: Request = { method: "process/read", params: { processId } };
      const { toll, failures } = await neglect(server, socket, [copy, start, ...repeated(count, read)]);
      assert.equal(failures, 1, "the start of a taken id");
      check(`fs/copy, process/start of a taken id, ${count} process/read of 1 MiB`, toll, 3 * 128);
    }));
}

Deno.test("4000 fs/readBlock of 1 MiB behind a copy", () =>
  inScratchDirectory(async (directory) => {
    const { path, copy } = largeFile(directory);
    await using server = await TestServer.start();
    using socket = await connected(server);
    await socket.write(frames([{ method: "fs/open", params: { handleId: "h", path, mode: "read" } }]));
    assert.equal((await nextAnswer(socket)).error, false);
    const block: Request = { method: "fs/readBlock", params: { handleId: "h", offset: 0, len: MIB } };
    const { toll, failures } = await neglect(server, socket, [copy, ...repeated(4000, block)]);
    assert.equal(failures, 0);
    check("fs/copy, 4000 fs/readBlock of 1 MiB", toll, 3 * 128);
  }));

Deno.test("process/terminate gets through thousands of answers that are not read", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    using socket = await connected(server);
    const path = `${directory}/file`;
    Deno.writeFileSync(path, new Uint8Array(MIB - 1).fill(7));
    const processId = "sleeper";
    const marker = crypto.randomUUID();
    const start: Request = {
      method: "process/start",
      params: {
        processId,
        argv: ["bash", "-c", `sleep 1000; : ${marker}`],
        cwd: "/",
        env: { PATH: Deno.env.get("PATH")! },
        io: { type: "pipe", stdin: "closed" },
      },
    };
    await socket.write(frames([start]));
    const isRunning = () => processesMarked(marker).length > 0;
    await until(isRunning, () => "the process does not start");
    const terminate: Request = { method: "process/terminate", params: { processId } };
    await socket.write(frames([...repeated(3000, { method: "fs/readFile", params: { path } }), terminate]));
    await until(() => !isRunning(), () => "the process is not terminated");
  }));
