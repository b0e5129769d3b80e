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
