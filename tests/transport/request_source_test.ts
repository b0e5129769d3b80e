import assert from "node:assert/strict";
import { silentLogger } from "../../src/log.ts";
import { RequestSource } from "../../src/transport/request_source.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";

/** A source that lets everybody in, and how many it has let in and not released. */
function openSource(maxLinks: number) {
  const clock = new ManualClock();
  const scene = { admitted: 0, clock };
  const authenticator = () => {
    scene.admitted++;
    const admission = { holder: "somebody", revoked: new AbortController().signal, release: () => scene.admitted-- };
    return Promise.resolve({ ok: true as const, admission });
  };
  const source = new RequestSource({ basePath: "", authenticator, clock, log: silentLogger(), maxLinks });
  source.run(async (link) => void await link.receive(() => {}));
  return { source, scene };
}

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  host: "localhost",
};

Deno.test("RequestSource releases a login whose request cannot be upgraded", async () => {
  const { source, scene } = openSource(1);
  const upgrade = Deno.upgradeWebSocket;
  Deno.upgradeWebSocket = () => {
    throw new TypeError("cannot upgrade");
  };
  try {
    const request = new Request("http://localhost/", { headers: UPGRADE });
    await assert.rejects(source.handle(request, null), /cannot upgrade/);
  } finally {
    Deno.upgradeWebSocket = upgrade;
  }
  assert.equal(scene.admitted, 0);
});

Deno.test("RequestSource.dropAll() releases those whose websocket has never opened", async () => {
  const { source, scene } = openSource(1);
  // Nobody serves this request, so its websocket stays as it is.
  const response = await source.handle(new Request("http://localhost/", { headers: UPGRADE }), null);
  assert.deepEqual([response.status, scene.admitted], [101, 1]);
  source.close();
  await source.dropAll();
  assert.deepEqual([scene.admitted, scene.clock.pending], [0, 0]);
});

Deno.test("RequestSource counts upgrades that are under way, and forgets those that take too long", async () => {
  const { source, scene } = openSource(1);
  const [isHeld, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request, info) => {
    const response = await source.handle(request, info);
    if (++requests > 1) return response;
    isHeld.resolve();
    await goOn.promise;
    return response;
  });
  const url = `ws://127.0.0.1:${server.addr.port}`;
  const first = RawWebSocket.connect(url);
  await isHeld.promise;
  await assert.rejects(RawWebSocket.connect(url), /503/);
  assert.equal(scene.admitted, 1);
  scene.clock.advance(30_000);
  assert.equal(scene.admitted, 0);
  goOn.resolve();
  {
    using late = await first;
    assert.equal((await late.readFrame())?.opcode, 8, "it is closed at once");
  }
  source.close();
  await source.dropAll();
  await server.shutdown();
});
