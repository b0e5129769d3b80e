import assert from "node:assert/strict";
import { loneWord } from "../../src/cli/lone_word.ts";
import { runCli } from "../support/test_server.ts";

Deno.test("loneWord() takes --version and --help where nothing else is written", () => {
  for (const word of ["--version", "-V", "--help", "-h", "help"]) assert.notEqual(loneWord([word]), null, word);
  for (
    const argv of [[], ["--listen"], ["--version", "-h"], ["--help", "--listen"], ["-Vh"], ["--version=1"], ["--"]]
  ) {
    assert.equal(loneWord(argv), null, argv.join(" "));
  }
  for (const command of ["serve", "doctor", "fs-helper"]) assert.equal(loneWord([command, "--help"]), null);
});

Deno.test("--version says the same alone, among other flags and of serve", async () => {
  const alone = await runCli(["--version"]);
  assert.equal(alone.code, 0);
  assert.deepEqual(await runCli(["--version", "--log", "json"]), alone);
  assert.deepEqual(await runCli(["serve", "--version"]), alone);
});

Deno.test("--help shows the commands when alone, and the server's flags of serve or among them", async () => {
  const alone = await runCli(["--help"]);
  assert.equal(alone.code, 0);
  assert.match(alone.stdout, /^Commands:$/m);
  const ofServe = await runCli(["serve", "--help"]);
  assert.equal(ofServe.code, 0);
  assert.match(ofServe.stdout, /^ {2}--listen URL$/m);
  assert.deepEqual(await runCli(["--help", "--log", "json"]), ofServe);
});
