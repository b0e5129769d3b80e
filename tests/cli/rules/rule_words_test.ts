import assert from "node:assert/strict";
import { CliError } from "../../../src/cli/cli_error.ts";
import { parseRuleWords } from "../../../src/cli/rules/rule_words.ts";

Deno.test("parseRuleWords() reads flags up to the command, and nothing of the command", () => {
  assert.deepEqual(parseRuleWords(["-r", "a", "--rules=b", "-rc", "--pretty", "ls", "--pretty", "-r"], ["pretty"]), {
    rules: ["a", "b", "c"],
    switches: new Set(["pretty"]),
    command: ["ls", "--pretty", "-r"],
    isHelp: false,
  });
  assert.deepEqual(parseRuleWords(["--rules", "--odd", "--", "-x", "--"], []).command, ["-x", "--"]);
  assert.deepEqual(parseRuleWords(["--rules", "--odd", "-h"], []).isHelp, true);
});

Deno.test("parseRuleWords() names what it does not know", () => {
  const message = (words: string[]) => {
    try {
      parseRuleWords(words, ["pretty"]);
    } catch (error) {
      if (error instanceof CliError) return [error.exitCode, error.message];
    }
  };
  assert.deepEqual(message(["--prety", "ls"]), [2, 'unknown flag "--prety": did you mean --pretty?']);
  assert.deepEqual(message(["--rules"]), [2, "--rules needs a file"]);
  assert.deepEqual(message(["-x", "ls"]), [2, 'unknown flag "-x": see --help']);
});
