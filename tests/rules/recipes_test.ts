/** The recipes of docs/rules.md: their rules are read, and their commands decided, as the page says. */

import assert from "node:assert/strict";
import { decide } from "../../src/rules/policy/decide.ts";
import { splitWords } from "../../src/rules/policy/shell_words.ts";
import { PLACE, rulesOf } from "./rule_files_text.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/rules.md", import.meta.url));
const RECIPES = [
  ...PAGE.matchAll(/^### (\d+\. .+)$[^]*?^```python\n([^]*?)^```$[^]*?^```text\n([^]*?)^```$/gm),
].map(([, title = "", rules = "", lines = ""]) => ({ title, rules, lines: lines.trim().split("\n") }));

Deno.test("docs/rules.md has ten recipes", () => {
  assert.equal(RECIPES.length, 10);
  assert.equal(PAGE.match(/^### /gm)?.length, 10);
});

for (const { title, rules, lines } of RECIPES) {
  Deno.test(`recipe ${title}`, () => {
    const set = rulesOf(rules);
    assert.ok(lines.length >= 3);
    for (const line of lines) {
      const [command = "", decision] = line.split(/ {2,}/);
      const verdict = decide(splitWords(command)!, { rules: set, place: PLACE });
      assert.equal(verdict.by === "rules" ? verdict.decision : "no rule", decision, command);
    }
  });
}

Deno.test("the rule at the top of docs/rules.md is one", () => {
  const [, rules = ""] = /^```python\n([^]*?)^```$/m.exec(PAGE)!;
  assert.equal(rulesOf(rules).rules.length, 1);
});

Deno.test("no example of a page allows a program that runs what files of a workspace say", () => {
  // Add a program here only if nothing that may follow in its arguments, environment or directory makes it do more.
  const harmless = ["lsusb"];
  for (const name of ["rules", "mcp"]) {
    const page = Deno.readTextFileSync(new URL(`../../docs/${name}.md`, import.meta.url));
    const texts = Array.from(page.matchAll(/^```python\n([^]*?)^```$/gm), ([, text]) => text!);
    const allowed = texts.flatMap((text) => rulesOf(text).rules).filter(({ decision }) => decision === "allow");
    assert.deepEqual(allowed.map(({ first }) => first).filter((first) => !harmless.includes(first)), [], name);
  }
});
