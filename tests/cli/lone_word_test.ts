import assert from "node:assert/strict";
import { loneWord } from "../../src/cli/lone_word.ts";
import { runCli } from "../support/test_server.ts";

Deno.test("loneWord() takes --version and --help of the server where nothing else is written", () => {
  for (const word of ["--version", "-V", "--help", "-h"]) assert.notEqual(loneWord("serve", [word]), null, word);
  for (
    const args of [[], ["--listen"], ["--version", "-h"], ["--help", "--listen"], ["-Vh"], ["--version=1"], ["--"]]
  ) {
    assert.equal(loneWord("serve", args), null, args.join(" "));
  }
  assert.equal(loneWord("doctor", ["--help"]), null);
});

Deno.test("--version and --help say the same alone and among other flags", async () => {
  for (const word of ["--version", "--help"]) {
    const alone = await runCli([word]);
    assert.equal(alone.code, 0);
    assert.deepEqual(await runCli([word, "--log", "json"]), alone);
    assert.deepEqual(await runCli(["serve", word]), alone);
  }
});
