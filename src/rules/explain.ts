/** A decision in words: which rule decided, and what would have decided without it. One paragraph. */

import { decide, type DecideContext, type Verdict } from "./policy/decide.ts";
import { type Decision, originText, patternText, type PrefixRule } from "./policy/rule.ts";
import type { RuleMatch } from "./policy/rule_set.ts";
import { isDangerous } from "./policy/dangerous.ts";
import { joinWords } from "./policy/shell_words.ts";

const WORDS: Readonly<Record<Decision, string>> = {
  allow: "allowed",
  prompt: "asked about",
  forbidden: "forbidden",
};

export function explain(command: readonly string[], context: DecideContext): string {
  const verdict = decide(command, context);
  const shown = `\`${joinWords(command)}\``;
  return verdict.by === "rules" ? ofRules(shown, command, verdict) : ofHeuristic(shown, command, verdict, context);
}

function ofRules(shown: string, command: readonly string[], verdict: Extract<Verdict, { by: "rules" }>): string {
  const deciding = verdict.matches.find(({ rule }) => rule.decision === verdict.decision)!;
  const others = verdict.matches.filter((match) => match !== deciding);
  const sentences = [
    `${shown} is ${WORDS[verdict.decision]} by ${described(deciding.rule)}.`,
    ...(deciding.resolvedProgram === null
      ? []
      : [`The rule is for ${deciding.rule.first}, which is ${deciding.resolvedProgram} here.`]),
    next(command, others),
  ];
  return sentences.join(" ");
}

/** What would have decided without the rule that did. */
function next(command: readonly string[], others: readonly RuleMatch[]): string {
  if (others.length === 0) {
    return `Without it no rule would match, and the command would be ${heuristicWords(command)}.`;
  }
  const decisions = ["forbidden", "prompt", "allow"] as const;
  const strictest = decisions.find((decision) => others.some(({ rule }) => rule.decision === decision))!;
  const { rule } = others.find((match) => match.rule.decision === strictest)!;
  const more = others.length === 1 ? "" : ` (${others.length} other rules match)`;
  return `Without it the command would be ${WORDS[strictest]} by ${described(rule)}${more}.`;
}

function ofHeuristic(
  shown: string,
  command: readonly string[],
  verdict: Verdict,
  { rules, place }: DecideContext,
): string {
  const sentences = [`No rule matches ${shown}: it is ${heuristicWords(command)}.`];
  const program = command[0];
  if (program === undefined) return sentences[0]!;
  const resolved = place === null ? null : rules.resolve(program, place);
  const unlisted = resolved !== null && !resolved.isListed && program.includes("/");
  const about = rules.index.about(program);
  const named = about.length > 0 || resolved === null || unlisted ? about : rules.index.about(resolved.name);
  const nearest = nearestRule(named, command);
  if (unlisted) {
    const { origin } = rules.hostExecutables.get(resolved.name)!;
    sentences.push(
      `Rules about ${resolved.name} do not apply to ${resolved.path}: host_executable in ${originText(origin)} ` +
        `lists other paths.`,
    );
  } else if (nearest !== null) {
    sentences.push(`The nearest rule is ${described(nearest.rule)}: ${nearest.difference}.`);
  } else sentences.push(`None of the ${rules.rules.length} rules in ${rules.files.length} files is for ${program}.`);
  return sentences.join(" ") + (verdict.decision === "prompt" ? " A rule of your own can allow or forbid it." : "");
}

function heuristicWords(command: readonly string[]): string {
  return isDangerous(command) ? "asked about, since it looks dangerous" : "allowed, since it does not look dangerous";
}

function described(rule: PrefixRule): string {
  const reason = rule.justification === null ? "" : `, because: ${rule.justification.trim()}`;
  return `the rule \`${patternText(rule)}\` of ${originText(rule.origin)}${reason}`;
}

/** The rule that agrees with the command for the most words, and where it stops to agree. */
function nearestRule(
  candidates: readonly PrefixRule[],
  command: readonly string[],
): { rule: PrefixRule; difference: string } | null {
  let best: { rule: PrefixRule; agreed: number } | null = null;
  for (const rule of candidates) {
    let agreed = 0;
    while (agreed < rule.rest.length && rule.rest[agreed]!.includes(command[agreed + 1] ?? "\0")) agreed++;
    if (best === null || agreed > best.agreed) best = { rule, agreed };
  }
  if (best === null) return null;
  const wanted = best.rule.rest[best.agreed]!.map((word) => `\`${word}\``).join(" or ");
  const actual = command[best.agreed + 1];
  const difference = `word ${best.agreed + 2} has to be ${wanted}, ` +
    (actual === undefined ? "and the command ends before it" : `and is \`${actual}\``);
  return { rule: best.rule, difference };
}
