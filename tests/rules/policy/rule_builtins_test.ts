/** `prefix_rule`, `host_executable` and `network_rule`: what they take, what they refuse, and in which words. */

import assert from "node:assert/strict";
import { RuleFileError } from "../../../src/rules/language/failure.ts";
import { check, rulesOf } from "../rule_files_text.ts";

/** The first line of what a file is refused with. */
function refusal(text: string): string {
  try {
    rulesOf(text);
  } catch (error) {
    if (error instanceof RuleFileError) return error.reason;
    throw error;
  }
  return "accepted";
}

Deno.test("prefix_rule() takes its arguments by position, in the reference's order", () => {
  const text = `prefix_rule(["ls"], "forbidden", ["ls -l"], ["cat"], "why")`;
  assert.deepEqual(check(text, ["ls"]), {
    matchedRules: [{ prefixRuleMatch: { matchedPrefix: ["ls"], decision: "forbidden", justification: "why" } }],
    decision: "forbidden",
  });
});

Deno.test("alternatives in the first place make a rule for each, also for one that is there twice", () => {
  const { rules } = rulesOf(`prefix_rule([["rm", "unlink", "rm"], "-f"])`);
  assert.deepEqual(rules.map(({ first }) => first), ["rm", "unlink", "rm"]);
  assert.equal(
    (check(`prefix_rule([["rm", "rm"], "-f"])`, ["rm", "-f"]) as { matchedRules: [] }).matchedRules.length,
    2,
  );
  const twice = check(`prefix_rule(["rm", ["-f", "-f"]])`, ["rm", "-f"]);
  assert.equal((twice as { matchedRules: [] }).matchedRules.length, 1);
});

for (
  const [text, reason] of [
    [`prefix_rule(["ls"], "deny")`, "invalid decision: deny"],
    [`prefix_rule(["ls"], "Allow")`, "invalid decision: Allow"],
    [`prefix_rule([])`, "invalid pattern element: pattern cannot be empty"],
    [`prefix_rule(["ls", []])`, "invalid pattern element: pattern alternatives cannot be empty"],
    [
      `prefix_rule(["ls", 1])`,
      "invalid pattern element: pattern element must be a string or list of strings (got int)",
    ],
    [`prefix_rule(["ls", ["a", ["b"]]])`, "invalid pattern element: pattern alternative must be a string (got list)"],
    [`prefix_rule(["ls"], match = [""])`, "invalid example: example cannot be an empty string"],
    [`prefix_rule(["ls"], match = [[]])`, "invalid example: example cannot be an empty list"],
    [`prefix_rule(["ls"], match = ["ls 'x"])`, "invalid example: example string has invalid shell syntax"],
    [`prefix_rule(["ls"], match = [["ls", 1]])`, "invalid example: example tokens must be strings (got int)"],
    [`prefix_rule(["ls"], match = [1])`, "invalid example: example must be a string or list of strings (got int)"],
    [`prefix_rule(["ls"], justification = " ")`, "invalid rule: justification cannot be empty"],
    [`prefix_rule(decision = "allow")`, "Missing parameter `pattern` for call to `prefix_rule`"],
    [`prefix_rule(["ls"], reason = "x")`, "Found `reason` extra named parameter(s) for call to prefix_rule"],
    [
      `prefix_rule(["ls"], decision = True)`,
      "Type of parameter `decision` doesn't match, expected `str`, actual `bool (repr: True)`",
    ],
    [
      `prefix_rule(["ls"], None)`,
      "Type of parameter `decision` doesn't match, expected `str`, actual `NoneType (repr: None)`",
    ],
    [
      `prefix_rule(("ls", "-l"))`,
      'Type of parameter `pattern` doesn\'t match, expected `list`, actual `tuple (repr: ("ls", "-l"))`',
    ],
    [`host_executable("git", ["bin/git"])`, "invalid rule: host_executable paths must be absolute (got bin/git)"],
    [
      `host_executable("git", ["/bin/ls"])`,
      "invalid rule: host_executable path `/bin/ls` must have basename `git`",
    ],
    [`host_executable("..", [])`, "invalid rule: host_executable name must be a bare executable name (got ..)"],
    [`host_executable("", [])`, "invalid rule: host_executable name cannot be empty"],
    [
      `network_rule("a.b", "ftp", "allow")`,
      "invalid rule: network_rule protocol must be one of http, https, socks5_tcp, socks5_udp (got ftp)",
    ],
    [
      `network_rule("*.b", "http", "allow")`,
      "invalid rule: network_rule host must be a specific host; wildcards are not allowed",
    ],
    [`network_rule("a.b", "http", "deny", "")`, "invalid rule: justification cannot be empty"],
    [`print("x")`, "Variable `print` not found, did you mean `int`?"],
    [`prefx_rule(["ls"])`, "Variable `prefx_rule` not found, did you mean `prefix_rule`?"],
    [
      `prefix_rule(["git", "a"], match = ["git b", ["git", "c d"], "git a"])`,
      'expected every example to match at least one rule. rules: ["git a"]; ' +
      `unmatched examples: ["git b", "git 'c d'"]`,
    ],
    [
      `prefix_rule(["git", "a"], match = ["nope"], not_match = ["git a x"])`,
      "expected example to not match rule `git a`: git a x",
    ],
  ] as const
) {
  Deno.test(`${text} is refused: ${reason.slice(0, 60)}`, () => assert.equal(refusal(text), reason));
}

Deno.test("an error names file, line and column, and shows the line and the calls that led there", () => {
  const text = [
    "def add(name):",
    `    prefix_rule([name], "never")`,
    "",
    `add("ls")`,
  ].join("\n");
  assert.throws(() => rulesOf("", text), (error) => {
    assert.ok(error instanceof RuleFileError);
    assert.deepEqual([error.file, error.position], ["2.rules", { line: 2, column: 5 }]);
    assert.equal(
      error.message,
      `starlark error: Traceback (most recent call last):
  * 2.rules:4, in <module>
      add("ls")
error: invalid decision: never
 --> 2.rules:2:5
  |
2 |     prefix_rule([name], "never")
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |`,
    );
    return true;
  });
});

Deno.test("examples are tried on their own rule alone, when the whole file has been read", () => {
  // Another rule would match the example, and the list of paths comes after the rule.
  assert.match(refusal(`prefix_rule(["git"])\nprefix_rule(["git", "a"], match = ["git b"])`), /unmatched/);
  const pinned = `prefix_rule(["git"], match = ["/opt/git x"])\nhost_executable("git", ["/opt/git"])`;
  assert.equal(refusal(pinned), "accepted");
  assert.match(refusal(pinned.replace(`["/opt/git"]`, `["/usr/bin/git"]`)), /unmatched/);
});

Deno.test("network rules are listed in one form and decide about no command", () => {
  const rules = rulesOf(
    `network_rule(" Example.COM:443. ".replace(". ", " "), "https_connect", "deny", "no")`,
    `network_rule("[::1]:80", "http", "prompt")\nnetwork_rule("example.org...", "socks5_udp", "allow")`,
  );
  assert.deepEqual(
    rules.networkRules.map(({ host, protocol, decision }) => [host, protocol, decision]),
    [["example.com", "https", "forbidden"], ["::1", "http", "prompt"], ["example.org", "socks5_udp", "allow"]],
  );
  assert.deepEqual(rules.matches(["curl", "https://example.com"], null), []);
});

Deno.test("the last host_executable of a name counts, across files", () => {
  const rule = `prefix_rule(["git"])`;
  const texts = [`${rule}\nhost_executable("git", ["/a/git"])`, `host_executable("git", ["/b/../c/git", "/c/git"])`];
  assert.deepEqual(rulesOf(...texts).hostExecutables.get("git")?.paths, ["/c/git"]);
  assert.deepEqual(check(texts, ["/a/git"], true), { matchedRules: [] });
  assert.deepEqual(check(texts, ["/c/git"], true), {
    matchedRules: [{ prefixRuleMatch: { matchedPrefix: ["git"], decision: "allow", resolvedProgram: "/c/git" } }],
    decision: "allow",
  });
});
