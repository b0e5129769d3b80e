/** `match` and `not_match`: a rule's examples, tried on that rule alone once the whole file has been read. */

import { type ProgramPlace } from "./host_programs.ts";
import { type HostExecutable, patternText, type RuleExamples } from "./rule.ts";
import { RuleSet } from "./rule_set.ts";
import { joinWords } from "./shell_words.ts";

/** What is wrong with the examples; null when nothing is. Those that must not match come first. */
export function exampleFailure(
  { rules, match, notMatch }: RuleExamples,
  hostExecutables: ReadonlyMap<string, HostExecutable>,
  place: ProgramPlace,
): string | null {
  const alone = new RuleSet({ files: [], rules, networkRules: [], hostExecutables });
  for (const example of notMatch) {
    const [found] = alone.matches(example, place);
    if (found !== undefined) {
      return `expected example to not match rule \`${patternText(found.rule)}\`: ${joinWords(example)}`;
    }
  }
  const unmatched = match.filter((example) => alone.matches(example, place).length === 0);
  if (unmatched.length === 0) return null;
  const list = (texts: string[]) => `[${texts.map((text) => JSON.stringify(text)).join(", ")}]`;
  return `expected every example to match at least one rule. rules: ${list(rules.map(patternText))}; ` +
    `unmatched examples: ${list(unmatched.map(joinWords))}`;
}
