/**
 * What a decision costs: `decide` with a thousand rules, in microseconds, and beside the same rules without the index (a
 * look at each). Budget: 20 us for every row. Rounds alternate and the median counts, so that a busy machine hurts both.
 */

import { decide } from "../src/rules/policy/decide.ts";
import { loadRules } from "../src/rules/load.ts";
import type { RuleSet } from "../src/rules/policy/rule_set.ts";

const PLACE = { cwd: "/work", home: "/home/somebody" };
const BUDGET_US = 20;
const ROUNDS = 31;
const ITERATIONS = 2000;

const rulesOf = (text: string): RuleSet => loadRules([{ path: "FILE", text }], PLACE);

/** A thousand rules each: for as many programs, for one program, and all for the same two words. */
const SETS: [name: string, rules: RuleSet, command: string[]][] = [
  [
    "1000 programs, a rule matches",
    rulesOf(`for i in range(1000):\n    prefix_rule(["p%d" % i, ["a", "b"], "c"])`),
    ["p777", "b", "c", "d"],
  ],
  [
    "1000 programs, none matches",
    rulesOf(`for i in range(1000):\n    prefix_rule(["p%d" % i, ["a", "b"], "c"])`),
    ["git", "log"],
  ],
  [
    "1000 rules about git, a few match",
    rulesOf(`prefix_rule(["git"], "prompt")\nfor i in range(999):\n    prefix_rule(["git", "s%d" % i, "x"])`),
    ["git", "s777", "x", "y"],
  ],
  [
    "1000 rules about `git push`, one matches",
    rulesOf(`for i in range(1000):\n    prefix_rule(["git", "push", "r%d" % i])`),
    ["git", "push", "r777", "main"],
  ],
  [
    "a path, by host_executable",
    rulesOf(`host_executable("p777", ["/bin/p777"])\nfor i in range(1000):\n    prefix_rule(["p%d" % i, "a"])`),
    ["/bin/p777", "a", "b"],
  ],
  [
    "no rule, and a script to guess about",
    rulesOf(`for i in range(1000):\n    prefix_rule(["p%d" % i])`),
    ["bash", "-c", "cd /tmp && ls -l | grep x; echo done > y"],
  ],
];

/** Microseconds of one run. */
function time(run: () => unknown): number {
  const start = performance.now();
  for (let i = 0; i < ITERATIONS; i++) run();
  return (performance.now() - start) / ITERATIONS * 1000;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

function plainMatches(rules: RuleSet, command: readonly string[]): number {
  return rules.rules.filter(({ first, rest }) => {
    return first === command[0] && rest.length < command.length &&
      rest.every((words, at) => words.includes(command[at + 1]!));
  }).length;
}

let isWithin = true;
for (const [name, rules, command] of SETS) {
  const context = { rules, place: PLACE };
  const indexed: number[] = [];
  const plain: number[] = [];
  for (let round = -3; round < ROUNDS; round++) {
    const took = time(() => decide(command, context));
    const tookPlain = time(() => plainMatches(rules, command));
    if (round >= 0) {
      indexed.push(took);
      plain.push(tookPlain);
    }
  }
  const [us, plainUs] = [median(indexed), median(plain)];
  isWithin &&= us <= BUDGET_US;
  console.log(
    `${name.padEnd(42)} ${us.toFixed(2).padStart(6)} us   without index ${plainUs.toFixed(2).padStart(6)} us`,
  );
}
console.log(isWithin ? `within ${BUDGET_US} us` : `OVER ${BUDGET_US} us`);
if (!isWithin) Deno.exitCode = 1;
