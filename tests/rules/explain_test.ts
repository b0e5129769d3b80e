import assert from "node:assert/strict";
import { explain } from "../../src/rules/explain.ts";
import { PLACE, rulesOf } from "./rule_files_text.ts";

const RULES = rulesOf(
  `prefix_rule(["git", ["status", "log"]])
prefix_rule(["git", "push"], "prompt")
prefix_rule(["git", "push", "--force"], "forbidden", justification = "it rewrites history")`,
  `prefix_rule(["rm"], "prompt")
prefix_rule(["make", "install"], "forbidden")
host_executable("make", ["/usr/bin/make"])`,
);

for (
  const [command, paragraph] of [
    [
      "git push --force",
      "`git push --force` is forbidden by the rule `git push --force` of 1.rules:3, because: it rewrites history. " +
      "Without it the command would be asked about by the rule `git push` of 1.rules:2.",
    ],
    [
      "git log -1",
      "`git log -1` is allowed by the rule `git [status|log]` of 1.rules:1. Without it no rule would match, and the " +
      "command would be allowed, since it does not look dangerous.",
    ],
    [
      "/bin/rm -rf x",
      "`/bin/rm -rf x` is asked about by the rule `rm` of 2.rules:1. The rule is for rm, which is /bin/rm here. " +
      "Without it no rule would match, and the command would be asked about, since it looks dangerous.",
    ],
    [
      "git pull",
      "No rule matches `git pull`: it is allowed, since it does not look dangerous. The nearest rule is the " +
      "rule `git [status|log]` of 1.rules:1: word 2 has to be `status` or `log`, and is `pull`.",
    ],
    [
      "make",
      "No rule matches `make`: it is allowed, since it does not look dangerous. The nearest rule is the rule " +
      "`make install` of 2.rules:2: word 2 has to be `install`, and the command ends before it.",
    ],
    [
      "/tmp/make install",
      "No rule matches `/tmp/make install`: it is allowed, since it does not look dangerous. Rules about make do not " +
      "apply to /tmp/make: host_executable in 2.rules:3 lists other paths.",
    ],
    [
      "sudo rm -f x",
      "No rule matches `sudo rm -f x`: it is asked about, since it looks dangerous. None of the 5 rules in 2 files " +
      "is for sudo. A rule of your own can allow or forbid it.",
    ],
  ] as const
) {
  Deno.test(`explain(): ${command}`, () => {
    assert.equal(explain(command.split(" "), { rules: RULES, place: PLACE }), paragraph);
  });
}
