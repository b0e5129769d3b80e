/** Trees made to take long: globs to search for, and directories with thousands of levels. Nobody else waits. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { tollOf } from "../support/bystander.ts";
import { FileTree } from "../support/file_tree.ts";
import { fragments, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

/** Three times what is wanted on a quiet machine. */
const MAX_WAIT_MS = 3 * 100;
const MAX_GROWTH_MB = 3 * 64;

function assertWaited(longestWaitMs: number): void {
  assert.ok(longestWaitMs < MAX_WAIT_MS, `another client waited ${longestWaitMs.toFixed(0)} ms`);
}

Deno.test("500 requests that deny different globs below /usr: nobody else waits", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const requests = Array.from({ length: 500 }, (_, id) => {
    const entries = [
      { path: { type: "special", value: { kind: "root" } }, access: "read" },
      { path: { type: "glob_pattern", pattern: `/usr/**/*.none${id}` }, access: "deny" },
    ];
    const permissions = { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" };
    const sandbox = { permissions, windowsSandboxLevel: "disabled" };
    return fragments(
      new TextEncoder().encode(JSON.stringify({ id, method: "fs/getMetadata", params: { path: "/etc", sandbox } })),
    );
  });
  const toll = await tollOf(server, async () => {
    await socket.write(concatBytes(requests));
    await new Promise((resolve) => setTimeout(resolve, 4000));
  });
  reportToll("500 fs/getMetadata with different globs below /usr", toll);
  assertWaited(toll.longestWaitMs);
  assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
});

for (const followSymlinks of [true, false]) {
  const how = followSymlinks ? "" : ", without following links";
  Deno.test(`16 directories with 1900 levels above them${how}: nobody else waits`, async () => {
    await using tree = await FileTree.make({ "deep/file": "" });
    await using server = await TestServer.start();
    await using client = await server.connect();
    const toll = await tollOf(server, async () => {
      await Promise.all(Array.from({ length: 16 }, (_, i) => {
        const path = `${tree.path(`deep/${i}`)}${"/d".repeat(1900)}`;
        return client.call("fs/createDirectory", { path, followSymlinks });
      }));
    });
    reportToll(`16 fs/createDirectory with 1900 levels${how}`, toll);
    assertWaited(toll.longestWaitMs);
    await client.call("fs/remove", { path: tree.path("deep") });
  });
}
