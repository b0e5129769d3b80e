import assert from "node:assert/strict";
import { PartOfRoom, type Reserve, withRoom } from "../../../src/environment/discovery/answer_room.ts";

const MIB = 1024 * 1024;

/** Grants at once up to the limit, and everything to those who wait. */
function budget(limit: number) {
  const asked: number[] = [];
  const reserve: Reserve = (bytes) => {
    asked.push(bytes);
    if (bytes <= limit) return;
    limit = bytes;
    return Promise.resolve();
  };
  return { asked, reserve };
}

Deno.test("withRoom() takes bytes before they are held, and no more than twice as many", async () => {
  const { asked, reserve } = budget(Infinity);
  await withRoom(reserve, (room) => {
    for (const bytes of [1, MIB, 3 * MIB]) room.take(bytes);
    room.give(3 * MIB);
    room.take(5);
    return Promise.resolve();
  });
  assert.deepEqual(asked, [MIB, 2 * MIB, 8 * MIB, 2 * MIB]);
});

Deno.test("withRoom() begins work anew when it has waited, and a few times at most", async () => {
  const { reserve } = budget(0);
  let begun = 0;
  const total = await withRoom(reserve, (room) => {
    begun++;
    for (let at = 0; at < 8 * MIB; at += 1024) room.take(1024);
    return Promise.resolve(begun);
  });
  assert.equal(total, begun);
  assert.equal(begun, 5);
});

Deno.test("withRoom() ends every part of the work before it waits, and ends with the connection", async () => {
  let ended = 0;
  const gone = new Error("gone");
  const work = withRoom(() => Promise.reject(gone), async (room) => {
    const parts = [1, 2].map(async () => {
      await Promise.resolve();
      try {
        room.take(1);
      } finally {
        ended++;
      }
    });
    const outcomes = await Promise.allSettled(parts);
    assert(outcomes.every(({ status }) => status === "rejected"));
    await parts[0];
  });
  await assert.rejects(work, gone);
  assert.equal(ended, 2);
});

Deno.test("PartOfRoom gives back what it has taken", async () => {
  const { asked, reserve } = budget(Infinity);
  await withRoom(reserve, (room) => {
    const part = new PartOfRoom(room);
    part.take(4 * MIB);
    part.give(MIB);
    part.giveAll();
    room.take(1);
    return Promise.resolve();
  });
  assert.deepEqual(asked, [4 * MIB, MIB]);
});
