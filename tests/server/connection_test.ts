/**
 * One connection on a memory link, with methods made up for each test.
 *
 * More than 300 lines: one suite on one bench.
 */

import assert from "node:assert/strict";
import { MAX_WAITING_REQUESTS, OUTPUT_HIGH_WATER_BYTES } from "../../src/protocol/limits.ts";
import type { EnvironmentInfo } from "../../src/protocol/environment.ts";
import { createLogger, silentLogger } from "../../src/log.ts";
import { internalError } from "../../src/errors.ts";
import { sourceOf } from "../../src/bytes.ts";
import { StreamedResult } from "../../src/rpc/encoded_result.ts";
import type { Link } from "../../src/rpc/link.ts";
import type { ClaimMode } from "../../src/rpc/claim_line.ts";
import type { Claim, Lane } from "../../src/rpc/scheduler.ts";
import { decodeParams } from "../../src/protocol/decode_params.ts";
import { InitializeParams } from "../../src/protocol/handshake.ts";
import { LateMethods } from "../../src/server/late_methods.ts";
import { MethodTable } from "../../src/server/method_table.ts";
import { Connection } from "../../src/server/connection.ts";
import type { CallContext, Outlet, SessionResources } from "../../src/server/call_context.ts";
import { SessionRegistry } from "../../src/server/sessions.ts";
import { MemoryLink } from "../../src/transport/memory_link.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { Random } from "../support/random.ts";

const INFO = { shell: { name: "sh", path: "/bin/sh" } } as EnvironmentInfo;

/** Lets every promise that can settle do so. */
const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** A session whose only resource is a source of output the test drives. */
class FakeResources implements SessionResources {
  outlet: Outlet | null = null;
  rooms = 0;
  setOutlet(outlet: Outlet | null): void {
    this.outlet = outlet;
  }
  outputHasRoom(): void {
    this.rooms++;
    this.onRoom();
  }
  onRoom: () => void = () => {};
}

type Context = CallContext<FakeResources>;

interface TestMethod {
  lane?: Lane;
  claims?: readonly Claim[];
  answerBytes?: number;
  run(params: Record<string, unknown>, context: Context): unknown;
}

/** A connection with methods of the test's own, and the client's end of its link. */
class Bench {
  readonly clock = new ManualClock();
  readonly resources = new FakeResources();
  readonly sessions: SessionRegistry<FakeResources>;
  readonly client: MemoryLink;
  readonly connection: Connection<FakeResources>;
  readonly ended: Promise<unknown>;
  readonly logLines: string[] = [];
  // deno-lint-ignore no-explicit-any
  readonly #received: any[] = [];
  #wake: () => void = () => {};

  constructor(
    methods: Record<string, TestMethod> = {},
    wrapLink: (link: Link) => Link = (link) => link,
    loading: Promise<void> = Promise.resolve(),
  ) {
    this.sessions = new SessionRegistry({
      clock: this.clock,
      log: silentLogger(),
      detachedTtlMs: 30_000,
      createResources: () => this.resources,
      endResources: () => Promise.resolve(),
    });
    const table = new MethodTable<Context, FakeResources>();
    for (const [name, { lane = "ordinary", claims = [], answerBytes = 0, run }] of Object.entries(methods)) {
      const params = {
        safeParse: (value: unknown) =>
          value === "bad"
            ? { success: false as const, error: { issues: [{ path: ["x"], message: "x is bad", code: "custom" }] } }
            : { success: true as const, data: (value ?? {}) as Record<string, unknown> },
      };
      table.bind({
        name,
        family: "exec",
        params,
        lane: () => lane,
        claims: () => claims,
        answerBytes: () => answerBytes,
      }, run);
    }
    const [server, client] = MemoryLink.pair();
    this.client = client;
    this.connection = new Connection({
      link: wrapLink(server),
      log: createLogger({ level: "debug", format: "json", write: (line) => this.logLines.push(line) }),
      clock: this.clock,
      sessions: this.sessions,
      methods: new LateMethods(async () => {
        await loading;
        return {
          prepare: (method, params) => table.prepare(method, params),
          decodeInitialize: (params) => decodeParams(InitializeParams, params),
        };
      }),
      environmentInfo: INFO,
      concurrentRequests: null,
      onGreeted: () => {},
      answersAfterEnd: false,
    });
    this.ended = this.connection.run();
    client.receive((text) => {
      this.#received.push(JSON.parse(text!));
      this.#wake();
    });
  }

  async send(...messages: unknown[]): Promise<void> {
    await this.client.send(messages.map((message) => typeof message === "string" ? message : JSON.stringify(message)));
  }

  // deno-lint-ignore no-explicit-any
  async next(): Promise<any> {
    while (this.#received.length === 0) await new Promise<void>((resolve) => this.#wake = resolve);
    return this.#received.shift();
  }

  /** What has come and was not asked for by `next()`. */
  get unread(): readonly unknown[] {
    return this.#received;
  }

  async call(id: number, method: string, params?: unknown): Promise<unknown> {
    await this.send({ id, method, params });
    return await this.next();
  }

  async ready(): Promise<this> {
    await this.send({ id: 0, method: "initialize", params: { clientName: "t" } }, { method: "initialized" });
    assert.ok((await this.next()).result.sessionId);
    return this;
  }
}

Deno.test("Connection confirms that `initialized` has arrived, which nothing else would tell the client", async () => {
  let confirmed = 0;
  const bench = new Bench({ "t/echo": { run: (params) => params } }, (link) => {
    return Object.assign(link, { confirmArrival: () => confirmed++ });
  });
  await bench.call(0, "initialize", { clientName: "t" });
  assert.equal(confirmed, 0);
  await bench.send({ method: "initialized" }, { method: "initialized" });
  await bench.call(1, "t/echo", {});
  assert.equal(confirmed, 1);
  bench.client.close();
  await bench.ended;
});

Deno.test("Connection checks the method, then the parameters, then the handshake", async () => {
  const bench = new Bench({ known: { run: () => ({}) } });
  const refusals = [
    await bench.call(1, "nope", "bad"),
    await bench.call(2, "known", "bad"),
    await bench.call(3, "known"),
  ];
  assert.deepEqual(refusals, [
    { id: 1, error: { code: -32601, message: "exec-server stub does not implement `nope` yet" } },
    { id: 2, error: { code: -32602, message: "x is bad" } },
    { id: 3, error: { code: -32600, message: "client must call initialize before using exec methods" } },
  ]);
  await bench.ready();
  assert.deepEqual(await bench.call(4, "known"), { id: 4, result: {} });
});

Deno.test("Connection answers an internal fault without its details and logs it whole", async () => {
  const bench = await new Bench({
    broken: {
      run: () => {
        throw new TypeError("secret internals");
      },
    },
    brokenLater: { run: () => Promise.reject(new TypeError("secret internals")) },
    refused: { run: () => Promise.reject(internalError("No such file or directory (os error 2)")) },
  }).ready();
  for (const [id, method] of [[1, "broken"], [2, "brokenLater"]] as const) {
    const answer = await bench.call(id, method) as { error: { code: number; message: string } };
    assert.equal(answer.error.code, -32603);
    assert.doesNotMatch(answer.error.message, /secret/);
  }
  assert.equal(bench.logLines.filter((line) => line.includes("TypeError: secret internals")).length, 2);
  assert.deepEqual(await bench.call(3, "refused"), {
    id: 3,
    error: { code: -32603, message: "No such file or directory (os error 2)" },
  });
});

Deno.test("Connection sends what a call has left for later after the call's answer", async () => {
  const bench = await new Bench({
    start: {
      run: async (_params, context) => {
        await Promise.resolve();
        context.afterReply(() => context.outlet.notify("process/started", { processId: "p" }));
        return { ok: true };
      },
    },
  }).ready();
  await bench.send({ id: 1, method: "start" });
  assert.deepEqual([await bench.next(), await bench.next()], [
    { id: 1, result: { ok: true } },
    { method: "process/started", params: { processId: "p" } },
  ]);
});

Deno.test("Connection answers past a long poll, and abandons the poll when the peer goes", async () => {
  const aborted = Promise.withResolvers<void>();
  const bench = await new Bench({
    poll: {
      lane: "waiting",
      run: (_params, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => aborted.resolve(), { once: true })),
    },
    status: { lane: "control", run: () => "ready" },
  }).ready();
  await bench.send({ id: 1, method: "poll" });
  assert.deepEqual(await bench.call(2, "status"), { id: 2, result: "ready" });
  bench.client.close();
  await aborted.promise;
  await bench.ended;
});

Deno.test("Connection logs no error for requests that its end interrupts, but one for a fault of ours meanwhile", async () => {
  const begun = Promise.withResolvers<void>();
  const untilEnd = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const bench = await new Bench({
    interrupted: {
      run: async (_params, { signal }) => {
        await untilEnd(signal);
        signal.throwIfAborted();
      },
    },
    broken: {
      run: async (_params, { signal }) => {
        begun.resolve();
        await untilEnd(signal);
        throw new TypeError("a fault of ours");
      },
    },
  }).ready();
  await bench.send({ id: 1, method: "interrupted" }, { id: 2, method: "broken" });
  await begun.promise;
  bench.client.close();
  await bench.ended;
  await settled();
  const errors = bench.logLines.map((line) => JSON.parse(line)).filter(({ level }) =>
    level !== "debug" && level !== "info"
  );
  assert.deepEqual(errors.map(({ message, method }) => [message, method]), [["request failed unexpectedly", "broken"]]);
  assert.ok(bench.logLines.some((line) => line.includes("request abandoned")));
});

Deno.test("Connection refuses one long poll too many and goes on", async () => {
  const bench = await new Bench({
    poll: { lane: "waiting", run: () => new Promise(() => {}) },
    status: { lane: "control", run: () => "ready" },
  }).ready();
  await bench.send(...Array.from({ length: MAX_WAITING_REQUESTS }, (_, id) => ({ id, method: "poll" })));
  const refused = await bench.call(-5, "poll") as { error: { code: number; message: string } };
  assert.equal(refused.error.code, -32600);
  assert.match(refused.error.message, /1024/);
  assert.deepEqual(await bench.call(-6, "status"), { id: -6, result: "ready" });
});

Deno.test("Connection pauses output at a peer that does not read, keeps replies coming, and resumes", async () => {
  const bench = await new Bench({ status: { lane: "control", run: () => "ready" } }).ready();
  const { resources, client } = bench;
  while (resources.outlet === null) await Promise.resolve();
  client.hold();
  let produced = 0;
  const chunk = JSON.stringify({ method: "process/output", params: { chunk: "x".repeat(10_000) } });
  while (resources.outlet.hasRoom) {
    resources.outlet.output(chunk);
    produced++;
  }
  assert.ok(produced * chunk.length <= OUTPUT_HIGH_WATER_BYTES + chunk.length);
  for (let id = 1; id <= 100; id++) await bench.send({ id, method: "status" });
  assert.equal(resources.rooms, 0);
  client.release();
  const methods = [];
  for (let i = 0; i < produced + 100; i++) methods.push((await bench.next()).id ?? "output");
  assert.equal(methods.filter((method) => method === "output").length, produced);
  assert.deepEqual(methods.filter((method) => method !== "output"), Array.from({ length: 100 }, (_, i) => i + 1));
  assert.equal(resources.rooms, 1);
});

Deno.test("Connection stops reading when too many requests are in flight, and goes on when they are answered", async () => {
  const gates: (() => void)[] = [];
  const bench = await new Bench({
    slow: { run: () => new Promise<object>((resolve) => gates.push(() => resolve({}))) },
  }).ready();
  await bench.send(...Array.from({ length: 6000 }, (_, id) => ({ id, method: "slow" })));
  while (gates.length < 4096) await Promise.resolve();
  for (let i = 0; i < 1000; i++) await Promise.resolve();
  assert.deepEqual([gates.length], [4096]);
  for (let answered = 0; answered < 6000; answered++) {
    while (gates.length === 0) await Promise.resolve();
    gates.shift()!();
    await bench.next();
  }
});

Deno.test("Connection holds back requests that must wait for a streamed answer until it has left", async () => {
  const order: string[] = [];
  const done = Promise.withResolvers<void>();
  const source = sourceOf([Uint8Array.of(1, 2, 3)]);
  const leaving = {
    ...source,
    close: () => {
      order.push("left");
      done.resolve();
    },
  };
  const claim = (mode: ClaimMode) => [{ resource: "file", mode }];
  const bench = await new Bench({
    read: { claims: claim("shared"), run: () => new StreamedResult('{"data":"', leaving, '"}', done.promise) },
    write: { claims: claim("exclusive"), run: () => ({ at: order.push("write") }) },
  }).ready();
  bench.client.hold();
  await bench.send({ id: 1, method: "read" }, { id: 2, method: "write" });
  await settled();
  assert.deepEqual(order, []);
  bench.client.release();
  assert.deepEqual(await bench.next(), { id: 1, result: { data: "AQID" } });
  assert.equal((await bench.next()).id, 2);
  assert.deepEqual(order, ["left", "write"]);
  bench.client.close();
  await bench.ended;
});

Deno.test("Connection ends when the content of an answer fails halfway, and says why", async () => {
  let isClosed = false;
  const failing = {
    length: 9,
    heldBytes: 0,
    next: () => Promise.reject(internalError("Input/output error (os error 5)")),
    close: () => void (isClosed = true),
  };
  const bench = await new Bench({ read: { run: () => new StreamedResult('{"data":"', failing, '"}') } }).ready();
  await bench.send({ id: 1, method: "read" });
  await bench.ended;
  assert.equal(isClosed, true);
  const line = bench.logLines.map((line) => JSON.parse(line)).find(({ level }) => level === "warn");
  assert.equal(line?.message, "cannot finish an answer");
  assert.match(JSON.stringify(line), /os error 5/);
});

Deno.test("Connection ends after a violation, but answers earlier requests first", async () => {
  const gate = Promise.withResolvers<object>();
  const bench = await new Bench({ slow: { run: () => gate.promise }, known: { run: () => ({}) } }).ready();
  await bench.send({ id: 1, method: "slow" }, { method: "nope" }, { id: 2, method: "known" });
  const message = "unexpected notification `nope`";
  assert.deepEqual(await bench.next(), { id: -1, error: { code: -32600, message } });
  gate.resolve({ done: true });
  assert.deepEqual(await bench.next(), { id: 1, result: { done: true } });
  assert.deepEqual(await bench.ended, { type: "closedByUs" });
  assert.equal(bench.clock.pending, 1, "only the session's own");
});

Deno.test("Connection waits neither for long polls nor for ever when it ends after a violation", async () => {
  const never = () => new Promise<object>(() => {});
  const polling = await new Bench({ poll: { lane: "waiting", run: (_, context) => context.parked(never()) } }).ready();
  await polling.send({ id: 1, method: "poll" }, { method: "nope" });
  assert.deepEqual(await polling.ended, { type: "closedByUs" });

  const stuck = await new Bench({ stuck: { run: never } }).ready();
  await stuck.send({ id: 1, method: "stuck" }, { method: "nope" });
  assert.equal((await stuck.next()).id, -1);
  stuck.clock.advance(2000);
  assert.deepEqual(await stuck.ended, { type: "closedByUs" });
});

Deno.test("Connection detaches its session and can be followed by another", async () => {
  const bench = await new Bench().ready();
  while (bench.resources.outlet === null) await Promise.resolve();
  bench.client.close();
  await bench.ended;
  assert.equal(bench.resources.outlet, null);
  assert.equal(bench.sessions.size, 1);
  bench.clock.advance(30_000);
  assert.equal(bench.sessions.size, 0);
});

Deno.test("Connection leaves its session to the next one while its link still lingers, and for good", async () => {
  const gone = Promise.withResolvers<void>();
  const bench = new Bench({}, (link) => ({
    receive: async (receiver, onEnd) => {
      const end = await link.receive(receiver);
      onEnd?.();
      await gone.promise;
      return end;
    },
    send: (messages) => link.send(messages),
    probe: (withinMs) => link.probe(withinMs),
    close: () => link.close(),
  }));
  await bench.send({ id: 0, method: "initialize", params: { clientName: "t" } }, { method: "initialized" });
  const { result } = await bench.next();
  while (bench.resources.outlet === null) await Promise.resolve();
  const outlet = bench.resources.outlet;
  bench.client.close();
  await settled();
  assert.equal(bench.resources.outlet, null);

  bench.sessions.resume(result.sessionId, { isLeaving: false, probe: () => {}, displace: () => {} });
  bench.resources.setOutlet(outlet);
  gone.resolve();
  await bench.ended;
  bench.clock.advance(30_000);
  assert.equal(bench.resources.outlet, outlet, "the next connection's");
  assert.equal(bench.sessions.size, 1);
});

Deno.test("Connection that is displaced is told, answers nothing more and lets nothing through to its session", async () => {
  const gate = Promise.withResolvers<object>();
  const begun: string[] = [];
  const line: Claim[] = [{ resource: "one", mode: "exclusive" }];
  let signal: AbortSignal | null = null;
  const bench = await new Bench({
    slow: {
      claims: line,
      run: (_, context) => {
        begun.push("slow");
        signal = context.signal;
        return gate.promise;
      },
    },
    next: { claims: line, run: () => void begun.push("next") },
  }).ready();
  while (bench.resources.outlet === null) await Promise.resolve();
  const { outlet } = bench.resources;
  await bench.send({ id: 1, method: "slow" }, { id: 2, method: "next" });
  await settled();

  const late = bench.client.send(['{"id":3,"method":"next"}']);
  bench.connection.displace();
  assert.equal(bench.resources.outlet, null, "when displace() returns");
  assert.equal(signal!.aborted, true);
  outlet.notify("process/started", { processId: "p" });
  gate.resolve({});
  await late;
  const message = "session has been resumed by another connection";
  assert.deepEqual(await bench.next(), { id: -1, error: { code: -32600, message } });
  await bench.ended;
  await settled();
  assert.deepEqual(bench.unread, []);
  assert.deepEqual(begun, ["slow"]);
});

Deno.test("Connection answers requests from before its peer's close frame, but does not keep its session", async () => {
  const never = new Promise<object>(() => {});
  const gate = Promise.withResolvers<object>();
  for (const isStuck of [false, true]) {
    let sayGoodbye: () => void | Promise<void> = () => {};
    const bench = new Bench(
      {
        slow: { run: () => isStuck ? never : gate.promise },
        poll: { lane: "waiting", run: (_, context) => context.parked(never) },
      },
      (link) => ({
        receive: (receiver, onEnd, onPeerClosing) => {
          sayGoodbye = onPeerClosing!;
          return link.receive(receiver, onEnd);
        },
        send: (messages) => link.send(messages),
        probe: (withinMs) => link.probe(withinMs),
        close: () => link.close(),
      }),
    );
    await bench.send({ id: 0, method: "initialize", params: { clientName: "t" } }, { method: "initialized" });
    const { sessionId } = (await bench.next()).result;
    while (bench.resources.outlet === null) await Promise.resolve();
    await bench.send({ id: 1, method: "slow" }, { id: 2, method: "poll" });
    await settled();
    const parting = sayGoodbye();
    assert.equal(bench.resources.outlet, null, "output is kept for the next connection");
    if (isStuck) {
      bench.sessions.resume(sessionId, { isLeaving: false, probe: () => {}, displace: () => {} });
      await parting;
      assert.deepEqual(bench.unread, []);
    } else {
      gate.resolve({ done: true });
      await parting;
      assert.deepEqual(await bench.next(), { id: 1, result: { done: true } });
    }
    assert.equal(bench.clock.pending, 0, "nobody waits for the poll");
    bench.client.close();
    await bench.ended;
  }
});

Deno.test("Connection ends with an internal fault when a message cannot be handled, and gives no details", async () => {
  const farewells: unknown[] = [];
  const bench = await new Bench({}, (link) => ({
    receive: (receiver) => link.receive(receiver),
    send: (messages) => link.send(messages),
    probe: (withinMs) => link.probe(withinMs),
    close: (farewell) => {
      farewells.push(farewell);
      link.close();
    },
  })).ready();
  bench.logLines.push = (line) => {
    if (line.includes("malformed")) throw new Error("no space left for the log");
    return 0;
  };
  await bench.send("{");
  assert.deepEqual(await bench.ended, { type: "closedByUs" });
  assert.deepEqual(farewells, [{ cause: "fault", reason: "internal error" }]);
  assert.equal(bench.sessions.size, 1);
});

Deno.test("Connection closes all it owns even if one close fails, and also what is opened afterwards", async () => {
  const closed: string[] = [];
  const own = (context: Context, name: string) =>
    context.owned(Symbol(name), () => ({
      close: () => {
        closed.push(name);
        if (name === "first") throw new Error("stuck");
      },
    }));
  const gate = Promise.withResolvers<void>();
  const bench = await new Bench({
    open: {
      run: (_, context) => {
        own(context, "first");
        own(context, "second");
        return {};
      },
    },
    slow: { run: (_, context) => gate.promise.then(() => own(context, "late")) },
  }).ready();
  await bench.call(1, "open");
  await bench.send({ id: 2, method: "slow" });
  await settled();
  bench.client.close();
  await bench.ended;
  assert.deepEqual(closed, ["first", "second"]);
  assert.match(bench.logLines.join(""), /stuck/);
  gate.resolve();
  await settled();
  assert.ok(closed.includes("late"));
});

Deno.test("Connection survives hundreds of generated conversations without losing or inventing an answer", async () => {
  const seed = 4711;
  const random = new Random(seed);
  for (let round = 0; round < 400; round++) await converse(random, `seed ${seed} round ${round}`);
});

/**
 * Requests of every lane, sync and async, good and bad, with output floods and a peer that stops and starts reading.
 * Every request must be answered exactly once, output must arrive whole and in order, and nothing may stay behind.
 */
async function converse(random: Random, label: string): Promise<void> {
  const open: (() => void)[] = [];
  const later = () => new Promise<object>((resolve) => open.push(() => resolve({})));
  const exclusive: Claim[] = [{ resource: "r", mode: "exclusive" }];
  const bench = await new Bench({
    sync: { run: () => ({}) },
    later: { run: later },
    ordered: { claims: exclusive, run: () => random.chance(0.5) ? {} : later() },
    poll: { lane: "waiting", run: later },
    control: { lane: "control", run: () => ({}) },
    failing: {
      run: () => {
        throw internalError("no");
      },
    },
  }).ready();
  const { resources, client } = bench;
  while (resources.outlet === null) await Promise.resolve();
  let sent = 0;
  let produced = 0;
  let isPaused = false;
  resources.onRoom = () => isPaused = false;
  const produce = () => {
    while (!isPaused && produced < 3000 && random.chance(0.99)) {
      resources.outlet!.output(`{"method":"process/output","params":{"n":${produced++},"pad":"${"x".repeat(2000)}"}}`);
      isPaused = !resources.outlet!.hasRoom;
    }
  };
  for (let step = 0; step < 60; step++) {
    const action = random.int(6);
    if (action <= 2) {
      const method = random.pick(["sync", "later", "ordered", "poll", "control", "failing", "unknown"]);
      await bench.client.send([JSON.stringify({ id: ++sent, method })]);
    } else if (action === 3) produce();
    else if (action === 4) random.chance(0.5) ? client.hold() : client.release();
    else open.splice(random.int(open.length), 1)[0]?.();
    if (random.chance(0.3)) await Promise.resolve();
  }
  client.release();
  const answers = new Set<number>();
  let outputs = 0;
  while (answers.size < sent || outputs < produced) {
    for (const finish of open.splice(0)) finish();
    const message = await bench.next();
    if (message.method === "process/output") assert.equal(message.params.n, outputs++, `${label}: output out of order`);
    else {
      assert.ok(message.id >= 1 && message.id <= sent && !answers.has(message.id), `${label}: stray ${message.id}`);
      answers.add(message.id);
    }
    for (const finish of open.splice(0)) finish();
  }
  client.close();
  await bench.ended;
}

Deno.test("Connection lets requests that wait for each other return their reservations", async () => {
  // Both have been given bytes; the first then waits for the second, which waits for more bytes.
  const second = Promise.withResolvers<void>();
  const scene = new Bench({
    first: {
      answerBytes: 10 << 20,
      run: async (_params, context) => {
        context.withdraw();
        await second.promise;
        await context.promise(10 << 20);
        return "first";
      },
    },
    second: {
      answerBytes: 1 << 20,
      run: async (_params, context) => {
        await context.promise(15 << 20);
        second.resolve();
        return "second";
      },
    },
  });
  await scene.ready();
  await scene.send({ id: 1, method: "first" }, { id: 2, method: "second" });
  assert.deepEqual([(await scene.next()).result, (await scene.next()).result], ["second", "first"]);
});

Deno.test("a client is greeted while methods are being loaded, and what it asks then is answered in order", async () => {
  const loading = Promise.withResolvers<void>();
  const ran: unknown[] = [];
  const bench = new Bench(
    { a: { run: ({ n }) => (ran.push(n), { n }) } },
    (link) => link,
    loading.promise,
  );
  await bench.ready();
  const sent = bench.send(
    { id: 1, method: "a", params: { n: 1 } },
    { id: 2, method: "none" },
    { id: 3, method: "initialize", params: { clientName: "again" } },
    { id: 4, method: "a", params: { n: 2 } },
  );
  assert.deepEqual([ran, bench.unread], [[], []]);
  loading.resolve();
  await sent;
  assert.deepEqual(await bench.next(), { id: 1, result: { n: 1 } });
  assert.equal((await bench.next()).error.code, -32601);
  assert.match((await bench.next()).error.message, /initialize may only be sent once/);
  assert.deepEqual(await bench.next(), { id: 4, result: { n: 2 } });
});

Deno.test("an initialize that does not decode is refused in the schema's words, once methods are loaded", async () => {
  const loading = Promise.withResolvers<void>();
  const bench = new Bench({}, (link) => link, loading.promise);
  const answer = bench.call(1, "initialize", { clientName: "t", takeover: 1 });
  loading.resolve();
  assert.deepEqual(await answer, {
    id: 1,
    error: { code: -32602, message: "takeover: Invalid input: expected boolean, received number" },
  });
  assert.ok((await bench.call(2, "initialize", { clientName: "t" }) as { result: object }).result);
});

Deno.test("a request that waits for methods is forgotten with its connection", async () => {
  const loading = Promise.withResolvers<void>();
  let hasRun = false;
  const bench = new Bench({ a: { run: () => hasRun = true } }, (link) => link, loading.promise);
  await bench.ready();
  bench.send({ id: 1, method: "a" });
  bench.connection.close();
  loading.resolve();
  await bench.ended;
  assert.equal(hasRun, false);
});

Deno.test("methods that cannot be loaded end the connection, and the log says why", async () => {
  const bench = new Bench({}, (link) => link, Promise.reject(new Error("no such module")));
  await bench.ready();
  bench.send({ id: 1, method: "a" });
  await bench.ended;
  assert.match(bench.logLines.join(""), /cannot handle a message.*no such module/);
});
