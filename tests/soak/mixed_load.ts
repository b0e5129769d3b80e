/**
 * Clients that do everything at once, politely or not, in an order chosen by a seed: memory stays bounded and comes back,
 * and a client beside them is answered all the time.
 *
 * Short unless `SOAK_LOAD_SECONDS` says otherwise: 600 for the ten minutes after which figures are told.
 */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { tollOf } from "../support/bystander.ts";
import { residentMb } from "../support/proc.ts";
import { Random } from "../support/random.ts";
import { RawHttpServer } from "../support/raw_http_server.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { reportToll } from "./toll.ts";

const SEED = Number(Deno.env.get("SOAK_SEED") ?? Date.now() % 1_000_000);
const SECONDS = Number(Deno.env.get("SOAK_LOAD_SECONDS") ?? 20);
const CONNECTIONS = 20;
const MIB = 1024 * 1024;

/** Three times what was seen on a quiet machine: twenty clients who want all there is share one thread. */
const MAX_GROWTH_MB = 3 * 400;
const MAX_WAIT_MS = 3 * 500;
/** A promise, and no multiple of it. */
const MAX_RESTED_MB = 250;
/** What has not come back by then stays. */
const REST_MS = 60_000;

interface Request {
  readonly method: string;
  readonly params: unknown;
}

interface Stage {
  readonly directory: string;
  readonly web: string;
  readonly random: Random;
  /** For names that nobody else has. */
  readonly id: () => string;
}

/** One visit's requests. */
type Action = (stage: Stage) => Request[];

const repeated = (count: number, request: Request): Request[] => Array.from({ length: count }, () => request);

function start(processId: string, script: string): Request {
  return {
    method: "process/start",
    params: {
      processId,
      argv: ["sh", "-c", script],
      cwd: "/",
      env: { PATH: Deno.env.get("PATH")! },
      io: { type: "pipe", stdin: "closed" },
    },
  };
}

const ACTIONS: Record<string, Action> = {
  "small requests": ({ directory, random }) =>
    Array.from({ length: 200 }, () => ({
      method: random.pick(["fs/getMetadata", "fs/readFile", "fs/canonicalize"]),
      params: { path: `${directory}/small` },
    })),
  "blocks of a file": ({ directory, random }) => [
    { method: "fs/open", params: { handleId: "h", path: `${directory}/large`, mode: "read" } },
    ...Array.from({ length: 30 }, () => ({
      method: "fs/readBlock",
      params: { handleId: "h", offset: random.int(30) * MIB, len: MIB },
    })),
  ],
  "medium files": ({ directory }) => repeated(60, { method: "fs/readFile", params: { path: `${directory}/medium` } }),
  "large files": ({ directory }) => repeated(3, { method: "fs/readFile", params: { path: `${directory}/large` } }),
  "directories": ({ directory }) => repeated(5, { method: "fs/readDirectory", params: { path: `${directory}/many` } }),
  "walks": ({ directory }) =>
    repeated(3, {
      method: "fs/walk",
      params: {
        path: directory,
        options: {
          maxDepth: 4,
          maxDirectories: 100,
          maxEntries: 20_000,
          followDirectorySymlinks: false,
          pruneHiddenDirectories: false,
        },
      },
    }),
  "writes": ({ directory, id, random }) => {
    const dataBase64 = new Uint8Array(random.int(2 * MIB)).toBase64();
    const path = `${directory}/${id()}`;
    return [
      { method: "fs/writeFile", params: { path, dataBase64 } },
      { method: "fs/copy", params: { sourcePath: path, destinationPath: `${path}.copy`, recursive: false } },
      { method: "fs/remove", params: { path, recursive: false, force: true } },
      { method: "fs/remove", params: { path: `${path}.copy`, recursive: false, force: true } },
    ];
  },
  "output": ({ id, random }) => {
    const processId = id();
    const read = { method: "process/read", params: { processId, waitMs: 2000 } };
    const bytes = random.pick([100, 100_000, 3 * MIB]);
    return [
      start(processId, `head -c ${bytes} /dev/zero`),
      ...repeated(5, read),
      { method: "process/wait", params: { processId, timeoutMs: 5000 } },
      ...repeated(20, { method: "process/read", params: { processId } }),
      { method: "process/snapshot", params: { processId } },
      { method: "process/list", params: null },
    ];
  },
  "bodies": ({ web, id, random }) =>
    Array.from({ length: 4 }, () => ({
      method: "http/request",
      params: {
        requestId: id(),
        method: "POST",
        url: `${web}/${random.pick([100, 100_000, 5 * MIB])}`,
        headers: [],
        bodyBase64: new Uint8Array(random.int(MIB)).toBase64(),
        timeoutMs: 10_000,
        streamResponse: random.chance(0.3),
      },
    })),
};

/** Everything that is asked is answered, or the client vanishes with it unread. */
async function visit(url: string, stage: Stage): Promise<void> {
  const { random } = stage;
  using socket = await RawWebSocket.connect(url);
  await socket.handshake();
  const actions = Array.from({ length: 1 + random.int(3) }, () => random.pick(Object.values(ACTIONS)));
  const requests = actions.flatMap((action) => action(stage));
  const encoder = new TextEncoder();
  const frames = requests.map((request, id) => {
    return clientFrame(OPCODE.text, encoder.encode(JSON.stringify({ id: id + 1, ...request })));
  });
  const manner = random.pick(["reads", "reads", "dawdles", "vanishes"] as const);
  await socket.write(concatBytes(frames));
  if (manner !== "reads") await new Promise((resolve) => setTimeout(resolve, random.int(1000)));
  const wanted = manner === "vanishes" ? random.int(requests.length) : requests.length;
  const open = new Set(requests.keys());
  while (requests.length - open.size < wanted) {
    const head = await socket.readFrameHead();
    if (head === null) throw new Error("connection closed");
    const text = new TextDecoder().decode(await socket.skipPayload(head.length, 64));
    const id = /^\{"id":(\d+),/.exec(text)?.[1];
    if (id !== undefined) assert.ok(open.delete(Number(id) - 1), `answer ${id} came twice`);
  }
}

Deno.test(`${CONNECTIONS} connections of everything at once for ${SECONDS} s (SOAK_SEED=${SEED})`, () =>
  inScratchDirectory(async (directory) => {
    Deno.writeFileSync(`${directory}/small`, new Uint8Array(4096));
    Deno.writeFileSync(`${directory}/medium`, new Uint8Array(MIB - 1));
    Deno.writeFileSync(`${directory}/large`, new Uint8Array(32 * MIB));
    Deno.mkdirSync(`${directory}/many`);
    for (let i = 0; i < 5000; i++) Deno.writeTextFileSync(`${directory}/many/${String(i).padEnd(100, "x")}`, "");
    await using web: RawHttpServer = new RawHttpServer(async (connection, { path }) => {
      // Nobody looks at them, and in ten minutes they are gigabytes.
      web.requests.length = 0;
      const length = Number(path.slice(1));
      await connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
      await connection.send(new Uint8Array(length));
    });
    await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1000"] });
    let lastId = 0;
    const id = () => `id-${++lastId}`;
    let visits = 0;
    const toll = await tollOf(server, async () => {
      const endsAt = performance.now() + SECONDS * 1000;
      await Promise.all(Array.from({ length: CONNECTIONS }, async (_, client) => {
        const stage: Stage = { directory, web: web.origin, random: new Random(SEED + client), id };
        for (; performance.now() < endsAt; visits++) await visit(server.url, stage);
      }));
    });
    reportToll(`${visits} visits of ${CONNECTIONS} connections in ${SECONDS} s (SOAK_SEED=${SEED})`, toll);
    assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
    assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
    const restedAt = performance.now();
    await until(
      () => residentMb(server.pid) < MAX_RESTED_MB,
      () => `resident memory is ${residentMb(server.pid).toFixed(0)} MB`,
      REST_MS + 5_000,
    );
    if (!Deno.env.get("SOAK_FIGURES")) return;
    const tell = () => `${residentMb(server.pid).toFixed(0)} MB ${Math.round((performance.now() - restedAt) / 1000)} s`;
    console.log(`FIGURE ${tell()} later`);
    // What has come back once must not leave again: the promise is about the end of the rest.
    await until(() => performance.now() - restedAt >= REST_MS, () => "", REST_MS + 5_000);
    console.log(`FIGURE ${tell()} later`);
    assert.ok(residentMb(server.pid) < MAX_RESTED_MB, `resident memory is ${residentMb(server.pid).toFixed(0)} MB`);
  }));
