/** How long closed processes can be read, and how much of them a server holds. */

import assert from "node:assert/strict";
import { createLogger } from "../../../src/log.ts";
import { ClosedLedger } from "../../../src/process/session/closed_ledger.ts";
import { CLOSED_RETENTION_MS, EVICTION_LOG_INTERVAL_MS } from "../../../src/process/limits.ts";
import { RememberedReasons } from "../../../src/process/session/remembered_reasons.ts";
import { FakeAudience } from "../../support/fake_audience.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { ProcessSession, RecordingSink, refuses } from "../../support/process_session.ts";

const EVICTED_BY_NUMBER = "it had closed and was evicted, because this server retains at most 2 closed processes";

async function close(session: ProcessSession, processId: string, output = ""): Promise<void> {
  const child = await session.start({ processId });
  if (output !== "") child.print(output);
  child.exit();
}

Deno.test("the time of a closed process counts only while a client is attached", async () => {
  const session = new ProcessSession();
  await close(session, "early");
  session.clock.advance(CLOSED_RETENTION_MS - 10);
  session.manager.detach();
  await close(session, "late");
  session.clock.advance(100 * CLOSED_RETENTION_MS);
  assert.equal((await session.read("early")).closed, true);
  assert.equal((await session.read("late")).closed, true);
  assert.equal(session.clock.pending, 0, "nothing is waited for without a client");

  session.manager.attach(new RecordingSink());
  session.clock.advance(9);
  assert.equal((await session.read("early")).closed, true);
  session.clock.advance(1);
  await refuses(() => session.read("early"), "unknown process id early");
  session.clock.advance(CLOSED_RETENTION_MS - 11);
  assert.equal((await session.read("late")).closed, true);
  session.clock.advance(1);
  await refuses(() => session.read("late"), "unknown process id late");
  assert.deepEqual([session.manager.size, session.clock.pending], [0, 0]);
});

Deno.test("a client that takes the session over does not restart the time", async () => {
  const session = new ProcessSession();
  await close(session, "p");
  session.clock.advance(CLOSED_RETENTION_MS - 1);
  session.manager.attach(new RecordingSink());
  session.clock.advance(1);
  assert.equal(session.manager.size, 0);
});

Deno.test("a closed process waits for a silent client, and is forgotten with its next message", async () => {
  const session = new ProcessSession();
  const client = new FakeAudience(session.clock);
  session.manager.attach(session.sink, client);
  await close(session, "p");
  session.clock.advance(CLOSED_RETENTION_MS - 1);
  client.say();
  assert.equal(client.questions, 0, "nothing is due");
  session.clock.advance(1);
  assert.equal(client.questions, 1);
  await close(session, "q");
  session.clock.advance(100 * CLOSED_RETENTION_MS);
  assert.deepEqual([session.manager.size, client.questions, session.clock.pending], [2, 1, 0]);
  // Before anything is done about what it says.
  client.say();
  assert.deepEqual([session.manager.size, client.questions, session.clock.pending], [0, 0, 0]);
});

Deno.test("the time after the last message of a client that was dropped later does not count", async () => {
  const session = new ProcessSession();
  const vanished = new FakeAudience(session.clock);
  session.manager.attach(session.sink, vanished);
  await close(session, "early");
  session.clock.advance(100);
  vanished.say();
  session.clock.advance(CLOSED_RETENTION_MS);
  await close(session, "late");
  session.clock.advance(3 * CLOSED_RETENTION_MS);
  session.manager.detach();
  assert.deepEqual([vanished.questions, session.clock.pending], [0, 0]);

  const back = new FakeAudience(session.clock);
  session.manager.attach(session.sink, back);
  back.say();
  session.clock.advance(CLOSED_RETENTION_MS - 101);
  back.say();
  assert.equal(session.manager.size, 2);
  session.clock.advance(1);
  back.say();
  await refuses(() => session.read("early"), "unknown process id early");
  session.clock.advance(99);
  back.say();
  assert.equal((await session.read("late")).closed, true);
  session.clock.advance(1);
  back.say();
  await refuses(() => session.read("late"), "unknown process id late");
});

Deno.test("beyond the limit the process that closed first is evicted, in whichever session, and readers are told", async () => {
  const closedLedger = new ClosedLedger({ maxProcesses: 2 });
  const one = new ProcessSession({ closedLedger });
  const two = new ProcessSession({ closedLedger });
  await close(one, "a");
  await close(two, "b");
  assert.equal((await one.read("a")).closed, true);
  await close(two, "c");
  await refuses(() => one.read("a"), `unknown process id a: ${EVICTED_BY_NUMBER}`);
  assert.equal((await two.read("b")).closed, true);
  await close(two, "d");
  await refuses(() => two.read("b"), `unknown process id b: ${EVICTED_BY_NUMBER}`);
  assert.deepEqual([closedLedger.size, one.manager.size, two.manager.size], [2, 0, 2]);

  // The id is free, and means what it is used for next.
  await close(one, "a");
  assert.equal((await one.read("a")).closed, true);
  one.clock.advance(CLOSED_RETENTION_MS);
  await refuses(() => one.read("a"), "unknown process id a");
});

Deno.test("beyond their bytes the oldest are evicted, but never the one that closed last", async () => {
  const closedLedger = new ClosedLedger({ maxBytes: 100_000 });
  const session = new ProcessSession({ closedLedger });
  for (const id of ["a", "b", "c"]) await close(session, id, "x".repeat(40_000));
  const reason = "it had closed and was evicted, because this server retains at most 100000 bytes of closed processes";
  await refuses(() => session.read("a"), `unknown process id a: ${reason}`);
  assert.equal((await session.read("b")).closed, true);
  await close(session, "huge", "x".repeat(500_000));
  await refuses(() => session.read("c"), `unknown process id c: ${reason}`);
  assert.equal((await session.read("huge")).closed, true);
  assert.equal(closedLedger.size, 1);
  await close(session, "small");
  await refuses(() => session.read("huge"), `unknown process id huge: ${reason}`);
});

Deno.test("the ledger does not count processes that were forgotten in time or with their session", async () => {
  const closedLedger = new ClosedLedger();
  const session = new ProcessSession({ closedLedger });
  await close(session, "a", "x".repeat(1000));
  await close(session, "b");
  assert.equal(closedLedger.size, 2);
  assert(closedLedger.bytes > 1000 && closedLedger.bytes < 20_000, `${closedLedger.bytes}`);
  session.clock.advance(CLOSED_RETENTION_MS);
  assert.deepEqual([closedLedger.size, closedLedger.bytes], [0, 0]);
  await close(session, "c");
  await session.manager.endAll("sessionEnded", 0);
  assert.deepEqual([closedLedger.size, closedLedger.bytes], [0, 0]);
});

Deno.test("processes that end with their session take no place from others", async () => {
  const closedLedger = new ClosedLedger({ maxProcesses: 2 });
  const one = new ProcessSession({ closedLedger });
  const two = new ProcessSession({ closedLedger });
  await close(one, "result");
  for (const processId of ["a", "b", "c"]) await two.start({ processId });
  await two.manager.endAll("sessionEnded", 0);
  assert.deepEqual([two.manager.size, closedLedger.size], [0, 1]);
  assert.equal((await one.read("result")).closed, true);
});

Deno.test("write ids, words and chunks of a closed process are counted, its environment is let go of", async () => {
  const closedLedger = new ClosedLedger();
  const session = new ProcessSession({ closedLedger });
  const io = { type: "pipe", stdin: "open" } as const;
  const env = { LARGE: "x".repeat(1_000_000) };
  const request = { argv: ["program", "w".repeat(10_000)], arg0: null, cwd: "/", env, io };
  const child = await session.start({ request });
  for (let write = 0; write < 100; write++) {
    await session.manager.get("p").write(new Uint8Array(0), { writeId: `${write}`.padEnd(1000) });
  }
  child.exit();
  assert(closedLedger.bytes > 2 * (10_000 + 100_000), `${closedLedger.bytes}`);
  assert(closedLedger.bytes < 300_000, `${closedLedger.bytes}`);
});

Deno.test("many short write ids and words of a closed process are counted as what they take", async () => {
  const closedLedger = new ClosedLedger();
  const session = new ProcessSession({ closedLedger });
  const io = { type: "pipe", stdin: "open" } as const;
  const words = Array.from({ length: 10_000 }, () => "w");
  const child = await session.start({ request: { argv: words, arg0: null, cwd: "/", env: {}, io } });
  for (let write = 0; write < 4096; write++) {
    await session.manager.get("p").write(new Uint8Array(0), { writeId: `${write}` });
  }
  child.exit();
  assert(closedLedger.bytes > (10_000 + 4096) * 48, `${closedLedger.bytes}`);
});

Deno.test("evictions are logged, but not one by one", () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLogger({ format: "text", level: "info", write: (line) => lines.push(line) });
  const ledger = new ClosedLedger({ maxProcesses: 1, clock, log });
  const add = () => ledger.add({ bytes: 10, evict: () => {} });
  for (let count = 0; count < 4; count++) add();
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /WARN.* closed processes evicted early .*evicted=1\b.*retained=1\b/i);
  clock.advance(EVICTION_LOG_INTERVAL_MS - 1);
  assert.equal(lines.length, 1);
  clock.advance(1);
  assert.equal(lines.length, 2, "though nothing is evicted any more");
  assert.match(lines[1]!, /evicted=2\b/);
  add();
  assert.equal(lines.length, 2);
  ledger.close();
  assert.match(lines[2]!, /evicted=1\b/);
  assert.deepEqual([lines.length, clock.pending], [3, 0]);

  add();
  clock.advance(EVICTION_LOG_INTERVAL_MS);
  assert.deepEqual([lines.length, clock.pending], [4, 0], "after a while of nothing the next is told at once");
});

Deno.test("RememberedReasons forgets the oldest, and does not remember ids of any length", () => {
  const reasons = new RememberedReasons(2);
  for (const id of ["a", "b", "a", "c"]) reasons.add(id, `why ${id}`);
  reasons.add("x".repeat(257), "too long");
  assert.deepEqual(["a", "b", "c", "x".repeat(257)].map((id) => reasons.get(id)), ["why a", null, "why c", null]);
  reasons.remove("a");
  assert.equal(reasons.get("a"), null);
});
