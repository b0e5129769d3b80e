/** Output: its numbers, and reading it. */

import { base64, type Check, holds, promised, same, textOf } from "../check.ts";
import type { Message } from "../peer.ts";

export const OUTPUT: readonly Check[] = [
  promised(
    "output/numbers",
    "Events are numbered from 1 without gaps; one exit; the close is last.",
    async (peer, scene) => {
      const { events } = await scene.run(peer, "echo a; echo b >&2; sleep 0.1; echo c; exit 3");
      same(events.map(({ params }) => params.seq), events.map((_, index) => index + 1), "the numbers");
      same(events.filter(({ method }) => method === "process/exited").length, 1, "how many exits are told");
      same(events.at(-1)!.method, "process/closed", "the last event");
    },
  ),
  promised("output/streams", "stdout and stderr are told apart.", async (peer, scene) => {
    const { stdout, stderr } = await scene.run(peer, "echo out; echo err >&2");
    same([stdout, stderr], ["out\n", "err\n"], "what was written");
  }),
  promised("output/bytes", "Bytes come as they were written, whatever they are.", async (peer, scene) => {
    const { events } = await scene.run(peer, "printf '\\000\\377\\200a'");
    same(outputOf(events), "AP+AYQ==", "the bytes");
  }),
  promised("output/long", "Every byte of a long output is sent.", async (peer, scene) => {
    const { stdout } = await scene.run(peer, "seq 1 200000");
    same(stdout.length, 1288895, "how many characters came");
    holds(stdout.endsWith("\n199999\n200000\n"), "the end should be as written");
  }),
  promised(
    "output/after-exit",
    "Output of a descendant is sent after the exit, and before the close.",
    async (peer, scene) => {
      const { events, stdout } = await scene.run(peer, "(sleep 0.3; echo late) & exit 0");
      same(stdout, "late\n", "what was written");
      same(events.map(({ method }) => method), ["process/exited", "process/output", "process/closed"], "the events");
    },
  ),
  promised(
    "output/read",
    "process/read returns what is above the cursor, does not consume, and tells the state.",
    async (peer, scene) => {
      const processId = await scene.start(peer, ["sh", "-c", "echo a; sleep 0.1; echo b; exit 3"]);
      const { events } = await scene.ended(peer, processId);
      const next = events.length + 1;
      for (let again = 0; again < 2; again++) {
        const all = await peer.result("process/read", { processId, afterSeq: 0 });
        same(all.chunks.map(({ chunk }: { chunk: string }) => textOf(chunk)).join(""), "a\nb\n", "all output");
        same([all.nextSeq, all.exited, all.exitCode, all.closed], [next, true, 3, true], "the state");
      }
      const rest = await peer.result("process/read", { processId, afterSeq: 1 });
      // The exit may have a number between two chunks.
      const above = events.filter(({ method, params }) => method === "process/output" && params.seq > 1);
      same(
        rest.chunks.map(({ seq }: { seq: number }) => seq),
        above.map(({ params }) => params.seq),
        "numbers above 1",
      );
      const none = await peer.result("process/read", { processId, afterSeq: next - 1 });
      same([none.chunks, none.nextSeq], [[], next], "what is above all");
    },
  ),
  promised(
    "output/read-bytes",
    "With maxBytes whole chunks come, at least one, and nextSeq says where to go on.",
    async (peer, scene) => {
      const processId = await scene.start(peer, ["sh", "-c", "echo a; sleep 0.2; echo b; sleep 0.2; echo c"]);
      const { events } = await scene.ended(peer, processId);
      const seen: string[] = [];
      let afterSeq = 0;
      for (let round = 0; round < 10; round++) {
        const { chunks, nextSeq } = await peer.result("process/read", { processId, afterSeq, maxBytes: 1 });
        if (chunks.length === 0) break;
        same([chunks.length, nextSeq], [1, chunks[0].seq + 1], "chunks, and nextSeq");
        seen.push(textOf(chunks[0].chunk));
        afterSeq = nextSeq - 1;
      }
      same(seen.join(""), "a\nb\nc\n", "all output");
      holds(events.length >= seen.length, "no more chunks than events");
    },
  ),
  promised(
    "output/read-waits",
    "With waitMs a read waits for output, and no longer than that.",
    async (peer, scene) => {
      const processId = await scene.start(peer, ["sh", "-c", "read line; echo $line; sleep 60"], { pipeStdin: true });
      const empty = await peer.result("process/read", { processId, afterSeq: 0, waitMs: 50 });
      same([empty.chunks, empty.exited], [[], false], "what came in 50 ms");
      await peer.result("process/write", { processId, chunk: base64("x\n"), writeId: "w" });
      const { chunks } = await peer.result("process/read", { processId, afterSeq: 0, waitMs: 10_000 });
      same(chunks.map(({ chunk }: { chunk: string }) => textOf(chunk)).join(""), "x\n", "what came then");
    },
  ),
  promised("output/read-parameters", "Cursors that are not unsigned integers are -32602.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    for (const afterSeq of [-1, 1.5, "1"]) await peer.refused(-32602, "process/read", { processId, afterSeq });
  }),
];

function outputOf(events: readonly Message[]): string {
  const parts = events.filter(({ method }) => method === "process/output").map(({ params }) =>
    Uint8Array.fromBase64(params.chunk)
  );
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.toBase64();
}
