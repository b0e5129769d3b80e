/** What the discovery of plugins and skills costs others: their time, and the server's memory. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { type Toll, tollOf } from "../support/bystander.ts";
import { FileTree } from "../support/file_tree.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

/** Three times what is wanted on a quiet machine. */
const MAX_GROWTH_MB = 3 * 128;
const MAX_ANSWER_WAIT_MS = 3 * 200;

const UNREAD_MS = 5_000;

function frames(count: number, method: string, params: unknown): Uint8Array {
  return concatBytes(Array.from({ length: count }, (_, id) => {
    return clientFrame(OPCODE.text, new TextEncoder().encode(JSON.stringify({ id: id + 1, method, params })));
  }));
}

function check(what: string, toll: Toll): void {
  reportToll(what, toll);
  assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  assert.ok(toll.longestWaitMs < MAX_ANSWER_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
}

async function connected(server: TestServer): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  return socket;
}

async function serverIn(tree: FileTree): Promise<TestServer> {
  return await TestServer.start({ env: { CODEX_HOME: tree.path("codex"), HOME: tree.path("home") } });
}

// ---------------------------------------------------------------- capabilityRoots/discoverV1

for (const [requests, count] of [[300, 1], [100, 128]] as const) {
  const what = `${requests} capabilityRoots/discoverV1 of ${count} roots of 16 MB, not read`;
  Deno.test(what, async () => {
    const text = `---\nname: a\ndescription: b\n---\n${"x".repeat(100_000)}`;
    await using tree = await FileTree.make(
      Object.fromEntries(Array.from({ length: 160 }, (_, i) => [`root/${i}/SKILL.md`, text])),
    );
    const roots = Array.from({ length: count }, (_, i) => ({ id: `r${i}`, path: tree.uri("root"), sandbox: null }));
    await using server = await serverIn(tree);
    using socket = await connected(server);
    const toll = await tollOf(server, async () => {
      await socket.write(frames(requests, "capabilityRoots/discoverV1", { roots }));
      await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
    });
    check(what, toll);
  });
}
