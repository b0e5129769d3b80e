import assert from "node:assert/strict";
import { MemoryLink } from "../../src/transport/memory_link.ts";

const LONG = "x".repeat(600 * 1024);

Deno.test("MemoryLink.send() waits while the other side does not take what was sent", async () => {
  const [near, far] = MemoryLink.pair();
  const steps: string[] = [];
  await near.send([LONG]);
  await near.send([LONG]);
  const third = near.send([LONG]).then(() => steps.push("third sent"));
  const taken = Promise.withResolvers<void>();
  // Whatever does not wait has happened after this turn.
  setTimeout(async () => {
    steps.push("reading");
    let count = 0;
    far.receive(() => {
      if (++count === 3) taken.resolve();
    });
    await taken.promise;
    far.close();
  }, 0);
  await third;
  await taken.promise;
  assert.deepEqual(steps, ["reading", "third sent"]);
});

Deno.test("MemoryLink.send() fails when the connection ends while it waits", async () => {
  for (const closer of [0, 1]) {
    const pair = MemoryLink.pair();
    const [near] = pair;
    await near.send([LONG, LONG]);
    const waiting = assert.rejects(near.send([LONG]), /connection is closed/);
    pair[closer]!.close();
    await waiting;
  }
});

Deno.test("MemoryLink.receive() hands on what was sent before the end, in order", async () => {
  const [near, far] = MemoryLink.pair();
  await near.send(["one", "two"]);
  near.close();
  const got: unknown[] = [];
  assert.deepEqual(await far.receive((message) => void got.push(message)), { type: "peerClosed" });
  assert.deepEqual(got, ["one", "two"]);
});
