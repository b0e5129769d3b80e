/** Processes whose output is held until their client has acknowledged it, on fake children. */

import assert from "node:assert/strict";
import { PROMPT_ACK_MS } from "../../../src/process/limits.ts";
import { ClosedLedger } from "../../../src/process/session/closed_ledger.ts";
import { OutputReserve } from "../../../src/process/session/output_reserve.ts";
import { type FakeChild, settled } from "../../support/fake_backend.ts";
import { ProcessSession, RecordingSink, refuses, startOptions } from "../../support/process_session.ts";

/** What a chunk costs besides its bytes. */
const CHUNK_COST = 200;
/** A window that holds four chunks of 200 bytes. */
const WINDOW = 4 * (200 + CHUNK_COST);

function session(options: { reserve?: OutputReserve; detachedOutputBytes?: number; closedLedger?: ClosedLedger } = {}) {
  const { reserve = new OutputReserve(100 * WINDOW), detachedOutputBytes = 3 * WINDOW, ...rest } = options;
  return new ProcessSession({ retainedOutputBytes: WINDOW, outputReserve: reserve, detachedOutputBytes, ...rest });
}

function start(of: ProcessSession, processId = "p"): Promise<FakeChild> {
  return of.start({ processId, output: "acknowledged" });
}

const block = (letter: string) => letter.repeat(200);

async function text(of: ProcessSession, afterSeq = 0): Promise<string> {
  const { chunks } = await of.read("p", { afterSeq });
  return chunks.map(({ bytes }) => new TextDecoder().decode(bytes)[0]).join("");
}

function printAll(child: FakeChild, letters: string): void {
  for (const letter of letters) child.print(block(letter));
}

Deno.test("a child waits when its window is full, and writes on when output was acknowledged", async () => {
  const own = session();
  const child = await start(own);
  printAll(child, "abcdef");
  assert.equal(child.isPaused, true);
  assert.equal(own.sink.events.length, 1 + 4, "the window's output was told");
  // Of a client who keeps pace the window would grow.
  own.clock.advance(PROMPT_ACK_MS + 1);
  own.manager.get("p").acknowledge(1);
  await settled();
  assert.equal(own.sink.events.length, 1 + 5);
  assert.equal(child.isPaused, true, "the next one fills it again");
  own.manager.get("p").acknowledge(5);
  await settled();
  assert.deepEqual([own.sink.events.length, child.isPaused], [1 + 6, false]);
  assert.equal(await text(own), "abcdef", "what was acknowledged is retained as far as the caps go");
});

Deno.test("the window grows for a client that keeps pace, and a child that goes on can use more of it", async () => {
  const own = session();
  const child = await start(own);
  printAll(child, "abcdefghij");
  assert.deepEqual([own.sink.events.length, child.isPaused], [1 + 4, true]);
  own.manager.get("p").acknowledge(4);
  await settled();
  assert.deepEqual([own.sink.events.length, child.isPaused], [1 + 10, false], "six more, where four were the window");
});

Deno.test("nothing is dropped before it was acknowledged, then the oldest go", async () => {
  const own = session();
  const child = await start(own);
  own.manager.detach();
  printAll(child, "abcdefghij");
  assert.equal(await text(own), "abcdefgh", "as much as an answer takes");
  assert.equal(await text(own, 8), "ij");
  own.manager.get("p").acknowledge(6);
  assert.equal(await text(own), "cdefghij", "caps are for what was acknowledged");
});

Deno.test("one full window holds up no other process of the session", async () => {
  const own = session();
  const slow = await start(own);
  const quick = await start(own, "q");
  const latest = await own.start({ processId: "r" });
  printAll(slow, "abcdef");
  for (let round = 0; round < 20; round++) {
    quick.print(block("x"));
    own.manager.get("q").acknowledge(round + 1);
    latest.print(block("y"));
  }
  assert.deepEqual([slow.isPaused, quick.isPaused, latest.isPaused], [true, false, false]);
  assert.equal(own.sink.lines.filter((line) => line.startsWith("q ")).length, 1 + 20);
});

Deno.test("the window grows while the client is away, then the child waits for its return", async () => {
  const own = session();
  const child = await start(own);
  printAll(child, "abcdef");
  assert.equal(child.isPaused, true);
  own.manager.detach();
  await settled();
  assert.equal(child.isPaused, false, "the larger window has room");
  printAll(child, "ghijklmnop");
  assert.equal(child.isPaused, true);
  const [listed] = own.manager.list();
  assert.deepEqual(
    [listed!.outputMode, listed!.unacknowledgedBytes, listed!.waitsForAck],
    ["acknowledged", 3 * WINDOW, true],
  );

  const next = new RecordingSink();
  own.manager.attach(next);
  await settled();
  assert.equal(child.isPaused, true, "with a client the window is the small one again");
  const all: string[] = [];
  for (let cursor = 0; cursor < 12;) {
    const { chunks } = await own.read("p", { afterSeq: cursor, maxBytes: 500 });
    all.push(...chunks.map(({ bytes }) => new TextDecoder().decode(bytes)[0]!));
    cursor = chunks.at(-1)!.seq;
    own.manager.get("p").acknowledge(cursor);
  }
  await settled();
  assert.equal(all.join(""), "abcdefghijkl");
  assert.deepEqual(next.lines.map((line) => line.split(" ")[1]), ["13", "14", "15", "16"], "the rest is told live");
});

Deno.test("an idle deadline stands still while the child waits for an acknowledgement, and begins anew after it", async () => {
  const own = session();
  const child = await own.start({ output: "acknowledged", idleTimeoutMs: 1000 });
  printAll(child, "abcd");
  own.clock.advance(5000);
  assert.deepEqual(child.signals, []);
  own.manager.get("p").acknowledge(4);
  own.clock.advance(900);
  assert.deepEqual(child.signals, [], "it has had less than a second for itself");
  own.clock.advance(1100);
  assert.deepEqual(child.signals, [15]);
});

Deno.test("the window is taken before the child is started, and returned if the start fails", async () => {
  const reserve = new OutputReserve(2 * WINDOW);
  const own = session({ reserve });
  own.backend.nextFailure = new Error("no such program");
  await assert.rejects(own.manager.start(startOptions({ output: "acknowledged" })));
  assert.equal(reserve.takenBytes, 0);
  await start(own, "1");
  await start(own, "2");
  await refuses(
    () => own.manager.start(startOptions({ processId: "3", output: "acknowledged" })),
    `Cannot start process 3 with acknowledged output: it needs ${WINDOW} bytes, and ${2 * WINDOW} of the ` +
      `${2 * WINDOW} this server has for that are taken; acknowledge output, or start it with \`latest\` output`,
  );
  assert.equal(own.backend.children.length, 2, "nothing was started");
  assert.equal(own.manager.find("3"), null, "the id is free");
  await own.start({ processId: "3" });
});

Deno.test("an acknowledgement of what was never sent is refused, an old one changes nothing", async () => {
  const own = session();
  const child = await start(own);
  child.print("x");
  assert.throws(
    () => own.manager.get("p").acknowledge(2),
    /^DomainError: seq 2 was never sent: the last event of process p has number 1$/,
  );
  own.manager.get("p").acknowledge(1);
  own.manager.get("p").acknowledge(0);
  own.manager.get("p").acknowledge(1);
  assert.equal(own.manager.list()[0]!.unacknowledgedBytes, 0);
  const latest = await own.start({ processId: "q" });
  latest.print("x");
  own.manager.get("q").acknowledge(1);
});

Deno.test("a closed process is kept until its last event was acknowledged, even if others close", async () => {
  const reserve = new OutputReserve(10 * WINDOW);
  const closedLedger = new ClosedLedger({ maxProcesses: 1 });
  const own = session({ reserve, closedLedger });
  const child = await start(own);
  printAll(child, "abcd");
  child.exit(3);
  own.manager.get("p").acknowledge(4);
  await settled();
  assert.equal(own.manager.get("p").isClosed, true, "end of file comes with the acknowledgement");
  own.clock.advance(1_000_000);
  for (const processId of ["1", "2"]) (await own.start({ processId })).exit();
  assert.equal(own.manager.find("1"), null, "the ledger has room for one");
  assert.equal((await own.read("p", { afterSeq: 4 })).exit?.exitCode, 3);
  assert(reserve.takenBytes > 0, "it counts as long as it is held");

  own.manager.get("p").acknowledge(6);
  assert.deepEqual([reserve.takenBytes, own.manager.find("2"), closedLedger.size], [0, null, 1]);
  assert.notEqual(own.manager.find("p"), null, "from now on its time counts");
  own.clock.advance(30_000);
  assert.equal(own.manager.find("p"), null);
});

Deno.test("a killed process that waited for an acknowledgement still delivers what was in its pipes", async () => {
  const own = session();
  const child = await start(own);
  printAll(child, "abcdef");
  assert.equal(child.isPaused, true);
  own.manager.get("p").terminate({ type: "force" });
  await settled();
  own.clock.advance(100);
  await settled();
  assert.equal(await text(own) + await text(own, 4), "abcdef" + "ef");
  assert.deepEqual(own.sink.lines.slice(-2), ["p 7 exited 137", "p 8 closed"]);
});

Deno.test("the end of a session gives its windows back, and a kept process goes on as `latest`", async () => {
  const reserve = new OutputReserve(10 * WINDOW);
  const own = session({ reserve });
  await start(own, "gone");
  const kept = await own.start({ processId: "p", output: "acknowledged", keepOnSessionEnd: true });
  printAll(kept, "abcdef");
  assert.equal(kept.isPaused, true);
  await own.manager.endAll("sessionEnded", 0);
  await settled();
  assert.deepEqual([reserve.takenBytes, kept.isPaused], [0, false]);
  assert.equal(own.manager.list()[0]!.outputMode, "latest");
  printAll(kept, "ghijklmnopqrst");
  assert.equal(kept.isPaused, false);
  assert.equal(await text(own), "mnopqrst");
});
