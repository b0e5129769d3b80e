import assert from "node:assert/strict";
import { COMMAND_WORDS } from "../../src/cli/command_words.ts";
import { overviewText } from "../../src/cli/overview.ts";

Deno.test("overviewText() has a line for each command with its sentence, within 80 columns", () => {
  const lines = overviewText().split("\n");
  for (const [name, { about }] of Object.entries(COMMAND_WORDS)) {
    const [line, ...others] = lines.filter((line) => line.startsWith(`    ${name} `));
    assert.ok(line?.endsWith(`  ${about}`), name);
    assert.deepEqual(others, [], name);
  }
  assert.deepEqual(lines.filter((line) => line.length > 80), []);
  assert.ok(overviewText().includes("exec-server serve --help"));
});

Deno.test("overviewText() names each section once, and no hidden mode", () => {
  const sections = Object.values(COMMAND_WORDS).map(({ section }) => section);
  const lines = overviewText().split("\n");
  for (const section of sections) assert.equal(lines.filter((line) => line === `  ${section}:`).length, 1, section);
  assert.doesNotMatch(overviewText(), /fs-helper|execve-wrapper/);
});
