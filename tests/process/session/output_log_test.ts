import assert from "node:assert/strict";
import { DroppedSizes } from "../../../src/process/session/dropped_sizes.ts";
import { type OutputChunk, OutputLog, withoutPinning } from "../../../src/process/session/output_log.ts";
import { forSeeds } from "../../support/seeds.ts";

const UNLIMITED = { maxBytes: Infinity, maxChunks: Infinity };

function chunk(seq: number, length: number): OutputChunk {
  return { seq, stream: "stdout", bytes: new Uint8Array(length).fill(seq) };
}

function logOf(lengths: readonly number[], limits = UNLIMITED): OutputLog {
  const log = new OutputLog(limits);
  lengths.forEach((length, index) => log.append(chunk(index + 1, length)));
  return log;
}

const seqs = (chunks: Iterable<OutputChunk>): number[] => Array.from(chunks, ({ seq }) => seq);

Deno.test("OutputLog.read() returns the chunks after the cursor, whole and in order", () => {
  const log = logOf([1, 2, 3]);
  assert.deepEqual(log.read(0, null), [chunk(1, 1), chunk(2, 2), chunk(3, 3)]);
  assert.deepEqual(log.read(1, null), [chunk(2, 2), chunk(3, 3)]);
  assert.deepEqual(log.read(3, null), []);
  assert.deepEqual(log.read(99, null), []);
});

Deno.test("OutputLog.read() does not consume", () => {
  const log = logOf([1, 2]);
  assert.deepEqual(log.read(0, null), log.read(0, null));
});

Deno.test("OutputLog.read() finds its place when numbers are missing between chunks", () => {
  const log = new OutputLog(UNLIMITED);
  for (const seq of [2, 5, 9]) log.append(chunk(seq, 1));
  for (
    const [after, expected] of [[0, [2, 5, 9]], [2, [5, 9]], [3, [5, 9]], [4, [5, 9]], [5, [9]], [8, [9]], [
      9,
      [],
    ]] as const
  ) {
    assert.deepEqual(seqs(log.read(after, null)), expected, `after ${after}`);
  }
});

const BUDGETS: [maxBytes: number, expected: number[]][] = [
  [0, [1]],
  [1, [1]],
  [9, [1]],
  [10, [1]],
  [11, [1]],
  [14, [1]],
  [15, [1, 2]],
  [16, [1, 2]],
  [22, [1, 2, 3]],
  [1000, [1, 2, 3]],
];
for (const [maxBytes, expected] of BUDGETS) {
  Deno.test(`OutputLog.read() of chunks of 10, 5 and 7 bytes within ${maxBytes} returns ${expected.length}`, () => {
    assert.deepEqual(seqs(logOf([10, 5, 7]).read(0, maxBytes)), expected);
  });
}

Deno.test("OutputLog drops the oldest whole chunks beyond its bytes", () => {
  const log = logOf([4, 4, 4], { maxBytes: 10, maxChunks: 100 });
  assert.deepEqual(seqs(log), [2, 3]);
  assert.equal(log.retainedBytes, 8);
  assert.deepEqual(seqs(log.read(0, null)), [2, 3]);
});

Deno.test("OutputLog drops the oldest chunks beyond their number", () => {
  const log = logOf([1, 1, 1, 1], { maxBytes: 100, maxChunks: 3 });
  assert.deepEqual(seqs(log), [2, 3, 4]);
});

Deno.test("OutputLog retains nothing of a chunk larger than all it may hold", () => {
  const log = logOf([3, 20], { maxBytes: 10, maxChunks: 3 });
  assert.deepEqual([log.retainedBytes, log.retainedChunks, log.hasAfter(0)], [0, 0, false]);
});

Deno.test("OutputLog behaves like a plain list with the oldest removed, whatever is appended and read", async () => {
  await forSeeds(500, (random) => {
    const limits = { maxBytes: 1 + random.int(300), maxChunks: 1 + random.int(120) };
    const log = new OutputLog(limits);
    let model: OutputChunk[] = [];
    let seq = 0;
    for (let step = 0; step < 300; step++) {
      seq += random.chance(0.1) ? 2 : 1;
      const next = chunk(seq, random.int(12));
      log.append(next);
      model.push(next);
      const bytes = () => model.reduce((sum, item) => sum + item.bytes.length, 0);
      while (bytes() > limits.maxBytes || model.length > limits.maxChunks) model = model.slice(1);
      assert.equal(log.retainedBytes, bytes());

      const after = random.int(seq + 2);
      const expected = model.filter((item) => item.seq > after);
      assert.deepEqual(seqs(log.read(after, null)), seqs(expected));
      assert.equal(log.hasAfter(after), expected.length > 0);
      const maxBytes = random.int(40);
      const budgeted = log.read(after, maxBytes);
      assert.deepEqual(seqs(budgeted), seqs(expected.slice(0, budgeted.length)));
      assert.equal(budgeted.length > 0, expected.length > 0);
    }
  });
});

Deno.test("OutputLog keeps count over thousands of dropped chunks", () => {
  const log = new OutputLog({ maxBytes: 1024 * 1024, maxChunks: 1000 });
  for (let seq = 0; seq < 50_000; seq++) log.append(chunk(seq, 1024));
  assert.deepEqual([log.retainedBytes, log.retainedChunks], [1000 * 1024, 1000]);
  assert.equal(log.read(0, null)[0]!.seq, 49_000);
});

Deno.test("OutputLog reads the same after it was packed, and costs little more than its bytes", async () => {
  await forSeeds(200, (random) => {
    const log = new OutputLog({ maxBytes: 1 + random.int(3000), maxChunks: 1 + random.int(200) });
    let seq = 0;
    for (let step = 0; step < 150; step++) {
      seq += random.chance(0.1) ? 2 : 1;
      log.append({ ...chunk(seq, random.int(30)), stream: random.chance(0.5) ? "stdout" : "stderr" });
    }
    const queries = Array.from({ length: 20 }, () => [random.int(seq + 2), random.int(60)] as const);
    const look = () => [
      [...log],
      queries.map(([after, max]) => [log.read(after, null), log.read(after, max), log.hasAfter(after)]),
      [log.retainedBytes, log.retainedChunks, log.firstSeq],
    ];
    const before = look();
    log.pack();
    assert.deepEqual(look(), before);
  });
  const log = logOf(Array(50_000).fill(2));
  const loose = log.allocatedBytes;
  log.pack();
  assert(log.allocatedBytes * 10 < loose, `${log.allocatedBytes} of ${loose}`);
});

Deno.test("OutputLog tells how many bytes after a cursor were dropped, and where its output begins", async () => {
  const log = new OutputLog({ maxBytes: 10, maxChunks: 100 });
  assert.deepEqual([log.firstSeq, log.droppedBytesAfter(0)], [null, 0]);
  for (const seq of [1, 2, 4, 5, 6]) log.append(chunk(seq, 4));
  assert.deepEqual([log.firstSeq, [0, 1, 2, 3, 4, 5, 6].map((seq) => log.droppedBytesAfter(seq))], [
    5,
    [12, 8, 4, 4, 0, 0, 0],
  ]);
  await forSeeds(200, (random) => {
    const sizes = new DroppedSizes(1 + random.int(100));
    const model: number[] = [];
    let seq = 0;
    for (let step = random.int(300); step > 0; step--) {
      seq += random.chance(0.1) ? 3 : 1;
      const bytes = random.int(1000);
      sizes.add(seq, bytes);
      model[seq] = bytes;
    }
    const exactFrom = Math.max(0, seq - sizes.allocatedBytes / 4);
    for (let after = 0; after <= seq + 1; after++) {
      const exact = model.slice(after + 1).reduce((sum, bytes) => sum + (bytes ?? 0), 0);
      if (after === 0 || after >= exactFrom) assert.equal(sizes.after(after), exact);
      else assert(sizes.after(after) <= exact || after < model.findIndex((bytes) => bytes !== undefined));
    }
  });
});

Deno.test("withoutPinning() copies a small view of a large buffer and keeps a fitting one", () => {
  const large = new Uint8Array(64 * 1024).fill(7);
  const small = withoutPinning(large.subarray(10, 20));
  assert.equal(small.buffer.byteLength, 10);
  assert.deepEqual(small, new Uint8Array(10).fill(7));
  assert.equal(withoutPinning(large), large);
  const nearlyAll = large.subarray(0, 60_000);
  assert.equal(withoutPinning(nearlyAll), nearlyAll);
});
