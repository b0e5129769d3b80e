import assert from "node:assert/strict";
import { createLogger } from "../../src/log.ts";
import { startServer } from "../../src/server/server.ts";
import { IDLE_DELAY_MS, REST_DELAY_MS, WarmUp } from "../../src/server/warm_up.ts";
import { ManualClock } from "../support/manual_clock.ts";

function prepare({ fails = false } = {}) {
  const clock = new ManualClock();
  const begun: string[] = [];
  let text = "";
  const line = new Map<string, () => void>();
  const warmUp = new WarmUp({
    clock,
    log: createLogger({
      level: "debug",
      format: "text",
      write: (written) => {
        text += written;
        for (const [word, resolve] of line) if (text.includes(word)) resolve();
      },
    }),
    early: () => void begun.push("early"),
    first: () => {
      begun.push("first");
      return fails ? Promise.reject(new Error("no such module")) : Promise.resolve();
    },
    rest: () => {
      begun.push("rest");
      return Promise.resolve();
    },
  });
  const logged = (word: string) =>
    new Promise<void>((resolve) => text.includes(word) ? resolve() : line.set(word, resolve));
  return { clock, warmUp, begun, logged };
}

Deno.test("WarmUp begins when the server has been idle for a while, and does the rest a moment later", async () => {
  const { clock, warmUp, begun, logged } = prepare();
  warmUp.beginWhenIdle();
  assert.deepEqual(begun, [], "the address is printed first");
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(IDLE_DELAY_MS - 1);
  assert.deepEqual(begun, ["early"]);
  clock.advance(1);
  await logged("ready for the first process");
  assert.deepEqual(begun, ["early", "first"]);
  clock.advance(REST_DELAY_MS - 1);
  assert.deepEqual(begun, ["early", "first"]);
  clock.advance(1);
  await logged("ready for every request");
  assert.deepEqual([begun, clock.pending], [["early", "first", "rest"], 0]);
});

Deno.test("WarmUp begins after the turn in which a client was greeted, once", async () => {
  const { clock, warmUp, begun, logged } = prepare();
  warmUp.beginWhenIdle();
  warmUp.begin();
  warmUp.begin();
  assert.deepEqual(begun, []);
  await logged("ready for the first process");
  clock.advance(IDLE_DELAY_MS + REST_DELAY_MS);
  await logged("ready for every request");
  assert.deepEqual(begun, ["early", "first", "rest"]);
});

Deno.test("WarmUp begins nothing more once it is closed, and says what could not be loaded", async () => {
  const closed = prepare();
  closed.warmUp.beginWhenIdle();
  closed.warmUp.close();
  closed.warmUp.begin();
  closed.clock.advance(IDLE_DELAY_MS);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([closed.begun, closed.clock.pending], [[], 0]);

  const broken = prepare({ fails: true });
  broken.warmUp.begin();
  await broken.logged("cannot load methods ahead of time");
  assert.deepEqual([broken.begun, broken.clock.pending], [["first"], 0]);
});

Deno.test("an idle server makes itself ready for the first request, and one that ends before does not", async () => {
  for (const isIdle of [true, false]) {
    const ready = { process: Promise.withResolvers<void>(), all: Promise.withResolvers<void>() };
    let text = "";
    const write = (line: string) => {
      text += line;
      if (line.includes("ready for the first process")) ready.process.resolve();
      if (line.includes("ready for every request")) ready.all.resolve();
    };
    const clock = new ManualClock();
    const server = await startServer({
      listen: { type: "tcp", hostname: "127.0.0.1", port: 0 },
      clock,
      log: createLogger({ level: "debug", format: "text", write }),
    });
    clock.advance(IDLE_DELAY_MS - 1);
    assert.equal(text.includes("ready"), false, "whoever waits for the server comes first");
    if (isIdle) {
      clock.advance(1);
      await ready.process.promise;
      clock.advance(REST_DELAY_MS);
      await ready.all.promise;
    }
    await server.shutDown();
    await server.finished;
    assert.equal(clock.pending, 0);
    assert.equal(text.includes("ready for every request"), isIdle);
    assert.equal(text.includes("WARN"), false, text);
  }
});
