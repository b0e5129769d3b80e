import assert from "node:assert/strict";
import { MemoryKeeper } from "../../src/server/memory_keeper.ts";
import { ManualClock } from "../support/manual_clock.ts";

const MIB = 1024 * 1024;

function open(residentMb: number) {
  const clock = new ManualClock();
  const scene = { residentMb, givenBack: 0, looks: 0, collections: 0 };
  const keeper = new MemoryKeeper({
    clock,
    resident: () => {
      scene.looks++;
      return scene.residentMb * MIB;
    },
    collect: () => void scene.collections++,
    giveBack: () => Promise.resolve(void scene.givenBack++),
  });
  return { clock, scene, keeper };
}

Deno.test("MemoryKeeper gives memory back while something happens and a while after, and then rests", () => {
  const { clock, scene, keeper } = open(500);
  clock.advance(3_600_000);
  assert.equal(scene.looks, 0, "nothing has happened");
  for (let second = 0; second < 60; second++) {
    keeper.noteActivity();
    clock.advance(1000);
  }
  assert.equal(scene.givenBack, 6);
  clock.advance(3_600_000);
  assert.ok(scene.givenBack > 7 && scene.givenBack < 12, `${scene.givenBack} times`);
});

Deno.test("MemoryKeeper has garbage collected once a rest, and never while something happens", () => {
  const { clock, scene, keeper } = open(500);
  for (const rests of [1, 2]) {
    for (let second = 0; second < 60; second++) {
      keeper.noteActivity();
      clock.advance(1000);
    }
    assert.equal(scene.collections, rests - 1);
    clock.advance(20_000);
    assert.equal(scene.collections, rests, "within 20 s of rest");
    clock.advance(3_600_000);
    assert.equal(scene.collections, rests);
  }
  scene.residentMb = 100;
  keeper.noteActivity();
  clock.advance(3_600_000);
  assert.equal(scene.collections, 2, "a small server");
});

Deno.test("MemoryKeeper leaves a small server alone, and a closed one", () => {
  const { clock, scene, keeper } = open(100);
  keeper.noteActivity();
  clock.advance(10_000);
  assert.deepEqual([scene.looks, scene.givenBack], [1, 0]);
  scene.residentMb = 500;
  keeper.close();
  clock.advance(3_600_000);
  keeper.noteActivity();
  clock.advance(3_600_000);
  assert.equal(scene.givenBack, 0);
});
