import assert from "node:assert/strict";
import type { ProcessBackend, SpawnRequest } from "../../../src/process/backend.ts";
import { SessionChildren } from "../../../src/process/posix/session_children.ts";
import { FakeBackend } from "../../support/fake_backend.ts";
import { startOptions } from "../../support/process_session.ts";

const REQUEST: SpawnRequest = startOptions().request;
const KEPT = { keepOnSessionEnd: true };
const NOT_KEPT = { keepOnSessionEnd: false };
const AT_ONCE = { graceMs: 0, sparesKept: false };

async function pidsAfter(maxRemembered: number, closed: number[]): Promise<number[]> {
  const backend = new FakeBackend();
  const children = new SessionChildren(backend, maxRemembered);
  for (let count = 0; count < 4; count++) await children.spawn(REQUEST, NOT_KEPT);
  for (const index of closed) {
    backend.children[index]!.exit();
    children.closed(backend.children[index]!);
  }
  await children.end(AT_ONCE);
  return backend.endedTrees[0]!.pids;
}

Deno.test("SessionChildren remembers closed children up to a number, and open ones all", async () => {
  assert.deepEqual(await pidsAfter(4, [0, 1, 2, 3]), [100, 101, 102, 103]);
  assert.deepEqual(await pidsAfter(3, [0, 1, 2, 3]), [101, 102, 103]);
  assert.deepEqual(await pidsAfter(2, [3, 1]), [100, 102]);
  assert.deepEqual(await pidsAfter(1, []), [100, 101, 102, 103]);
});

Deno.test("SessionChildren spares those to be kept, open or closed, unless nothing is to be spared", async () => {
  const backend = new FakeBackend();
  const children = new SessionChildren(backend);
  for (const options of [KEPT, NOT_KEPT, KEPT]) await children.spawn(REQUEST, options);
  children.closed(backend.children[2]!);
  await children.end({ graceMs: 5, sparesKept: true });
  await children.end({ graceMs: 0, sparesKept: false });
  assert.deepEqual(backend.endedTrees[0], { pids: [101], graceMs: 5 });
  assert.deepEqual(backend.endedTrees[1]!.pids, [100, 101, 102]);
});

Deno.test("SessionChildren without children leaves the backend alone", async () => {
  const backend: ProcessBackend = new FakeBackend();
  assert.deepEqual(await new SessionChildren(backend).end(AT_ONCE), { endedCount: 0, survivors: [] });
  assert.deepEqual((backend as FakeBackend).endedTrees, []);
});
