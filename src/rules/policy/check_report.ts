/** What `execpolicy check` prints: the reference's JSON, member for member and in its order. */

import { type Decision, stricter } from "./rule.ts";
import type { RuleMatch } from "./rule_set.ts";

export interface CheckReport {
  readonly matchedRules: readonly { readonly prefixRuleMatch: Record<string, unknown> }[];
  readonly decision?: Decision;
}

export function checkReport(matches: readonly RuleMatch[]): CheckReport {
  const matchedRules = matches.map(({ rule, matchedPrefix, resolvedProgram }) => ({
    prefixRuleMatch: {
      matchedPrefix,
      decision: rule.decision,
      ...(resolvedProgram === null ? {} : { resolvedProgram }),
      ...(rule.justification === null ? {} : { justification: rule.justification }),
    },
  }));
  if (matches.length === 0) return { matchedRules };
  return { matchedRules, decision: matches.map(({ rule }) => rule.decision).reduce(stricter) };
}
