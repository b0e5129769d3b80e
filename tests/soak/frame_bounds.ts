/** Frames that are cheap to send must be cheap to receive: nothing is kept of those that say nothing. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { tollOf } from "../support/bystander.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

const EMPTY = new Uint8Array(0);
const EMPTY_FRAMES = 4_000_000;
/** Of one byte each: half of the largest message, which may take as much memory as it is long, twice while it is joined. */
const SHORT_FRAMES = 8_000_000;
const FRAMES_PER_WRITE = 100_000;

/** Three times what is wanted on a quiet machine. */
const MAX_GROWTH_MB = 3 * 32;
const MAX_WAIT_MS = 3 * 100;

for (
  const { what, frames, payload } of [
    { what: "empty", frames: EMPTY_FRAMES, payload: EMPTY },
    { what: "one-byte", frames: SHORT_FRAMES, payload: new Uint8Array([0x20]) },
  ]
) {
  Deno.test(`${frames} ${what} continuation frames cost neither memory nor anybody's time`, async () => {
    await using server = await TestServer.start();
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const block = concatBytes(Array.from({ length: FRAMES_PER_WRITE }, () => {
      return clientFrame(OPCODE.continuation, payload, { isFinal: false });
    }));
    const toll = await tollOf(server, async () => {
      await socket.sendFrame(OPCODE.text, new TextEncoder().encode('{"id":"last",'), { isFinal: false });
      for (let sent = 0; sent < frames; sent += FRAMES_PER_WRITE) await socket.write(block);
      const rest = new TextEncoder().encode('"method":"environment/status"}');
      await socket.sendFrame(OPCODE.continuation, rest);
      const { result } = await socket.readUntil((message) => message.id === "last");
      assert.deepEqual(result, { status: "ready" });
    });
    reportToll(`${frames} ${what} continuation frames`, toll);
    assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
    assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
  });
}
