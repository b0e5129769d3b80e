import assert from "node:assert/strict";
import { openRendezvousLink } from "../../../src/remote/harness/harness.ts";
import { memoryPins } from "../../../src/remote/harness/pins.ts";

Deno.test("a rendezvous whose answer does not end is given up, with the runtime's own network too", async () => {
  let sent = 0;
  const stopped = Promise.withResolvers<void>();
  const endless = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: (controller) => {
        sent += 16_384;
        controller.enqueue(new Uint8Array(16_384).fill(0x20));
      },
      cancel: () => stopped.resolve(),
    });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response(endless()),
  );
  await assert.rejects(
    openRendezvousLink({
      rendezvous: `http://127.0.0.1:${server.addr.port}`,
      executor: "box-1",
      token: "a-token",
      pins: memoryPins(),
    }),
    /cannot connect to executor box-1: the answer is longer than 65536 characters/,
  );
  await stopped.promise;
  assert.ok(sent < 64 * 1024 * 1024, String(sent));
});
