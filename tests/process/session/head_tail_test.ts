import assert from "node:assert/strict";
import { HeadTail } from "../../../src/process/session/head_tail.ts";
import { type OutputChunk, OutputLog } from "../../../src/process/session/output_log.ts";
import { Transcript } from "../../../src/process/session/transcript.ts";
import { forSeeds, randomBytes } from "../../support/seeds.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function textOf(capacity: number, pieces: string[], maxBytes = capacity): [string, boolean] {
  const stream = new HeadTail(capacity);
  for (const piece of pieces) stream.append(encode(piece));
  const { bytes, truncated } = stream.text(maxBytes);
  return [decode(bytes), truncated];
}

const CASES: [capacity: number, pieces: string[], maxBytes: number, text: string, truncated: boolean][] = [
  [10, [], 10, "", false],
  [10, ["abc"], 10, "abc", false],
  [10, ["abcdefghij"], 10, "abcdefghij", false],
  [10, ["abcde", "fghij"], 10, "abcdefghij", false],
  [10, ["abcdefghijk"], 10, "abcdeghijk", true],
  [10, ["abcde", "fghijkl", "mn"], 10, "abcdejklmn", true],
  [10, ["abc", "defghijklmnopqrstuvwxyz"], 10, "abcdevwxyz", true],
  [7, ["abcdefghij"], 7, "abcdhij", true],
  [1, ["abc", "def"], 1, "a", true],
  [0, ["abc"], 0, "", true],
  [0, [], 0, "", false],
  [10, ["abcdefghij"], 4, "abij", true],
  [10, ["abcd"], 3, "abd", true],
  [10, ["abcdefghijklm"], 5, "abclm", true],
];
for (const [capacity, pieces, maxBytes, text, truncated] of CASES) {
  Deno.test(`HeadTail(${capacity}) of [${pieces}] within ${maxBytes} is "${text}"`, () => {
    assert.deepEqual(textOf(capacity, pieces, maxBytes), [text, truncated]);
  });
}

Deno.test("HeadTail keeps exactly the first and the last half, however the bytes arrive", async () => {
  await forSeeds(2000, (random) => {
    const capacity = random.int(200);
    const stream = new HeadTail(capacity);
    const all: number[] = [];
    for (let step = random.int(60); step > 0; step--) {
      const bytes = randomBytes(random, random.int(random.chance(0.1) ? 400 : 20));
      stream.append(bytes);
      all.push(...bytes);
    }
    const head = all.slice(0, Math.ceil(capacity / 2));
    const rest = all.slice(head.length);
    const tail = rest.slice(Math.max(0, rest.length - Math.floor(capacity / 2)));
    const { bytes, truncated } = stream.text(capacity);
    assert.deepEqual([...bytes], [...head, ...tail]);
    assert.equal(truncated, all.length > capacity);
    assert.equal(stream.keptBytes, bytes.length);
  });
});

function transcriptOf(cap: number, stdout: number, stderr: number): [number, number, boolean] {
  const text = new Transcript(cap).text([
    { seq: 1, stream: "stdout", bytes: new Uint8Array(stdout) },
    { seq: 2, stream: "stderr", bytes: new Uint8Array(stderr) },
  ]);
  assert.equal(text.terminal.length, 0);
  return [text.stdout.length, text.stderr.length, text.truncated];
}

const SHARES: [stdout: number, stderr: number, expected: [number, number, boolean]][] = [
  [0, 0, [0, 0, false]],
  [100, 0, [100, 0, false]],
  [0, 100, [0, 100, false]],
  [60, 40, [60, 40, false]],
  [500, 0, [100, 0, true]],
  [0, 500, [0, 100, true]],
  [500, 500, [50, 50, true]],
  [500, 20, [80, 20, true]],
  [20, 500, [20, 80, true]],
  [90, 90, [50, 50, true]],
];
for (const [stdout, stderr, expected] of SHARES) {
  Deno.test(`Transcript of ${stdout} and ${stderr} bytes within 100 shows ${expected[0]} and ${expected[1]}`, () => {
    assert.deepEqual(transcriptOf(100, stdout, stderr), expected);
  });
}

Deno.test("Transcript shows a terminal's one stream apart from the others", () => {
  const text = new Transcript(6).text([{ seq: 1, stream: "pty", bytes: encode("abcdefgh") }]);
  assert.deepEqual(text, {
    stdout: new Uint8Array(0),
    stderr: new Uint8Array(0),
    terminal: encode("abcfgh"),
    truncated: true,
  });
});

Deno.test("Transcript with a log shows the same as one that held every byte itself, whatever the log drops", async () => {
  await forSeeds(500, (random) => {
    const cap = 1 + random.int(200);
    const transcript = new Transcript(cap);
    const options = { maxBytes: cap, maxChunks: 1 + random.int(40) };
    const log = new OutputLog({ ...options, onDropped: (chunk) => transcript.dropped(chunk) });
    const everything: OutputChunk[] = [];
    const bias = random.int(10) / 10;
    for (let seq = 1; seq <= random.int(200); seq++) {
      const stream = random.chance(bias) ? "stdout" : "stderr";
      const chunk: OutputChunk = { seq, stream, bytes: randomBytes(random, random.int(1 + (cap >> 2))) };
      everything.push(chunk);
      transcript.retained(chunk);
      log.append(chunk);
    }
    const expected = new Transcript(cap).text(everything);
    assert.deepEqual(transcript.text(log), expected);
    log.pack();
    transcript.trim();
    assert.deepEqual(transcript.text(log), expected);
    assert.deepEqual(transcript.text(log), expected);
  });
});

Deno.test("Transcript holds nothing while the log has everything, and half the cap of one long stream", () => {
  const cap = 1024 * 1024;
  const transcript = new Transcript(cap);
  const log = new OutputLog({ maxBytes: cap, maxChunks: 1000, onDropped: (chunk) => transcript.dropped(chunk) });
  const print = (seq: number) => {
    const chunk: OutputChunk = { seq, stream: "stdout", bytes: new Uint8Array(64 * 1024) };
    transcript.retained(chunk);
    log.append(chunk);
  };
  for (let seq = 1; seq <= 16; seq++) print(seq);
  assert.equal(transcript.allocatedBytes, 0);
  for (let seq = 17; seq <= 100; seq++) print(seq);
  transcript.trim();
  assert.equal(transcript.allocatedBytes, cap / 2);
});
