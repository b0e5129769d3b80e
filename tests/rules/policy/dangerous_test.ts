import assert from "node:assert/strict";
import { decide } from "../../../src/rules/policy/decide.ts";
import { isDangerous } from "../../../src/rules/policy/dangerous.ts";
import { RuleSet } from "../../../src/rules/policy/rule_set.ts";
import { splitWords } from "../../../src/rules/policy/shell_words.ts";
import { rulesOf } from "../rule_files_text.ts";

const DANGEROUS = [
  ..."rm -f x|rm -rf x|sudo rm -rf x|git reset --hard|git rm x|git -C /x reset|/usr/bin/git -c a=b reset".split("|"),
  ..."git branch -D x|git branch -vd x|git branch --delete x|git push --force|git push -f|git push -uf".split("|"),
  ..."git push --force-with-lease o m|git push o +main|git push o :main|git push -d o x|git clean -fd".split("|"),
  "git clean --force",
  "bash -c 'rm -rf x'",
  "bash -lc 'ls && rm -f y'",
  // What the reference misses.
  ..."rm -fr x|rm x -f|rm -r -f x|rm --force x|/bin/rm -f x|env rm -rf x|env -u A B=1 rm -rf x".split("|"),
  ..."sudo -u root rm -f x|sudo -nu root rm -f x|sudo --user root -- rm -f x".split("|"),
  "bash -c '(rm -rf x)'",
  "bash -c 'rm -rf x' arg0",
  "bash -c 'rm -rf $x > /dev/null'",
  `sh -c "sh -c 'rm -rf x'"`,
  "bash -ec 'A=1 rm -rf x'",
];

const HARMLESS = [
  ..."rm x|rm -r x|rm -- -f|git status|git checkout reset|git stash drop|git clean -n|git branch x|git push".split("|"),
  ..."git push origin main|ls -f|sudo ls|env A=1|sudo|env|bash|bash script.sh -c 'rm -rf x'|echo rm -rf x".split("|"),
  `bash -c "echo 'rm -rf x'"`,
  "bash -c '# rm -rf x'",
  "gitx reset",
];

Deno.test("commands that delete or force are dangerous, however they are wrapped", () => {
  for (const line of DANGEROUS) assert.equal(isDangerous(splitWords(line)!), true, line);
});

Deno.test("commands that look similar are not dangerous", () => {
  for (const line of HARMLESS) assert.equal(isDangerous(splitWords(line)!), false, line);
});

Deno.test("the heuristic is used only for commands without a rule", () => {
  const command = ["rm", "-rf", "x"];
  const empty = { rules: RuleSet.empty(), place: null };
  assert.deepEqual(decide(command, empty), { by: "heuristic", decision: "prompt", matches: [] });
  assert.deepEqual(decide(["ls"], empty), { by: "heuristic", decision: "allow", matches: [] });
  const allowed = decide(command, { rules: rulesOf(`prefix_rule(["rm"])`), place: null });
  assert.deepEqual([allowed.by, allowed.decision], ["rules", "allow"]);
});

Deno.test("deeply nested scripts are judged, too", () => {
  let line = "rm -rf x";
  for (let depth = 0; depth < 50; depth++) line = `sh -c ${JSON.stringify(line)}`.slice(0, 100_000);
  assert.equal(typeof isDangerous(["sh", "-c", line]), "boolean");
});
