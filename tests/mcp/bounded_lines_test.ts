import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { BoundedLines } from "../../src/mcp/bounded_lines.ts";

/** What is passed on of these chunks, with `!` where a line was told to be too long. */
async function passed(chunks: string[], maxBytes: number): Promise<string[]> {
  const seen: string[] = [];
  const lines = new BoundedLines({ maxBytes, onTooLong: () => void seen.push("!") });
  lines.on("data", (chunk: Buffer) => void seen.push(chunk.toString()));
  const ended = new Promise((resolve) => lines.on("end", resolve));
  for (const chunk of chunks) lines.write(Buffer.from(chunk));
  lines.end();
  await ended;
  return seen;
}

Deno.test("lines come whole, however they were cut", async () => {
  assert.deepEqual(await passed(["ab\nc", "", "d", "\n\ne\n"], 3), ["ab\n", "cd\n", "\n", "e\n"]);
});

Deno.test("a line that is too long is told once, dropped to its end, and the next is passed on", async () => {
  assert.deepEqual(await passed(["a\nbbb", "bbb", "bbb\nc\n"], 4), ["a\n", "!", "c\n"]);
  assert.deepEqual(await passed(["bbbb\ncccc\nddd\n"], 4), ["!", "!", "ddd\n"]);
  assert.deepEqual(await passed(["bbb", "bb"], 4), ["!"], "before its end has come");
});

Deno.test("what comes after the last line end is not passed on", async () => {
  assert.deepEqual(await passed(["a\nb"], 4), ["a\n"]);
});
