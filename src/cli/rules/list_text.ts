/** Every rule on a line of its own, for `rules list`. */

import { joinWords, type RuleSet } from "../../rules/mod.ts";
import { printable } from "../../printable.ts";

export function listText({ files, rules, networkRules, hostExecutables }: RuleSet): string {
  const origin = ({ file, line }: { file: string; line: number }) => `${file}:${line}`;
  const reason = (justification: string | null) => justification === null ? "" : `  # ${justification.trim()}`;
  const lines = [
    `${files.length} ${files.length === 1 ? "file" : "files"}, ${rules.length} ${
      rules.length === 1 ? "rule" : "rules"
    }`,
    ...rules.map((rule) => {
      const words = rule.rest.map((alternatives) => {
        return alternatives.length === 1
          ? joinWords(alternatives)
          : `[${alternatives.map((word) => joinWords([word])).join("|")}]`;
      });
      const pattern = [joinWords([rule.first]), ...words].join(" ");
      return `${rule.decision.padEnd(9)} ${pattern}  ${origin(rule.origin)}${reason(rule.justification)}`;
    }),
    ...Array.from(hostExecutables.values(), ({ name, paths, origin: at }) => {
      return `host      ${name} is ${paths.length === 0 ? "nowhere" : joinWords(paths)}  ${origin(at)}`;
    }),
    ...networkRules.map(({ decision, protocol, host, origin: at, justification }) => {
      return `network   ${decision} ${protocol} ${host} (not enforced)  ${origin(at)}${reason(justification)}`;
    }),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}
