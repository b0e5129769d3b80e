/**
 * 200 000 malformed and half-valid messages over a few connections: no crash, no hang, no growth, and a good client
 * beside them notices nothing. `FUZZ_SEED` and `FUZZ_MESSAGES` repeat or scale a run.
 */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { residentMb } from "../support/proc.ts";
import { Random } from "../support/random.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { MessageGenerator } from "./message_generator.ts";

const SEED = Number(Deno.env.get("FUZZ_SEED") ?? Date.now() % 1_000_000);
const MESSAGES = Number(Deno.env.get("FUZZ_MESSAGES") ?? 200_000);
const CONNECTIONS = 4;
const BATCH = 250;
/** What the server may gain in the second half of the run: room for the collector, none for a leak. */
const MAX_GROWTH_MB = 48;

Deno.test(`the server survives ${MESSAGES} hostile messages (FUZZ_SEED=${SEED})`, async () => {
  console.log(`FUZZ_SEED=${SEED}`);
  await using server = await TestServer.start({ args: ["--log-level", "error", "--detached-session-ttl-ms", "100"] });
  await using good = await server.connect();
  let isOver = false;
  const bystander = (async () => {
    let calls = 0;
    for (; !isOver; calls++) assert.deepEqual(await good.call("environment/status", null), { status: "ready" });
    return calls;
  })();

  let baselineMb = 0;
  const perConnection = Math.ceil(MESSAGES / CONNECTIONS);
  await Promise.all(Array.from({ length: CONNECTIONS }, async (_, index) => {
    const generator = new MessageGenerator(new Random(SEED + index));
    const random = new Random(SEED - index);
    let socket: RawWebSocket | null = null;
    for (let sent = 0; sent < perConnection; sent += BATCH) {
      if (index === 0 && baselineMb === 0 && sent >= perConnection / 2) baselineMb = residentMb(server.pid);
      socket ??= await connectFresh(server);
      const isAlive = await runBatch(socket, generator, random);
      if (isAlive) continue;
      socket.drop();
      socket = null;
    }
    socket?.drop();
  }));
  isOver = true;
  const served = await bystander;
  assert.ok(served >= MESSAGES / CONNECTIONS / BATCH, `the good client got only ${served} answers`);
  const growth = residentMb(server.pid) - baselineMb;
  console.log(`resident memory grew by ${growth.toFixed(1)} MB over ${MESSAGES} messages`);
  assert.ok(growth < MAX_GROWTH_MB, `memory grew by ${growth} MB`);
});

async function connectFresh(server: TestServer): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  return socket;
}

/**
 * Sends a batch and a last good request, and counts: each message is answered exactly once. False when the batch held
 * a message that rightly ended the connection.
 */
async function runBatch(socket: RawWebSocket, generator: MessageGenerator, random: Random): Promise<boolean> {
  const frames: Uint8Array[] = [];
  for (let i = 0; i < BATCH; i++) {
    const { payload, isBinary } = generator.next();
    const opcode = isBinary ? OPCODE.binary : OPCODE.text;
    if (payload.length > 1 && random.chance(0.1)) {
      const cut = random.int(payload.length);
      frames.push(clientFrame(opcode, payload.subarray(0, cut), { isFinal: false }));
      if (random.chance(0.3)) frames.push(clientFrame(OPCODE.ping, new Uint8Array(random.int(126))));
      frames.push(clientFrame(OPCODE.continuation, payload.subarray(cut)));
    } else frames.push(clientFrame(opcode, payload));
  }
  frames.push(clientFrame(OPCODE.text, new TextEncoder().encode('{"id":"last","method":"environment/status"}')));
  const writing = socket.write(concatBytes(frames)).catch(
    () => {/* The server ended the connection: counted below. */},
  );
  let answers = 0;
  for (;;) {
    const message = await socket.readMessage();
    if (message === null) {
      await writing;
      return false;
    }
    if (message.id === undefined) continue; // A notification of a process that was started.
    answers++;
    assert.ok("result" in message || typeof message.error.message === "string", JSON.stringify(message));
    if (message.id === "last") break;
  }
  await writing;
  // Starts and waits may still be running when the last request is answered.
  while (answers < BATCH + 1) {
    const message = await socket.readMessage();
    if (message === null) return false;
    if (message.id !== undefined) answers++;
  }
  return true;
}
