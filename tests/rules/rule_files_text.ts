/** Rule files as texts, for tests. */

import { loadRules } from "../../src/rules/load.ts";
import { checkReport } from "../../src/rules/policy/check_report.ts";
import type { RuleSet } from "../../src/rules/policy/rule_set.ts";

export const PLACE = { cwd: "/work", home: "/home/somebody" };

export function rulesOf(...texts: string[]): RuleSet {
  return loadRules(texts.map((text, index) => ({ path: `${index + 1}.rules`, text })), PLACE);
}

/** What `execpolicy check` prints of these rules and this command, as a value. */
export function check(texts: string | string[], command: string[], isResolving = false): unknown {
  return checkReport(rulesOf(...[texts].flat()).matches(command, isResolving ? PLACE : null));
}
