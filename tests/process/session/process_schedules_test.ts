/**
 * Random schedules of everything that can happen to a session's processes, against what is promised of all of them:
 * dense numbers, close last, no byte lost, doubled or reordered, cursors that skip nothing, waits that end.
 */

import assert from "node:assert/strict";
import type { OutputStream } from "../../../src/process/backend.ts";
import type { ProcessEvent, ProcessEventSink } from "../../../src/process/session/events.ts";
import { CLOSED_RETENTION_MS, DRAIN_AFTER_KILL_MS } from "../../../src/process/limits.ts";
import type { StartedProcess } from "../../../src/process/session/manager.ts";
import type { OutputChunk } from "../../../src/process/session/output_log.ts";
import { type FakeChild, settled } from "../../support/fake_backend.ts";
import { ProcessSession, RecordingSink, startOptions } from "../../support/process_session.ts";
import type { Random } from "../../support/random.ts";
import { forSeeds, randomBytes } from "../../support/seeds.ts";

/** A sink that fills up after some output, like a connection to a slow client. */
class SlowSink implements ProcessEventSink {
  readonly events: ProcessEvent[] = [];
  room = 0;
  /** Output taken after the room was gone, by process. */
  readonly excess = new Map<string, number>();
  /** Of each process, the first number that belongs to this sink, and the first that no longer does. */
  readonly from = new Map<string, number>();
  readonly until = new Map<string, number>();

  get hasRoom(): boolean {
    return this.room > 0;
  }

  event(event: ProcessEvent): void {
    this.events.push(event);
    if (event.type !== "output") return;
    if (!this.hasRoom) this.excess.set(event.processId, (this.excess.get(event.processId) ?? 0) + 1);
    this.room--;
  }

  makeRoom(amount: number): void {
    this.room = amount;
    this.excess.clear();
  }
}

/** Everything the test knows about one process. */
class Subject {
  readonly processId: string;
  readonly started: StartedProcess;
  readonly child: FakeChild;
  readonly printed: Record<string, number[]> = { stdout: [], stderr: [] };
  isTerminated = false;
  /** A reader that follows with a cursor. */
  cursor = 0;
  readonly followed: OutputChunk[] = [];
  waits = 0;
  endedWaits = 0;

  constructor(started: StartedProcess, child: FakeChild) {
    this.processId = started.processId;
    this.started = started;
    this.child = child;
  }

  print(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.child.isOutputClosed) return;
    this.printed[stream]!.push(...bytes);
    this.child.print(bytes, stream);
  }
}

interface Run {
  readonly random: Random;
  readonly session: ProcessSession;
  readonly subjects: Subject[];
  readonly sinks: SlowSink[];
  sink: SlowSink | null;
}

const ACTIONS: ((run: Run, subject: Subject) => void | Promise<void>)[] = [
  ({ random }, subject) => {
    for (let count = random.int(4); count >= 0; count--) {
      subject.print(random.pick(["stdout", "stderr"] as const), randomBytes(random, 1 + random.int(40)));
    }
  },
  ({ random }, subject) => subject.print("stdout", randomBytes(random, 200 + random.int(400))),
  ({ random }, subject) => {
    subject.child.isOutputHeldOpen = random.chance(0.5);
    if (random.chance(0.3)) subject.child.exit(random.int(3));
  },
  ({ random }, subject) => {
    if (random.chance(0.3)) subject.child.closeOutput();
  },
  ({ random, session }, subject) => {
    if (random.chance(0.8)) return;
    subject.isTerminated = session.manager.get(subject.processId).terminate({ type: "force" }) || subject.isTerminated;
  },
  (_run, subject) => subject.started.begin(),
  ({ random, session, sink }) => {
    sink?.makeRoom(1 + random.int(20));
    session.manager.resumeOutput();
  },
  (run) => {
    if (run.random.chance(0.7)) return;
    detach(run);
  },
  (run) => {
    if (run.sink === null) attach(run);
  },
  async ({ random, session }, subject) => {
    await follow(session, subject, random.chance(0.5) ? null : random.int(100));
  },
  ({ random, session }, subject) => {
    subject.waits++;
    const wait = random.chance(0.5)
      ? session.manager.get(subject.processId).wait({
        until: random.pick(["exited", "closed"] as const),
        timeoutMs: null,
      })
      : session.read(subject.processId, { afterSeq: random.int(20), waitMs: 1e9 });
    wait.then(() => subject.endedWaits++);
  },
  ({ random, session }) => {
    session.clock.advance(random.int(DRAIN_AFTER_KILL_MS));
  },
  () => settled(),
];

function attach(run: Run): void {
  run.sink = new SlowSink();
  run.sink.makeRoom(run.random.int(10));
  run.sinks.push(run.sink);
  run.session.manager.attach(run.sink);
  for (const { processId, nextSeq } of run.session.manager.list()) run.sink.from.set(processId, nextSeq);
}

function detach(run: Run): void {
  if (run.sink === null) return;
  for (const { processId, nextSeq } of run.session.manager.list()) run.sink.until.set(processId, nextSeq);
  run.session.manager.detach();
  run.sink = null;
}

/** Reads on from the cursor; what comes must not skip anything that is retained. */
async function follow(session: ProcessSession, subject: Subject, maxBytes: number | null): Promise<void> {
  const all = await session.read(subject.processId);
  const { chunks, nextSeq } = await session.read(subject.processId, { afterSeq: subject.cursor, maxBytes });
  const retained = all.chunks.filter(({ seq }) => seq > subject.cursor);
  assert.deepEqual(chunks, retained.slice(0, chunks.length), "a read returns what is retained, in order");
  assert.equal(chunks.length > 0, retained.length > 0, "a read with a budget gets on");
  if (maxBytes === null) assert.equal(chunks.length, retained.length);
  subject.followed.push(...chunks);
  subject.cursor = nextSeq - 1;
}

async function runSchedule(random: Random, retainedOutputBytes: number): Promise<Run> {
  const session = new ProcessSession({ retainedOutputBytes });
  const run: Run = { random, session, subjects: [], sinks: [], sink: null };
  attach(run);
  for (let index = 0; index <= random.int(3); index++) {
    const started = await session.manager.start(startOptions({ processId: `p${index}` }));
    run.subjects.push(new Subject(started, session.backend.last));
  }
  for (let step = 20 + random.int(80); step > 0; step--) {
    await random.pick(ACTIONS)(run, random.pick(run.subjects));
    // One process may deliver a batch that was under way when the room ended: here, a print cut into pieces.
    for (const sink of run.sinks) {
      for (const excess of sink.excess.values()) assert(excess <= MAX_EXCESS, `${excess} chunks without room`);
    }
  }
  await finish(run);
  return run;
}

/** A print is at most 600 bytes, and a chunk at least 64. */
const MAX_EXCESS = 10;

/** Brings everything to its end, as a patient client would. */
async function finish(run: Run): Promise<void> {
  const { session, subjects } = run;
  for (const { child, started } of subjects) {
    started.begin();
    child.exit(0);
    child.closeOutput();
  }
  await settled();
  session.clock.advance(DRAIN_AFTER_KILL_MS);
  await settled();
  detach(run);
  await settled();
}

const seqOf = (event: ProcessEvent): number | null =>
  event.type === "output" ? event.chunk.seq : "seq" in event ? event.seq : null;

async function checkPromises({ session, subjects, sinks }: Run, options: { retainsAll: boolean }): Promise<void> {
  for (const subject of subjects) {
    const { processId } = subject;
    const { chunks, nextSeq, closed, exit } = await session.read(processId);
    assert.equal(closed, true, "every process closes");
    assert.equal(subject.endedWaits, subject.waits, "every wait ends");
    assert.equal(subject.child.isDisposed, true, "nothing of the child is left");

    const told = sinks.flatMap(({ events }) => events.filter((event) => event.processId === processId));
    const seqs = told.map(seqOf).filter((seq) => seq !== null);
    assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b), "told once each, in order");
    const closeSeq = nextSeq - 1;
    const tellsOf = (type: string) => told.filter((event) => event.type === type);
    for (const type of ["started", "exited", "closed"]) assert(tellsOf(type).length <= 1, `${type} at most once`);
    for (const event of tellsOf("closed")) assert.equal(seqOf(event), closeSeq, "close has the last number");
    if (tellsOf("started").length === 1) assert.equal(told[0]!.type, "started", "start comes first");
    for (const event of tellsOf("exited")) assert.deepEqual((event as { exit: unknown }).exit, exit);
    for (const sink of sinks) {
      const own = sink.events.filter((event) => event.processId === processId);
      const from = sink.from.get(processId) ?? 1;
      // A sink that was gone before the answer to the start was told nothing.
      const until = own.length === 0 && from === 1 ? 1 : sink.until.get(processId)!;
      const expected = Array.from({ length: until - from }, (_, index) => from + index);
      assert.deepEqual(own.map(seqOf).filter((seq) => seq !== null), expected, "a sink is told all of its time");
    }

    // Everything seen of a chunk, told or read, is the same chunk.
    const seen = new Map<number, OutputChunk>();
    const toldChunks = told.flatMap((event) => event.type === "output" ? [event.chunk] : []);
    for (const chunk of [...toldChunks, ...subject.followed, ...chunks]) {
      const known = seen.get(chunk.seq);
      // Compared by content: what is read of a closed process has been packed.
      if (known !== undefined) assert.deepEqual(chunk, known);
      seen.set(chunk.seq, chunk);
    }
    if (options.retainsAll) {
      // Numbers not used by output are exit and close.
      assert.equal(chunks.length, nextSeq - 1 - 2, "output, exit and close leave no number unused");
      await follow(session, subject, null);
      const seqsOf = (list: readonly OutputChunk[]) => list.map(({ seq }) => seq);
      assert.deepEqual(seqsOf(subject.followed), seqsOf(chunks), "a follower gets everything");
    }
    // Where every chunk was seen, told or read, the bytes are those that were printed.
    if (seen.size === nextSeq - 1 - 2) checkBytes(subject, [...seen.values()].sort((a, b) => a.seq - b.seq));
  }
  // Some schedules end without a client; then nothing is forgotten before one has come.
  session.manager.attach(new RecordingSink());
  session.clock.advance(CLOSED_RETENTION_MS);
  assert.deepEqual([session.manager.size, session.clock.pending], [0, 0], "all is forgotten");
}

function checkBytes(subject: Subject, chunks: readonly OutputChunk[]): void {
  for (const stream of ["stdout", "stderr"]) {
    const got = chunks.filter((chunk) => chunk.stream === stream).flatMap(({ bytes }) => [...bytes]);
    const printed = subject.printed[stream]!;
    // Only what was in the pipes of a killed process may be missing, from its end.
    if (subject.isTerminated) assert.deepEqual(got, printed.slice(0, got.length));
    else assert.deepEqual(got, printed, "every byte, once, in order");
  }
}

Deno.test("2000 random schedules keep every promise when all output is retained", async () => {
  await forSeeds(2000, async (random) => {
    const run = await runSchedule(random, 1024 * 1024);
    await checkPromises(run, { retainsAll: true });
  });
});

Deno.test("1000 random schedules keep every promise when the oldest output is dropped", async () => {
  await forSeeds(1000, async (random) => {
    const cap = 64 + random.int(1000);
    const run = await runSchedule(random, cap);
    for (const { processId } of run.subjects) {
      const { chunks } = await run.session.read(processId);
      assert(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0) <= cap, "the cap holds");
    }
    await checkPromises(run, { retainsAll: false });
  });
});
