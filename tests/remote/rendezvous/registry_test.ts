import assert from "node:assert/strict";
import type { Registration } from "../../../src/remote/rendezvous/executor.ts";
import type { FrameSocket, SocketEnd } from "../../../src/remote/rendezvous/frame_socket.ts";
import { MAX_HELD_PER_EXECUTOR } from "../../../src/remote/rendezvous/limits.ts";
import { PlainExecutor } from "../../../src/remote/rendezvous/plain_executor.ts";
import { Registry } from "../../../src/remote/rendezvous/registry.ts";
import { ManualClock } from "../../support/manual_clock.ts";

const NEVER = new Promise<void>(() => {});

function registration(identity: string | null, registrationId: string = crypto.randomUUID()): Registration {
  const nothing = { name: null, version: null, publicKey: null, fingerprint: null, hasStreamAcks: false };
  return { registrationId, executorId: "box-1", kind: "plain", identity, ...nothing };
}

/** A websocket of an executor that gives signs of life, or none. */
function fakeSocket(isAlive: boolean) {
  const ended = Promise.withResolvers<SocketEnd>();
  const closings: string[] = [];
  const socket = {
    isEnded: false,
    silentMs: 0,
    isAlive: () => Promise.resolve(isAlive),
    close(_code: number, reason: string) {
      closings.push(reason);
      socket.isEnded = true;
      ended.resolve({ by: "us", code: 1000, reason });
    },
  };
  return { running: { socket: socket as unknown as FrameSocket, ended: ended.promise }, closings };
}

async function withExecutor(isAlive: boolean) {
  const clock = new ManualClock();
  const registry = new Registry(clock);
  assert.equal(await registry.register(registration("first")), "registered");
  const fake = fakeSocket(isAlive);
  const life = (registry.find("box-1") as PlainExecutor).serve(fake.running);
  return { clock, registry, ...fake, life };
}

Deno.test("an id belongs to the living process: others are refused, its own registrations are not", async () => {
  const { registry, closings } = await withExecutor(true);
  const executor = registry.find("box-1");
  assert.equal(await registry.register(registration("first", "again")), "registered");
  assert.equal(registry.find("box-1"), executor);
  assert.equal(executor!.registration.registrationId, "again");
  assert.equal(await registry.register(registration("second")), "taken");
  assert.equal(await registry.register(registration(null)), "taken", "one that does not say who it is");
  assert.deepEqual(closings, []);
  registry.close("done");
});

Deno.test("an executor that gives no sign of life is displaced, and is told so if it still listens", async () => {
  const { registry, closings, life } = await withExecutor(false);
  const before = registry.find("box-1");
  assert.equal(await registry.register(registration("second")), "registered");
  assert.notEqual(registry.find("box-1"), before);
  assert.equal(closings.length, 1);
  assert.match(closings[0]!, /gave no sign of life/);
  // The end of the old one does not take the new one along.
  await life;
  assert.notEqual(registry.find("box-1"), null);
  registry.close("done");
});

Deno.test("an executor that does not come, or come back, is forgotten when its URL expires", async () => {
  const { clock, registry, running, life } = await withExecutor(true);
  clock.advance(600_000);
  assert.notEqual(registry.find("box-1"), null, "it is connected");
  running.socket.close(1000, "");
  await life;
  clock.advance(59_999);
  assert.notEqual(registry.find("box-1"), null);
  clock.advance(1);
  assert.equal(registry.find("box-1"), null);
  assert.equal(clock.pending, 0);
});

Deno.test("waitFor() finds what comes in time, gives up when the caller leaves, and holds a bounded number", async () => {
  const clock = new ManualClock();
  const registry = new Registry(clock);
  const wait = (gone = NEVER) =>
    registry.waitFor("box-1", () => registry.find("box-1")?.isConnected || null, { withinMs: 1000, gone });
  const late = wait();
  clock.advance(1000);
  assert.equal(await late, null);
  assert.equal(await wait(Promise.resolve()), null);
  const held = Array.from({ length: MAX_HELD_PER_EXECUTOR }, () => wait());
  assert.equal(await wait(), null, "one too many");
  await registry.register(registration("first"));
  void (registry.find("box-1") as PlainExecutor).serve(fakeSocket(true).running);
  assert.deepEqual(new Set(await Promise.all(held)), new Set([true]));
  assert.equal(clock.pending, 0);
  registry.close("done");
});
