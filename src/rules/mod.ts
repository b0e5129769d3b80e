/**
 * The door to the rules: which commands an agent may run, which need a question, which are forbidden.
 *
 * ```ts
 * const programs = { cwd: Deno.cwd(), home: Deno.env.get("HOME") ?? null };
 * const keeper = new RulesKeeper({ places: rulePlaces(Deno.env.toObject()), programs });
 * const verdict = decide(["git", "push"], { rules: keeper.current, place: programs });
 * ```
 *
 * `keeper.current` is always the rules as the files are now, `decide` is pure, `explain` says why in words.
 */

export { explain } from "./explain.ts";
export { RuleFileError } from "./language/failure.ts";
export { loadRules, type RuleFile } from "./load.ts";
export { namedPlaces, type RulePlace, RulePlaceError, rulePlaces } from "./places.ts";
export { type CheckReport, checkReport } from "./policy/check_report.ts";
export { decide, type DecideContext, type Verdict } from "./policy/decide.ts";
export type { ProgramPlace } from "./policy/host_programs.ts";
export type { Decision, HostExecutable, NetworkRule, PrefixRule, RuleOrigin } from "./policy/rule.ts";
export { type RuleMatch, RuleSet } from "./policy/rule_set.ts";
export { joinWords } from "./policy/shell_words.ts";
export { findRuleFiles, readRuleFiles, RuleReadError } from "./rule_files.ts";
export { type KeeperOptions, RulesKeeper } from "./rules_keeper.ts";
