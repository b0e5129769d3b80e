import assert from "node:assert/strict";

const FIXTURE = new URL("../../../fixtures/attach_slow_stdout.ts", import.meta.url).pathname;

Deno.test("all output is written before attach ends, also when the end comes together with the answer", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", FIXTURE],
    stdin: "null",
  }).output();
  assert.deepEqual([new TextDecoder().decode(stderr), code], ['"all of it\\n"\n', 6]);
});
