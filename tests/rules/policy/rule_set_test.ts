import assert from "node:assert/strict";
import { forSeeds } from "../../support/seeds.ts";
import { stricter } from "../../../src/rules/policy/rule.ts";
import { check, PLACE, rulesOf } from "../rule_files_text.ts";

Deno.test("all rules that match are listed in the order of definition, and the strictest decides", () => {
  const files = [
    `prefix_rule(["git", "push", "--force"], "prompt")\nprefix_rule(["git"])`,
    `prefix_rule(["git", ["push", "pull"]], "forbidden", justification = "offline")`,
  ];
  const matched = (prefix: string[], decision: string) => ({ prefixRuleMatch: { matchedPrefix: prefix, decision } });
  assert.deepEqual(check(files, ["git", "push", "--force", "x"]), {
    matchedRules: [
      matched(["git", "push", "--force"], "prompt"),
      matched(["git"], "allow"),
      { prefixRuleMatch: { matchedPrefix: ["git", "push"], decision: "forbidden", justification: "offline" } },
    ],
    decision: "forbidden",
  });
  assert.deepEqual(check(files, ["git", "log"]), { matchedRules: [matched(["git"], "allow")], decision: "allow" });
  assert.deepEqual(check(files, []), { matchedRules: [] });
});

Deno.test("words are compared whole and by case, without patterns", () => {
  const text = `prefix_rule(["git", "st*"])\nprefix_rule(["Git"])`;
  for (const command of [["git", "status"], ["git", "st"], ["GIT"]]) {
    assert.deepEqual(check(text, command), { matchedRules: [] });
  }
});

Deno.test("a program given by a path matches its name only if that was asked for, and not if a rule names the path", () => {
  const text = `prefix_rule(["ls"], "prompt")\nprefix_rule(["/bin/ls", "-l"], "forbidden")`;
  const named = (path: string) => ({
    matchedRules: [{ prefixRuleMatch: { matchedPrefix: ["ls"], decision: "prompt", resolvedProgram: path } }],
    decision: "prompt",
  });
  assert.deepEqual(check(text, ["/bin/ls"]), { matchedRules: [] });
  assert.deepEqual(check(text, ["/bin/ls"], true), named("/bin/ls"));
  assert.deepEqual(check(text, ["./x/../ls"], true), named("/work/ls"));
  assert.deepEqual(check(text, ["~/ls"], true), named("/home/somebody/ls"));
  assert.deepEqual(check(text, ["//usr//./bin/ls/"], true), named("/usr/bin/ls"));
  const exact = check(text, ["/bin/ls", "-l"], true) as { matchedRules: unknown[]; decision: string };
  assert.deepEqual([exact.matchedRules.length, exact.decision], [1, "forbidden"]);
});

Deno.test("the index finds exactly what comparing every rule finds", async () => {
  await forSeeds(300, (random) => {
    const words = ["a", "b", "c", ""];
    const pattern = () =>
      Array.from({ length: 1 + random.int(4) }, () => {
        return random.chance(0.6)
          ? [random.pick(words)]
          : Array.from({ length: 1 + random.int(10) }, () => random.pick(words));
      });
    const patterns = Array.from({ length: random.int(random.pick([5, 30, 200])) }, pattern);
    const decisions = ["allow", "prompt", "forbidden"] as const;
    const set = rulesOf(
      patterns.map((words, index) => `prefix_rule(${JSON.stringify(words)}, ${JSON.stringify(decisions[index % 3])})`)
        .join("\n"),
    );
    const command = Array.from({ length: 1 + random.int(5) }, () => random.pick(words));
    const expected = set.rules.filter(({ first, rest }) => {
      return first === command[0] && rest.length < command.length &&
        rest.every((alternatives, at) => alternatives.includes(command[at + 1]!));
    });
    assert.deepEqual(set.matches(command, PLACE).map(({ rule }) => rule), expected.length > 0 ? expected : []);
    const strictest = expected.map(({ decision }) => decision).reduce(stricter, "allow");
    assert.ok(expected.every(({ decision }) => stricter(decision, strictest) === strictest));
  });
});
