/** What a client keeps of output that nobody reads is bounded, however much there would be. */

import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { TestServer } from "../support/test_server.ts";

/** One window is 1 MiB; the rest is what the collector has not looked at. */
const MAX_GROWTH_BYTES = 32 * 1024 * 1024;
const HANDLES = 8;

Deno.test("memory stays flat while handles are not read", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  await box.run(["head", "-c", "50000000", "/dev/zero"], { maxBytes: 1000 });
  const before = Deno.memoryUsage();
  const handles = await Promise.all(Array.from({ length: HANDLES }, () => {
    return box.spawn(["head", "-c", "1000000000", "/dev/zero"]);
  }));
  for (let waiting = 0; waiting < HANDLES;) {
    waiting = (await box.processes()).filter(({ waitsForAck }) => waitsForAck === true).length;
  }
  const after = Deno.memoryUsage();
  const growth = after.heapUsed + after.external - before.heapUsed - before.external;
  assert.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes for ${HANDLES} unread processes of 1 GB each`);
  await Promise.all(handles.map((handle) => handle.terminate()));
});
