import assert from "node:assert/strict";
import { BlockingCalls } from "../../src/fs/blocking_calls.ts";
import { Places } from "../../src/launch/places.ts";

Deno.test("BlockingCalls runs a limited number of calls at once and the rest in order", async () => {
  const blocking = new BlockingCalls(2);
  const started: number[] = [];
  const calls = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const results = calls.map(({ promise }, index) =>
    blocking.run(() => {
      started.push(index);
      return promise;
    })
  );
  await Promise.resolve();
  assert.deepEqual(started, [0, 1]);
  calls[1]!.reject(new Error("failed"));
  await assert.rejects(results[1]!, /failed/);
  assert.deepEqual(started, [0, 1, 2]);
  calls[2]!.resolve(2);
  assert.equal(await results[2], 2);
  assert.deepEqual(started, [0, 1, 2, 3]);
  for (const index of [0, 3, 4]) calls[index]!.resolve(index);
  assert.deepEqual(await Promise.all([results[0], results[3], results[4]]), [0, 3, 4]);
  assert.equal(await blocking.run(() => Promise.resolve("free again")), "free again");
});

Deno.test("Places hands a place over in order, and takes one back only once", async () => {
  const places = new Places(1);
  const order: number[] = [];
  const leave = await places.take();
  const later = [1, 2].map(async (number) => {
    const leaveAgain = await places.take();
    order.push(number);
    return leaveAgain;
  });
  leave();
  leave();
  const leaveFirst = await later[0]!;
  assert.deepEqual(order, [1], "giving a place back twice does not make two of it");
  leaveFirst();
  await later[1];
  assert.deepEqual(order, [1, 2]);
});
