/**
 * The decision about one command. Pure: the same rules, command and context give the same answer, and nothing outside is
 * asked. At most 20 us with a thousand rules (`deno task bench`).
 */

import { isDangerous } from "./dangerous.ts";
import type { ProgramPlace } from "./host_programs.ts";
import { type Decision, stricter } from "./rule.ts";
import type { RuleMatch, RuleSet } from "./rule_set.ts";

export interface DecideContext {
  readonly rules: RuleSet;
  /** Where the command would run, for programs given by a path; null: paths match only rules that name them. */
  readonly place: ProgramPlace | null;
}

export type Verdict =
  /** At least one rule matches; the strictest counts, whatever its place. */
  | { readonly by: "rules"; readonly decision: Decision; readonly matches: readonly RuleMatch[] }
  /** No rule matches: a command that looks dangerous is asked about, others are allowed. */
  | { readonly by: "heuristic"; readonly decision: "allow" | "prompt"; readonly matches: readonly [] };

export function decide(command: readonly string[], { rules, place }: DecideContext): Verdict {
  const matches = rules.matches(command, place);
  if (matches.length === 0) {
    return { by: "heuristic", decision: isDangerous(command) ? "prompt" : "allow", matches: [] };
  }
  const decision = matches.reduce<Decision>((strictest, { rule }) => stricter(strictest, rule.decision), "allow");
  return { by: "rules", decision, matches };
}
