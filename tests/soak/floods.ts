/** Floods for longer than the test suite can wait: requests get through them, and a peer that does not read costs little. */

import assert from "node:assert/strict";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { concatBytes } from "../../src/bytes.ts";
import { Flood } from "../support/flood.ts";
import { RoundGrowth, WHOLE_COLLECTIONS } from "../support/round_growth.ts";
import { clientFrame } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";

const ROUNDS = 20;
const CONNECTIONS = 5;
const REQUESTS = 400;
/** Rounds of calls of a client beside the stalled one: time for the server to pile up what it wants. */
const STALLED_ROUNDS = 20;
const CALLS_PER_ROUND = 500;
/** What waits for the peer is bounded at 512 KiB. A server that went on reading would pile up megabytes in every round. */
const MAX_STALLED_GROWTH_PER_ROUND_MB = 1;

const REQUEST_KINDS = [
  { method: "environment/status" },
  { method: "process/list" },
  { method: "process/snapshot", params: { processId: "nobody" } },
  { method: "process/signal", params: { processId: "flood", signal: "cont" } },
];

Deno.test(`${REQUESTS} requests pipelined into floods on ${CONNECTIONS} connections, ${ROUNDS} times: none is stuck`, async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "50"] });
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      using flood = await Flood.start(server.url);
      const frames = Array.from({ length: REQUESTS }, (_, id) => {
        const message = { id, ...REQUEST_KINDS[id % REQUEST_KINDS.length] };
        return clientFrame(OPCODE.text, new TextEncoder().encode(JSON.stringify(message)));
      });
      // All is written before anything is read: a server that waits for its writer before it reads locks up here.
      await flood.socket.write(concatBytes(frames));
      const open = new Set(frames.keys());
      while (open.size > 0) {
        const { id } = await flood.socket.readUntil((message) => typeof message.id === "number");
        assert.ok(open.delete(id), `answer ${id} came twice`);
      }
      await flood.end();
    }));
  }
});

for (const io of [{ type: "pipe", stdin: "closed" }, { type: "pty", rows: 24, cols: 80 }] as const) {
  Deno.test(`a flood (${io.type}) whose reader has stalled is not read on`, async () => {
    await using server = await TestServer.start({ env: WHOLE_COLLECTIONS });
    await using other = await server.connect();
    using flood = await Flood.start(server.url, io);
    const options = { rounds: STALLED_ROUNDS, maxMbPerRound: MAX_STALLED_GROWTH_PER_ROUND_MB };
    await new RoundGrowth(server).settle(options, async () => {
      for (let call = 0; call < CALLS_PER_ROUND; call++) await other.call("environment/status", null);
    });
    await flood.end();
  });
}
