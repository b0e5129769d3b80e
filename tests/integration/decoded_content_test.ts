import assert from "node:assert/strict";

Deno.test("decodeMessage() keeps no long content alive that nobody has asked for", async () => {
  const fixture = new URL("../fixtures/decoded_content.ts", import.meta.url).pathname;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--v8-flags=--expose-gc", fixture],
  }).output();
  const kept = Number(new TextDecoder().decode(stdout));
  assert.ok(kept < 1_000_000, `${kept} bytes are kept: ${new TextDecoder().decode(stderr)}`);
});
