/** Events in order, each once, gaps repaired or told: with a session that answers what the test says. */

import assert from "node:assert/strict";
import { encodeBase64 } from "../../../src/client/base64.ts";
import { OutputGapError, ServerError } from "../../../src/client/errors.ts";
import type { OutputGap } from "../../../src/client/process/feed_sink.ts";
import { ProcessFeed } from "../../../src/client/process/process_feed.ts";
import type { Session, SessionListener } from "../../../src/client/session/session.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const chunk = (seq: number, text: string) => ({ seq, stream: "stdout" as const, chunk: encodeBase64(bytes(text)) });

function setUp(answers: unknown[] = []) {
  const told: unknown[] = [];
  const reads: unknown[] = [];
  let listener: SessionListener = {};
  const answered = Promise.withResolvers<void>();
  const session = {
    attach: () => {},
    detach: () => {},
    listen: (given: SessionListener) => {
      listener = given;
      return () => {};
    },
    call: (_method: string, { afterSeq }: { afterSeq: number }) => {
      reads.push(afterSeq);
      const answer = answers.shift();
      if (answers.length === 0) queueMicrotask(() => answered.resolve());
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  } as unknown as Session;
  const feed = new ProcessFeed({
    session,
    reference: { processId: "p" },
    isOwn: true,
    afterSeq: 0,
    sink: {
      output: (seq, _stream, content) => told.push([seq, new TextDecoder().decode(content)]),
      exited: ({ exitCode }) => told.push(["exited", exitCode]),
      closed: () => told.push("closed"),
      gap: (gap: OutputGap) => told.push(["gap", gap]),
      failed: (error) => told.push(error),
      room: () => Promise.resolve(),
    },
  });
  const output = (seq: number, text: string) => feed.output({ type: "output", processId: "p", ...chunk(seq, text) });
  return { feed, told, reads, output, resume: () => listener.resumed!(), settled: () => answered.promise.then(turn) };
}

/** Lets promises that are ready settle. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

const IDLE = { chunks: [], exited: false, exitCode: null, closed: false, failure: null, sandboxDenied: false };

Deno.test("events are sorted, and repeats are dropped", () => {
  const { feed, told, output } = setUp();
  output(1, "a");
  output(3, "c");
  output(1, "a");
  output(2, "b");
  feed.notification("process/closed", { seq: 5 });
  output(3, "c");
  feed.notification("process/exited", { seq: 4, exitCode: 7 });
  output(6, "after the end");
  assert.deepEqual(told, [[1, "a"], [2, "b"], [3, "c"], ["exited", 7], "closed"]);
});

Deno.test("events that were missed by a lost connection are read, and later ones follow", async () => {
  const { told, reads, output, resume, settled } = setUp([
    { ...IDLE, chunks: [chunk(2, "b"), chunk(3, "c")], nextSeq: 4 },
    { ...IDLE, nextSeq: 4 },
  ]);
  output(1, "a");
  resume();
  output(4, "d");
  await settled();
  assert.deepEqual(told, [[1, "a"], [2, "b"], [3, "c"], [4, "d"]]);
  assert.deepEqual(reads, [1, 4]);
});

Deno.test("an exit and a close that were missed are reported once", async () => {
  const { feed, told, resume, settled } = setUp([
    { ...IDLE, chunks: [chunk(2, "b")], nextSeq: 3, exited: true, exitCode: 0, closed: true, droppedBytes: 0 },
    { ...IDLE, nextSeq: 4, exited: true, exitCode: 0, closed: true, droppedBytes: 0 },
  ]);
  resume();
  await settled();
  feed.notification("process/closed", { seq: 3 });
  // The exit had the number 1: nothing is missing before 2.
  assert.deepEqual(told, [[2, "b"], ["exited", 0], "closed"]);
});

Deno.test("lost output is reported as a gap, with and without the server's count", async () => {
  for (const droppedBytes of [500, undefined]) {
    const given = droppedBytes === undefined ? {} : { droppedBytes };
    const { told, output, resume, settled } = setUp([
      { ...IDLE, chunks: [chunk(7, "x")], nextSeq: 8, ...given },
      { ...IDLE, nextSeq: 8, ...given },
    ]);
    output(1, "a");
    resume();
    await settled();
    assert.deepEqual(told, [[1, "a"], ["gap", { afterSeq: 1, droppedBytes: droppedBytes ?? null }], [7, "x"]]);
  }
});

Deno.test("a process that the server does not know any more fails its followers", async () => {
  const { told, resume, settled } = setUp([new ServerError("process/read", -32600, "unknown process id p")]);
  resume();
  await settled();
  assert.ok(told[0] instanceof OutputGapError && /does not know it any more/.test(told[0].message));
});

Deno.test("an event whose number does not come is read", async () => {
  const { told, output, settled } = setUp([
    { ...IDLE, chunks: [chunk(1, "a"), chunk(2, "b")], nextSeq: 3 },
    { ...IDLE, nextSeq: 3 },
  ]);
  output(2, "b");
  await settled();
  assert.deepEqual(told, [[1, "a"], [2, "b"]]);
});
