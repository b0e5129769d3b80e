import assert from "node:assert/strict";
import type { ProcessBackend, ProcessObserver, SpawnedProcess, SpawnRequest } from "../../src/process/backend.ts";
import { type ChildObserver, SessionChildren } from "../../src/process/session_children.ts";
import { FakeBackend } from "../support/fake_backend.ts";
import { startOptions } from "../support/process_session.ts";

const REQUEST: SpawnRequest = startOptions().request;
const KEPT = { keepOnSessionEnd: true };
const NOT_KEPT = { keepOnSessionEnd: false };
const AT_ONCE = { graceMs: 0, sparesKept: false };

class Listener implements ChildObserver {
  readonly heard: string[] = [];

  started(): void {
    this.heard.push("started");
  }
  output(stream: string, bytes: Uint8Array): void {
    this.heard.push(`${stream} ${new TextDecoder().decode(bytes)}`);
  }
  exited(): void {
    this.heard.push("exited");
  }
  outputEnded(): void {
    this.heard.push("ended");
  }
}

Deno.test("SessionChildren tells an observer of its child before anything the child does", async () => {
  /** A backend behind another layer, so that the child acts before its spawn has resolved up here. */
  class HastyBackend extends FakeBackend {
    override async spawn(request: SpawnRequest, observer: ProcessObserver): Promise<SpawnedProcess> {
      const child = await super.spawn(request, observer);
      this.last.print("at once");
      this.last.exit(0);
      return child;
    }
  }
  const listener = new Listener();
  await new SessionChildren(new HastyBackend()).spawn(REQUEST, listener, NOT_KEPT);
  assert.deepEqual(listener.heard, ["started", "stdout at once", "exited", "ended"]);
});

Deno.test("SessionChildren lets the observer of a closed child go", async () => {
  const backend = new FakeBackend();
  const children = new SessionChildren(backend);
  const listener = new Listener();
  const child = await children.spawn(REQUEST, listener, NOT_KEPT);
  children.closed(child);
  backend.last.print("unheard");
  assert.deepEqual(listener.heard, ["started"]);
});

async function pidsAfter(maxRemembered: number, closed: number[]): Promise<number[]> {
  const backend = new FakeBackend();
  const children = new SessionChildren(backend, maxRemembered);
  for (let count = 0; count < 4; count++) await children.spawn(REQUEST, new Listener(), NOT_KEPT);
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
  for (const options of [KEPT, NOT_KEPT, KEPT]) await children.spawn(REQUEST, new Listener(), options);
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
