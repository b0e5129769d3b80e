import assert from "node:assert/strict";
import { KeptOutput } from "../../src/mcp/kept_output.ts";
import { MAX_OUTPUT_BYTES, STDOUT_SHARE_BYTES } from "../../src/mcp/limits.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("short output is whole, and returned once", () => {
  const output = new KeptOutput();
  output.append("stderr", bytes("e1\n"));
  output.append("stdout", bytes("o1\n"));
  output.append("stderr", bytes("e2\n"));
  assert.deepEqual(output.take(), { stdout: "o1\n", stderr: "e1\ne2\n", omitted: [] });
  assert.deepEqual(output.take(), { stdout: "", stderr: "", omitted: [] });
});

Deno.test("a character that comes in two pieces is one character, and invalid UTF-8 does no harm", () => {
  const output = new KeptOutput();
  output.append("stdout", bytes("é").subarray(0, 1));
  output.append("stdout", bytes("é").subarray(1));
  output.append("stdout", new Uint8Array([0xff]));
  assert.equal(output.take().stdout, "é\ufffd");
});

Deno.test("a character of which only the beginning has come waits for its rest, or for the end", () => {
  for (const character of ["é", "€", "😀"]) {
    const all = bytes(character);
    for (let count = 1; count < all.length; count++) {
      const output = new KeptOutput();
      output.append("stdout", bytes("a"));
      output.append("stdout", all.subarray(0, count));
      output.append("stderr", all.subarray(0, count));
      assert.deepEqual(output.take(), { stdout: "a", stderr: "", omitted: [] });
      assert.deepEqual(output.take(), { stdout: "", stderr: "", omitted: [] });
      output.append("stdout", all.subarray(count));
      assert.deepEqual(output.takeLast(), { stdout: character, stderr: "\ufffd", omitted: [] });
    }
  }
  const output = new KeptOutput();
  output.append("stdout", new Uint8Array([0xc3, 0x28, 0x80, 0x80, 0x80, 0xff]));
  output.append("stdout", new Uint8Array([0x80, 0x41]));
  assert.equal(output.take().stdout, "\ufffd(\ufffd\ufffd\ufffd\ufffd\ufffdA", "what is no UTF-8 waits for nothing");
});

Deno.test("watchers are told of all output that can be read, until they stop", () => {
  const output = new KeptOutput();
  let count = 0;
  const stop = output.watch(() => count++);
  output.append("stdout", bytes("€").subarray(0, 1));
  assert.deepEqual([count, output.hasMore], [0, false], "the beginning of a character is nothing yet");
  output.append("stdout", bytes("€").subarray(1));
  output.append("stderr", bytes("e"));
  assert.deepEqual([count, output.hasMore], [2, true]);
  output.take();
  stop();
  assert.equal(output.hasMore, false);
  output.append("stderr", bytes("e"));
  assert.deepEqual([count, output.hasMore], [2, true]);
});

Deno.test("of long output beginning and end are kept, the mark says how much is missing, and the whole is one mebibyte", () => {
  const output = new KeptOutput();
  output.append("stdout", bytes("start\n"));
  output.append("stdout", bytes("a".repeat(3_000_000)));
  output.append("stdout", bytes("\nend"));
  const { stdout, omitted } = output.take();
  assert.equal(stdout.length, MAX_OUTPUT_BYTES);
  assert.ok(stdout.startsWith("start\na"));
  assert.ok(stdout.endsWith("a\nend"));
  const told = /\n\[\.\.\. (\d+) bytes of stdout left out \.\.\.\]\n/.exec(stdout);
  const rest = stdout.replace(/\n\[\.\.\. .* \.\.\.\]\n */, "");
  assert.equal(Number(told?.[1]), 3_000_010 - rest.length);
  assert.deepEqual(omitted, [{ stream: "stdout", bytes: Number(told?.[1]) }]);
});

Deno.test("when both streams are long, standard output has its third and standard error the rest", () => {
  const output = new KeptOutput();
  output.append("stdout", bytes("o".repeat(2_000_000)));
  output.append("stderr", bytes("e".repeat(2_000_000)));
  const { stdout, stderr, omitted } = output.take();
  assert.equal(stdout.length, STDOUT_SHARE_BYTES);
  assert.equal(stdout.length + stderr.length, MAX_OUTPUT_BYTES);
  assert.deepEqual(omitted.map(({ stream }) => stream), ["stdout", "stderr"]);
});

Deno.test("room that standard error leaves goes to standard output", () => {
  const output = new KeptOutput();
  output.append("stdout", bytes("o".repeat(1_000_000)));
  output.append("stderr", bytes("e\n"));
  assert.equal(output.take().stdout.length, 1_000_000);
});
