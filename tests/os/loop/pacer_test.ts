import assert from "node:assert/strict";
import { Pacer, SLICE_MS } from "../../../src/os/loop/pacer.ts";

/** Keeps the event loop busy, as work does. */
function work(durationMs: number): void {
  const end = performance.now() + durationMs;
  while (performance.now() < end);
}

Deno.test("Pacer lets one operation go on per turn, in order", async () => {
  const pacer = new Pacer();
  const order: string[] = [];
  const operation = async (name: string) => {
    for (let step = 1; step <= 3; step++) {
      await pacer.turn();
      order.push(`${name}${step}`);
    }
  };
  await Promise.all(["a", "b", "c"].map(operation));
  assert.deepEqual(order, ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]);
});

Deno.test("Pacer lets sockets have their turn between slices", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: (listener.addr as Deno.NetAddr).port });
  const server = await listener.accept();
  const pacer = new Pacer();
  let isWorking = true;
  let slices = 0;
  const working = (async () => {
    const slice = pacer.slice();
    while (isWorking) {
      work(SLICE_MS);
      slices++;
      if (slice.isOver) await slice.rest();
    }
  })();
  try {
    // With `setImmediate` in place of the pacer each of these takes some 61 slices, the runtime's polling interval.
    const echoes = 20;
    const buffer = new Uint8Array(1);
    const before = slices;
    for (let echo = 0; echo < echoes; echo++) {
      await client.write(buffer);
      await server.read(buffer);
    }
    const perEcho = (slices - before) / echoes;
    assert.ok(perEcho < 20, `${perEcho} slices per echo`);
  } finally {
    isWorking = false;
    await working;
    for (const resource of [client, server, listener]) resource.close();
  }
});

Deno.test("Slice is over after its time and begins anew with a rest", async () => {
  const slice = new Pacer().slice();
  assert.equal(slice.isOver, false);
  work(SLICE_MS * 1.5);
  assert.equal(slice.isOver, true);
  assert.equal(Array.from({ length: 16 }, () => slice.isOverAtLast).includes(true), true);
  await slice.rest();
  assert.equal(slice.isOver, false);
});

Deno.test("Slice ends an operation that nobody waits for any more", async () => {
  const abort = new AbortController();
  const slice = new Pacer().slice(abort.signal);
  await slice.rest();
  abort.abort(new Error("gone"));
  await assert.rejects(slice.rest(), /gone/);
});
