/**
 * What the strict JSON rules cost: `decodeMessage` against plain `JSON.parse` on the messages of the hot path.
 * Budget: 1.5 times. Rounds alternate and the median ratio counts, so that a busy machine hurts both alike.
 */

import { LONG_CONTENT } from "../src/protocol/base64.ts";
import { MESSAGE_LIMITS } from "../src/protocol/limits.ts";
import { decodeMessage } from "../src/rpc/envelope.ts";

const DECODING = { limits: MESSAGE_LIMITS, content: LONG_CONTENT };

const write = (bytes: number) => {
  const chunk = btoa("a".repeat(bytes));
  const params = { processId: "20422-c3fe46ec-8240-4a83-ba70-5b41994ac42f", chunk, writeId: "123" };
  return JSON.stringify({ id: 12, method: "process/write", params });
};

const MESSAGES: [name: string, text: string, iterations: number][] = [
  ["process/write, 64 KiB chunk", write(65536), 3000],
  ["process/write, 1 KiB message", write(660), 60_000],
  [
    "process/start, 1 KiB message",
    JSON.stringify({
      id: 18,
      method: "process/start",
      params: {
        processId: "20422-c3fe46ec-8240-4a83-ba70-5b41994ac42f",
        argv: ["/bin/bash", "-lc", "x".repeat(500)],
        cwd: "file:///tmp/ws",
        env: { TERM: "dumb", NO_COLOR: "1", PAGER: "cat", GIT_PAGER: "cat", LC_ALL: "C.UTF-8", CODEX_CI: "1" },
        tty: false,
        pipeStdin: false,
        arg0: null,
        sandbox: null,
      },
    }),
    60_000,
  ],
];

const ROUNDS = 31;
const BUDGET = 1.5;

function time(run: () => unknown, iterations: number): number {
  const start = performance.now();
  for (let i = 0; i < iterations; i++) run();
  return (performance.now() - start) / iterations * 1000;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

for (const [name, text, iterations] of MESSAGES) {
  const plain: number[] = [];
  const strict: number[] = [];
  const ratios: number[] = [];
  for (let round = -3; round < ROUNDS; round++) {
    const [first, second] = round % 2 === 0
      ? [time(() => JSON.parse(text), iterations), time(() => decodeMessage(text, DECODING), iterations)]
      : [time(() => decodeMessage(text, DECODING), iterations), time(() => JSON.parse(text), iterations)].reverse() as [
        number,
        number,
      ];
    if (round < 0) continue; // Warm-up.
    plain.push(first);
    strict.push(second);
    ratios.push(second / first);
  }
  const ratio = median(ratios);
  const verdict = ratio <= BUDGET ? "within" : "OVER";
  console.log(
    `${name.padEnd(30)} JSON.parse ${median(plain).toFixed(2)} us, strict ${median(strict).toFixed(2)} us, ` +
      `ratio ${ratio.toFixed(2)} (${verdict} the budget of ${BUDGET})`,
  );
}
