import assert from "node:assert/strict";
import { ChangeQueue, type ChangeQueueOptions } from "../../../src/fs/watch/change_queue.ts";
import { MAX_CHANGES_PER_NOTIFICATION } from "../../../src/fs/limits.ts";
import { toByteString } from "../../../src/os/files/byte_string.ts";
import { ManualClock } from "../../support/manual_clock.ts";

class Fixture {
  readonly clock = new ManualClock();
  readonly sent: string[][] = [];
  hasRoom = true;
  readonly queue: ChangeQueue;

  constructor(options: Partial<ChangeQueueOptions> = {}) {
    this.queue = new ChangeQueue({
      clock: this.clock,
      debounceMs: 50,
      root: toByteString("/root"),
      hasRoom: () => this.hasRoom,
      send: (changes) => this.sent.push(changes.map(({ path, kind }) => `${kind} ${path.slice("file://".length)}`)),
      ...options,
    });
  }

  add(path: string, ...changes: ("created" | "modified" | "removed")[]): void {
    for (const change of changes) this.queue.add(toByteString(path), change);
  }
}

Deno.test("ChangeQueue gathers from the first change on, however many follow", () => {
  const { queue, clock, sent, add } = bound(new Fixture());
  add("/root/a", "modified");
  clock.advance(40);
  add("/root/a", "modified");
  assert.deepEqual(sent, []);
  clock.advance(10);
  assert.deepEqual(sent, [["modified /root/a"]]);
  clock.advance(1000);
  add("/root/b", "created");
  clock.advance(50);
  assert.deepEqual(sent, [["modified /root/a"], ["created /root/b"]]);
  queue.close();
});

Deno.test("ChangeQueue reports the final state of a path, not every step", () => {
  const { clock, sent, add } = bound(new Fixture());
  add("/1", "created", "modified");
  add("/2", "created", "removed");
  add("/3", "removed", "created");
  add("/4", "modified", "removed");
  add("/5", "removed", "created", "removed");
  add("/6", "modified", "created");
  add("/7", "created", "removed", "created");
  clock.advance(50);
  assert.deepEqual(sent, [[
    "created /1",
    "removed /2",
    "modified /3",
    "removed /4",
    "removed /5",
    "modified /6",
    "modified /7",
  ]]);
});

Deno.test("ChangeQueue turns too many changes into one overflow and starts afresh after it", () => {
  const { clock, sent, add } = bound(new Fixture({ maxPending: 3 }));
  for (const name of ["a", "b", "c", "d", "e"]) add(`/root/${name}`, "created");
  clock.advance(50);
  assert.deepEqual(sent, [["overflow /root"]]);
  add("/root/f", "created");
  clock.advance(50);
  assert.deepEqual(sent, [["overflow /root"], ["created /root/f"]]);
});

Deno.test("ChangeQueue keeps what cannot be watched through an overflow", () => {
  const { queue, clock, sent, add } = bound(new Fixture());
  add("/root/a", "created");
  queue.addUnwatched(toByteString("/root/d"));
  queue.overflow();
  clock.advance(50);
  assert.deepEqual(sent, [["overflow /root"], ["unwatched /root/d"]]);
});

Deno.test("ChangeQueue reports the whole tree as unwatched when more directories are unwatched than it keeps", () => {
  const { queue, clock, sent } = bound(new Fixture({ maxPending: 3 }));
  for (let index = 0; index < 10; index++) queue.addUnwatched(toByteString(`/root/${index}`));
  clock.advance(50);
  assert.deepEqual(sent, [["overflow /root"], ["unwatched /root"]]);
});

Deno.test("ChangeQueue waits for room and goes on when there is some", () => {
  const fixture = new Fixture({ maxPending: 2 });
  const { queue, clock, sent, add } = bound(fixture);
  fixture.hasRoom = false;
  add("/root/a", "created");
  clock.advance(500);
  add("/root/a", "modified");
  clock.advance(500);
  assert.deepEqual(sent, []);
  fixture.hasRoom = true;
  queue.resume();
  assert.deepEqual(sent, [["created /root/a"]]);

  fixture.hasRoom = false;
  for (const name of ["b", "c", "d"]) add(`/root/${name}`, "created");
  clock.advance(50);
  fixture.hasRoom = true;
  queue.resume();
  assert.deepEqual(sent.at(-1), ["overflow /root"], "a client that does not read is told to look");
  assert.equal(clock.pending, 0);
});

Deno.test("ChangeQueue sends long lists in parts, each path once", () => {
  const { clock, sent, add } = bound(new Fixture());
  const total = MAX_CHANGES_PER_NOTIFICATION * 2 + 5;
  for (let index = 0; index < total; index++) add(`/root/${index}`, "created");
  clock.advance(50);
  assert.deepEqual(sent.map((changes) => changes.length), [
    MAX_CHANGES_PER_NOTIFICATION,
    MAX_CHANGES_PER_NOTIFICATION,
    5,
  ]);
  assert.equal(new Set(sent.flat()).size, total);
});

Deno.test("ChangeQueue sends nothing after it was closed, and leaves no timer", () => {
  const { queue, clock, sent, add } = bound(new Fixture());
  add("/root/a", "created");
  queue.close();
  add("/root/b", "created");
  queue.overflow();
  queue.resume();
  clock.advance(1000);
  assert.deepEqual(sent, []);
  assert.equal(clock.pending, 0);
});

function bound(fixture: Fixture) {
  const { queue, clock, sent } = fixture;
  return { queue, clock, sent, add: fixture.add.bind(fixture) };
}
