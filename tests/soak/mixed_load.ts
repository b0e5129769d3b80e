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
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { type Action, ACTIONS, laySoakFiles, type Stage } from "./mixed_actions.ts";
import { reportToll } from "./toll.ts";

if (NO_SANDBOX !== null) console.log(`SKIPPED: whatever is confined, in the mixed load (${NO_SANDBOX})`);

const SEED = Number(Deno.env.get("SOAK_SEED") ?? Date.now() % 1_000_000);
const SECONDS = Number(Deno.env.get("SOAK_LOAD_SECONDS") ?? 20);
const CONNECTIONS = 20;
/** Who has no token, beside them. At most as many at a time as may wait at the door. */
const STRANGERS = 50;

/** Three times what was seen on a quiet machine: twenty clients who want all there is share one thread. */
const MAX_GROWTH_MB = 3 * 400;
const MAX_WAIT_MS = 3 * 500;
/** A promise, and no multiple of it. */
const MAX_RESTED_MB = 250;
/** What has not come back by then stays. */
const REST_MS = 60_000;
const GRACE_MS = 5_000;

const ALL = Object.values(ACTIONS);

/** Everything that is asked is answered, or the client vanishes with it unread. */
async function visit(url: string, stage: Stage, first: Action): Promise<void> {
  const { random } = stage;
  using socket = await RawWebSocket.connect(url);
  await socket.handshake();
  const actions = [first, ...Array.from({ length: random.int(3) }, () => random.pick(ALL))];
  const requests = actions.flatMap((action) => action(stage));
  const encoder = new TextEncoder();
  const inOne = (text: string) => clientFrame(OPCODE.text, encoder.encode(text));
  const frames = requests.map(({ method, params, frames = inOne }, id) => {
    return frames(JSON.stringify({ id: id + 1, method, params }));
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
    if (id === undefined) continue;
    assert.ok(open.delete(Number(id) - 1), `answer ${id} came twice`);
    const { method, refused = "never" } = requests[Number(id) - 1]!;
    // What the server does not understand would be no load.
    const isAsMeant = refused === "perhaps" || text.includes('"error":{"code":-32602,') === (refused === "always");
    assert.ok(isAsMeant, `${method}: ${text}`);
  }
}

/** Come to the door without a token, say nothing, or a part of something, or the wrong thing, and stay for a while. */
async function loiter(port: number, random: Random): Promise<void> {
  const words = [
    "",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "\u0016\u0003",
  ];
  const strangers = await Promise.all(Array.from({ length: STRANGERS }, async () => {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    await conn.write(new TextEncoder().encode(random.pick(words))).catch(() => {/* It had to make room. */});
    return conn;
  }));
  await new Promise((resolve) => setTimeout(resolve, random.int(1000)));
  for (const conn of strangers) conn.close();
}

/** At the end of the rest the memory is what was promised: what has come back once must not have left again. */
async function rest(pid: number): Promise<void> {
  const begun = performance.now();
  const tell = () => `${residentMb(pid).toFixed(0)} MB ${Math.round((performance.now() - begun) / 1000)} s later`;
  const isRested = () => residentMb(pid) < MAX_RESTED_MB;
  const wantsFigures = Deno.env.get("SOAK_FIGURES") !== undefined;
  await until(isRested, () => `resident memory is ${tell()}`, REST_MS + GRACE_MS);
  if (wantsFigures) console.log(`FIGURE ${tell()}`);
  await until(() => performance.now() - begun >= REST_MS, () => "", REST_MS + GRACE_MS);
  await until(isRested, () => `resident memory has grown at rest: ${tell()}`, GRACE_MS);
  if (wantsFigures) console.log(`FIGURE ${tell()}`);
}

Deno.test(`${CONNECTIONS} connections of everything at once for ${SECONDS} s (SOAK_SEED=${SEED})`, () =>
  inScratchDirectory(async (directory) => {
    const home = `${directory}/home`;
    const work = `${directory}/work`;
    Deno.mkdirSync(work);
    laySoakFiles(work, home);
    await using web: RawHttpServer = new RawHttpServer(async (connection, { path }) => {
      // Nobody looks at them, and in ten minutes they are gigabytes.
      web.requests.length = 0;
      const length = Number(path.slice(1));
      await connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
      await connection.send(new Uint8Array(length));
    });
    await using server = await TestServer.start({
      args: ["--detached-session-ttl-ms", "1000", "--ws-auth", "url-token"],
      env: { CODEX_HOME: home, HOME: home },
    });
    let lastId = 0;
    const id = () => `id-${++lastId}`;
    let visits = 0;
    const toll = await tollOf(server, async () => {
      const endsAt = performance.now() + SECONDS * 1000;
      const isOver = () => performance.now() >= endsAt;
      const strangers = async () => {
        for (const random = new Random(SEED - 1); !isOver();) await loiter(server.port, random);
      };
      const clients = Array.from({ length: CONNECTIONS }, async (_, client) => {
        const stage: Stage = { directory: work, web: web.origin, random: new Random(SEED + client), id };
        // Everything is done by somebody: the first visits begin with one thing each.
        await visit(server.url, stage, ALL[client % ALL.length]!);
        for (visits++; !isOver(); visits++) await visit(server.url, stage, stage.random.pick(ALL));
      });
      await Promise.all([strangers(), ...clients]);
    });
    reportToll(`${visits} visits of ${CONNECTIONS} connections in ${SECONDS} s (SOAK_SEED=${SEED})`, toll);
    assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
    assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
    await rest(server.pid);
  }));
