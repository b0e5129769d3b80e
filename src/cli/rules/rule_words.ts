/**
 * The words of the commands about rules: flags first, then a command to judge, which is never read as flags. `--` ends
 * the flags early, for a command that begins with a dash.
 */

import { quoted, usageError } from "../cli_error.ts";
import { nearestWord } from "../../nearest_word.ts";

export interface RuleWords {
  /** Files, in the order they were given. */
  readonly rules: readonly string[];
  /** Switches that were given, without their dashes. */
  readonly switches: ReadonlySet<string>;
  readonly command: readonly string[];
  readonly isHelp: boolean;
}

/** Reads the words by a command's switches. Throws a usage error (exit status 2) at the first fault. */
export function parseRuleWords(args: readonly string[], known: readonly string[]): RuleWords {
  const rules: string[] = [];
  const switches = new Set<string>();
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!;
    if (word === "--") return { rules, switches, command: args.slice(at + 1), isHelp: false };
    if (!word.startsWith("-") || word === "-") return { rules, switches, command: args.slice(at), isHelp: false };
    if (word === "--help" || word === "-h") return { rules, switches, command: [], isHelp: true };
    if (word === "--rules" || word === "-r") {
      const value = args[++at];
      if (value === undefined) throw usageError(`${word} needs a file`);
      rules.push(value);
    } else if (word.startsWith("--rules=")) rules.push(word.slice("--rules=".length));
    else if (/^-r./.test(word)) rules.push(word.slice(2).replace(/^=/, ""));
    else if (known.includes(word.slice(2)) && word.startsWith("--")) switches.add(word.slice(2));
    else throw unknownFlag(word, known);
  }
  return { rules, switches, command: [], isHelp: false };
}

function unknownFlag(word: string, known: readonly string[]): Error {
  const nearest = nearestWord(word.replace(/^-+/, "").replace(/=.*$/s, ""), ["rules", "help", ...known]);
  return usageError(`unknown flag ${quoted(word)}: ${nearest === null ? "see --help" : `did you mean --${nearest}?`}`);
}
