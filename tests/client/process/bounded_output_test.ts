import assert from "node:assert/strict";
import { BoundedOutput } from "../../../src/client/process/bounded_output.ts";
import { forSeeds, randomBytes } from "../../support/seeds.ts";

Deno.test("BoundedOutput keeps the beginning and the end, and counts what is between", () =>
  forSeeds(200, (random) => {
    const max = 2 + random.int(200);
    const kept = new BoundedOutput(max);
    const all: number[] = [];
    for (let i = random.int(40); i > 0; i--) {
      const bytes = randomBytes(random, random.int(60));
      all.push(...bytes);
      kept.add(bytes);
    }
    const half = Math.floor(max / 2);
    const head = all.slice(0, half);
    const tail = all.slice(half).slice(-(max - half));
    assert.deepEqual([...kept.head()], head);
    assert.deepEqual([...kept.tail()], tail);
    assert.equal(kept.totalBytes, all.length);
    assert.equal(kept.droppedBytes, all.length - head.length - tail.length);
  }));

Deno.test("BoundedOutput of much keeps little", () => {
  const kept = new BoundedOutput(1000);
  for (let i = 0; i < 100_000; i++) kept.add(Uint8Array.of(i, i));
  assert.equal(kept.bytes().length, 1000);
});
