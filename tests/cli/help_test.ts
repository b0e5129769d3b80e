import assert from "node:assert/strict";
import { isNegatable } from "../../src/cli/flag_words.ts";
import { environmentVariable, type FlagSpec } from "../../src/cli/flags.ts";
import { flagsMarkdown, helpText, withFlagsTable } from "../../src/cli/help.ts";
import { SERVE_FLAGS } from "../../src/cli/serve/serve_flags.ts";

const FLAGS: [string, FlagSpec][] = Object.entries(SERVE_FLAGS);

Deno.test("helpText() shows every flag with its variable and default, within 80 columns", () => {
  const help = helpText();
  const unwrapped = help.replace(/\s+/g, " ");
  for (const [name, spec] of FLAGS) {
    const spelling = spec.kind === "action"
      ? `-${spec.short}, --${name}`
      : isNegatable(spec)
      ? `--[no-]${name}`
      : `--${name}`;
    assert.ok(help.includes(`\n  ${spelling}`), name);
    assert.ok(unwrapped.includes(spec.help), name);
    const variable = environmentVariable(name, spec);
    if (variable !== null) assert.ok(unwrapped.includes(`[${variable}]`), name);
    if (spec.kind === "integer" && spec.default !== null) {
      assert.ok(unwrapped.includes(`${spec.help} [default: ${spec.default}] [${variable}]`), name);
    }
  }
  assert.deepEqual(help.split("\n").filter((line) => line.length > 80), []);
  assert.ok(help.endsWith("\n") && !help.endsWith("\n\n"));
});

Deno.test("flags of one section stand together in the table", () => {
  const sections = FLAGS.map(([, spec]) => spec.section);
  const runs = sections.filter((section, index) => section !== sections[index - 1]);
  assert.equal(runs.length, new Set(runs).size, runs.join(", "));
});

Deno.test("flagsMarkdown() is one aligned table with a row per flag", () => {
  const lines = flagsMarkdown().trimEnd().split("\n");
  assert.equal(lines.length, FLAGS.length + 2);
  assert.equal(new Set(lines.map((line) => line.length)).size, 1);
  const row = lines.find((line) => line.startsWith("| `--log text"))?.split(/ +\| /).map((cell) => cell.trim());
  assert.deepEqual(row?.slice(0, 3), ["| `--log text\\|json`", "`text`", "`EXEC_SERVER_LOG`"]);
});

Deno.test("docs/command-line.md carries exactly the table the program is made of", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/command-line.md", import.meta.url));
  assert.equal(page, withFlagsTable(page), "renew the page with withFlagsTable() of src/cli/help.ts");
  assert.ok(page.includes(`\n${flagsMarkdown()}\n`));
});

Deno.test("withFlagsTable() replaces only what is between the markers, and insists on them", () => {
  const page = "before\n<!-- flags: begin -->\nold\n<!-- flags: end -->\nafter\n";
  const renewed = withFlagsTable(page);
  assert.equal(renewed, `before\n<!-- flags: begin -->\n\n${flagsMarkdown()}\n<!-- flags: end -->\nafter\n`);
  assert.equal(withFlagsTable(renewed), renewed);
  for (const broken of ["", "<!-- flags: end --> <!-- flags: begin -->", "<!-- flags: begin -->"]) {
    assert.throws(() => withFlagsTable(broken), RangeError);
  }
});
