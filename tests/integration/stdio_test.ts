import assert from "node:assert/strict";
import { assertLines } from "../support/answer_check.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { StdioServer } from "../support/stdio_server.ts";
import { serverCommand } from "../support/test_server.ts";

/** Runs the server on stdio with this input and returns its lines. */
async function converse(input: string, flags: string[] = []): Promise<{ code: number; lines: string[] }> {
  const { program, args } = serverCommand();
  const child = new Deno.Command(program, {
    args: [...args, "--listen", "stdio", ...flags],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close()).catch(() => {
    // A server that has ended takes no more.
  });
  const { code, stdout } = await child.output();
  await written;
  const text = new TextDecoder().decode(stdout);
  await assertLines(input, text);
  return { code, lines: text.split("\n").filter((line) => line !== "") };
}

Deno.test("stdio answers everything asked before the end of input, and nothing else is on stdout", async () => {
  const { code, lines } = await converse(
    '{"id":1,"method":"initialize","params":{"clientName":"x"}}\r\n\n   \n{"method":"initialized"}\n{nope\n' +
      '{"id":2,"method":"environment/status"}',
  );
  assert.equal(code, 0);
  const messages = lines.map((line) => JSON.parse(line));
  assert.deepEqual(messages.map(({ id }) => id), [1, -1, 2]);
  assert.deepEqual(messages[2].result, { status: "ready" });
});

Deno.test("stdio answers what takes a while and was asked before the end of input", async () => {
  const { lines } = await converse(
    [
      { id: 1, method: "initialize", params: { clientName: "x" } },
      { method: "initialized" },
      { id: 2, method: "process/list", params: { details: true } },
      { id: 3, method: "environment/sandbox" },
    ].map((message) => JSON.stringify(message) + "\n").join(""),
    // Without a probe, which may take longer than the end.
    ["--sandbox", "refuse"],
  );
  const answers = lines.map((line) => JSON.parse(line));
  assert.deepEqual(answers.map(({ id, error }) => [id, error]).sort(), [[1, undefined], [2, undefined], [
    3,
    undefined,
  ]]);
});

Deno.test("stdio ends with status 0 on empty input", async () => {
  assert.deepEqual(await converse(""), { code: 0, lines: [] });
});

Deno.test("stdio answers a large read whole, on a line between others", () =>
  inScratchDirectory(async (directory) => {
    await using server = await StdioServer.start();
    const content = Uint8Array.from({ length: 5_000_000 }, (_, at) => at * 7 + (at >> 8));
    await Deno.writeFile(`${directory}/f`, content);
    const [before, large, after] = await Promise.all([
      server.client.call("environment/status", null),
      server.client.call("fs/readFile", { path: `${directory}/f` }),
      server.client.call("fs/getMetadata", { path: `${directory}/f` }),
    ]);
    assert.deepEqual(before, { status: "ready" });
    assert.deepEqual(Uint8Array.fromBase64(large.dataBase64), content);
    assert.equal(after.size, content.length);
  }));

Deno.test("stdio gives the reason before it ends because of a line that is too long", async () => {
  const status = '{"id":1,"method":"environment/status"}';
  const { lines, code } = await converse(`${status}\n${"x".repeat(64 * 1024 * 1024 + 1)}\n${status}\n`);
  const [first, last, ...others] = lines.map((line) => JSON.parse(line));
  assert.equal(first.id, 1);
  assert.deepEqual(last, {
    id: -1,
    error: { code: -32600, message: "line exceeds the limit of 67108864 bytes" },
  });
  assert.deepEqual([others, code], [[], 0]);
});
