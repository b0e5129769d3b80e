import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { silentLogger } from "../../src/log.ts";
import { type SessionHolder, SessionRegistry } from "../../src/server/sessions.ts";
import { ManualClock } from "../support/manual_clock.ts";

interface SetUp {
  detachedTtlMs?: number;
  maxDetachTtlMs?: number;
  maxDetached?: number;
  /** Ids of sessions that have processes. */
  withProcesses?: ReadonlySet<string>;
  endResources?: () => Promise<void>;
}

function setUp(options: SetUp = {}) {
  const clock = new ManualClock();
  const ended: [string, string][] = [];
  const registry = new SessionRegistry<{ name: string }>({
    clock,
    log: silentLogger(),
    detachedTtlMs: options.detachedTtlMs ?? 30_000,
    ...(options.maxDetachTtlMs === undefined ? {} : { maxDetachTtlMs: options.maxDetachTtlMs }),
    ...(options.maxDetached === undefined ? {} : { maxDetached: options.maxDetached }),
    createResources: (name) => ({ name }),
    hasProcesses: ({ name }) => options.withProcesses?.has(name) === true,
    endResources: (resources, reason) => {
      ended.push([resources.name, reason]);
      return options.endResources?.() ?? Promise.resolve();
    },
  });
  return { clock, registry, ended };
}

class Holder implements SessionHolder {
  probes = 0;
  displacements = 0;
  isLeaving = false;
  probe(): void {
    this.probes++;
  }
  displace(): void {
    this.displacements++;
  }
}

const unknown = (id: string) => ({ name: "DomainError", kind: "invalidRequest", message: `unknown session id ${id}` });

Deno.test("SessionRegistry gives every session a fresh lower-case UUID", () => {
  const { registry } = setUp();
  const ids = Array.from({ length: 100 }, () => registry.open(new Holder()).id);
  assert.equal(new Set(ids).size, 100);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});

Deno.test("SessionRegistry refuses to resume an attached session, leaves its holder alone and probes it", () => {
  const { registry } = setUp();
  const owner = new Holder();
  const session = registry.open(owner);
  assert.throws(() => registry.resume(session.id, new Holder()), (error) => {
    return error instanceof DomainError && error.kind === "sessionAttached" &&
      error.message === `session ${session.id} is already attached to another connection`;
  });
  assert.equal(owner.probes, 1);
  registry.detach(session, owner);
  assert.equal(registry.resume(session.id, new Holder()).resources, session.resources);
});

Deno.test("SessionRegistry gives an attached session to the connection that takes it over, and the last one keeps it", () => {
  const { clock, registry, ended } = setUp();
  const [first, second, third] = [new Holder(), new Holder(), new Holder()];
  const session = registry.open(first);
  registry.resume(session.id, second, { takeover: true });
  registry.resume(session.id, third, { takeover: true });
  for (const loser of [first, second]) {
    assert.deepEqual([loser.displacements, loser.probes], [1, 0]);
    registry.detach(session, loser);
  }
  clock.advance(60_000);
  assert.deepEqual(ended, [], "the end of a loser's connection is no longer the session's");
  assert.throws(() => registry.resume(session.id, first), { kind: "sessionAttached" });
  registry.detach(session, third);
  registry.resume(session.id, first, { takeover: true });
  assert.equal(third.displacements, 0, "it had let go by itself");
  clock.advance(60_000);
  assert.deepEqual(ended, []);
  assert.throws(() => registry.resume("no such", first, { takeover: true }), unknown("no such"));
});

Deno.test("SessionRegistry gives away the session of a connection that is only there for its last answers", () => {
  const { registry } = setUp();
  const [leaving, next] = [new Holder(), new Holder()];
  const session = registry.open(leaving);
  leaving.isLeaving = true;
  assert.equal(registry.resume(session.id, next).resources, session.resources);
  assert.deepEqual([leaving.displacements, leaving.probes], [1, 0]);
});

Deno.test("SessionRegistry destroys a session its time after detaching, not a moment before", () => {
  const { clock, registry, ended } = setUp();
  const owner = new Holder();
  const session = registry.open(owner);
  clock.advance(1_000_000);
  registry.detach(session, owner);
  clock.advance(29_999);
  assert.deepEqual(ended, []);
  clock.advance(1);
  assert.deepEqual(ended, [[session.id, "sessionExpired"]]);
  assert.throws(() => registry.resume(session.id, new Holder()), unknown(session.id));
  assert.equal(registry.size, 0);
});

Deno.test("SessionRegistry lets one expire early when too many wait: without processes first, then the longest, never an attached one", () => {
  const withProcesses = new Set<string>();
  const { clock, registry, ended } = setUp({ maxDetached: 3, withProcesses });
  const attached = registry.open(new Holder());
  const wait = (hasProcesses: boolean) => {
    const owner = new Holder();
    const session = registry.open(owner, { detachTtlMs: 30_000 });
    if (hasProcesses) withProcesses.add(session.id);
    registry.detach(session, owner);
    return session.id;
  };
  const ids = [wait(true), wait(false), wait(true)];
  assert.deepEqual(ended, []);
  ids.push(wait(true));
  assert.deepEqual(ended, [[ids[1], "sessionExpired"]]);
  assert.throws(() => registry.resume(ids[1]!, new Holder()), unknown(ids[1]!));
  ids.push(wait(true));
  assert.deepEqual(ended.slice(1), [[ids[0], "sessionExpired"]]);

  // Who has come back waits no more, and begins anew.
  const owner = new Holder();
  const back = registry.resume(ids[2]!, owner);
  wait(true);
  assert.equal(ended.length, 2);
  registry.detach(back, owner);
  assert.deepEqual(ended.slice(2), [[ids[3], "sessionExpired"]]);
  clock.advance(30_000);
  assert.equal(ended.length, 6);
  wait(false);
  assert.equal(ended.length, 6, "those that expired are not counted");
  assert.equal(registry.resume(attached.id, new Holder(), { takeover: true }), attached);
});

Deno.test("SessionRegistry lets a session be resumed any number of times, each time with the full delay", () => {
  const { clock, registry, ended } = setUp();
  let owner = new Holder();
  const session = registry.open(owner);
  for (let i = 0; i < 5; i++) {
    registry.detach(session, owner);
    clock.advance(29_000);
    owner = new Holder();
    registry.resume(session.id, owner);
    clock.advance(60_000);
  }
  assert.deepEqual(ended, []);
  assert.equal(clock.pending, 0);
});

Deno.test("SessionRegistry ignores the end of a connection that no longer holds the session", () => {
  const { clock, registry, ended } = setUp();
  const [first, second] = [new Holder(), new Holder()];
  const session = registry.open(first);
  registry.detach(session, first);
  registry.resume(session.id, second);
  registry.detach(session, first);
  clock.advance(60_000);
  assert.deepEqual(ended, []);
});

Deno.test("SessionRegistry destroys at once when there is no time to wait, as on stdio", () => {
  const { registry, ended } = setUp({ detachedTtlMs: 0 });
  const owner = new Holder();
  const session = registry.open(owner);
  registry.detach(session, owner);
  assert.deepEqual(ended, [[session.id, "sessionExpired"]]);
});

Deno.test("SessionRegistry.endAll() waits for all ends, also those under way, and survives a failing one", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let next = 0;
  const { clock, registry, ended } = setUp({ endResources: () => gates[next++]!.promise });
  const owner = new Holder();
  const expiring = registry.open(owner);
  const attached = registry.open(new Holder());
  registry.detach(expiring, owner);
  clock.advance(30_000);
  let isOver = false;
  const over = registry.endAll("serverShutdown").then(() => isOver = true);
  assert.deepEqual(ended, [[expiring.id, "sessionExpired"], [attached.id, "serverShutdown"]]);
  gates[0]!.reject(new Error("cannot"));
  await Promise.resolve();
  assert.equal(isOver, false);
  gates[1]!.resolve();
  await over;
});

Deno.test("SessionRegistry.end() resolves when nothing is left, also for who asks while the session is being ended", async () => {
  const left = Promise.withResolvers<void>();
  const { registry, ended } = setUp({ endResources: () => left.promise });
  const session = registry.open(new Holder());
  const order: string[] = [];
  const first = registry.end(session).then(() => order.push("first"));
  const second = registry.end(session).then(() => order.push("second"));
  await new Promise((resolve) => setTimeout(resolve));
  order.push("nothing is left");
  left.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["nothing is left", "first", "second"]);
  assert.deepEqual(ended, [[session.id, "sessionEnded"]]);
  await registry.end(session);
});

Deno.test("SessionRegistry lets a client choose how long its session waits, up to the maximum", () => {
  const { clock, registry, ended } = setUp({ detachedTtlMs: 100, maxDetachTtlMs: 1000 });
  const waits = [undefined, 0, 5, 1000, 5000].map((detachTtlMs) =>
    registry.open(new Holder(), detachTtlMs === undefined ? {} : { detachTtlMs }).detachTtlMs
  );
  assert.deepEqual(waits, [100, 0, 5, 1000, 1000]);

  const holder = new Holder();
  const session = registry.open(holder, { detachTtlMs: 700 });
  registry.detach(session, holder);
  clock.advance(699);
  const next = new Holder();
  assert.equal(registry.resume(session.id, next).detachTtlMs, 700, "it stays as it was");
  registry.detach(session, next);
  assert.equal(registry.resume(session.id, holder, { detachTtlMs: 10 }).detachTtlMs, 10);
  registry.detach(session, holder);
  clock.advance(10);
  assert.deepEqual(ended, [[session.id, "sessionExpired"]]);
});

Deno.test("SessionRegistry with a default above its maximum keeps to the default", () => {
  const { registry } = setUp({ detachedTtlMs: 100, maxDetachTtlMs: 50 });
  assert.equal(registry.open(new Holder()).detachTtlMs, 100);
  assert.equal(registry.open(new Holder(), { detachTtlMs: 75 }).detachTtlMs, 75);
});
