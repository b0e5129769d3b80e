/** `exec-server rules explain` and `rules list`: show the rules of this machine to people. */

import {
  explain,
  findRuleFiles,
  loadRules,
  namedPlaces,
  readRuleFiles,
  RuleFileError,
  RulePlaceError,
  rulePlaces,
  RuleReadError,
  type RuleSet,
} from "../../rules/mod.ts";
import { printable } from "../../printable.ts";
import { quoted, refusal, usageError } from "../cli_error.ts";
import { print } from "../print.ts";
import { listText } from "./list_text.ts";
import { programsHere } from "./programs_here.ts";
import { parseRuleWords } from "./rule_words.ts";

const HELP = `Usage: exec-server rules explain [flags] [--] COMMAND...
       exec-server rules list [flags]

explain says in one paragraph what the rules decide about a command, which rule
of which file and line decided, and what would have decided without it. list
shows every rule with its file and line. Both read the rules of this machine:
/etc/codex/rules/*.rules, then rules/*.rules below CODEX_HOME (~/.codex without
it), then what --rules names.

  -r, --rules PATH
      One more rule file, or a directory of them. May be given several times.
  --only
      Read only what --rules names.
  -h, --help
      Show this help.
`;

/** Resolves with the exit code. */
export async function rules(args: readonly string[]): Promise<number> {
  const [subcommand, ...rest] = args;
  if (subcommand === "--help" || subcommand === "-h" || subcommand === "help") {
    await print(HELP);
    return 0;
  }
  if (subcommand === undefined) throw usageError('rules needs a command: "explain" or "list"');
  if (subcommand !== "explain" && subcommand !== "list") {
    throw usageError(`unknown command ${quoted(`rules ${subcommand}`)}: there are "explain" and "list"`);
  }
  const { rules: named, switches, command, isHelp } = parseRuleWords(rest, ["only"]);
  if (isHelp) {
    await print(HELP);
    return 0;
  }
  if (subcommand === "explain" && command.length === 0) throw usageError("rules explain needs a command");
  if (subcommand === "list" && command[0] !== undefined) throw usageError(`unexpected argument ${quoted(command[0])}`);
  if (switches.has("only") && named.length === 0) throw usageError("--only needs --rules");

  const set = inForce(named, switches.has("only"));
  const text = subcommand === "list"
    ? listText(set)
    : `${printable(explain(command, { rules: set, place: programsHere() }))}\n`;
  await print(text);
  return 0;
}

function inForce(named: readonly string[], isOnly: boolean): RuleSet {
  try {
    const places = isOnly ? namedPlaces(named) : rulePlaces(Deno.env.toObject(), named);
    const { paths, skipped } = findRuleFiles(places);
    for (const path of skipped) {
      console.error(`exec-server: not read, because it is not a regular file: ${printable(path)}`);
    }
    return loadRules(readRuleFiles(paths), programsHere());
  } catch (error) {
    if (error instanceof RulePlaceError) throw refusal(error.message, error);
    if (error instanceof RuleReadError) throw refusal(`cannot read ${quoted(error.path)}: ${error.message}`, error);
    if (!(error instanceof RuleFileError)) throw error;
    throw refusal(`cannot use ${quoted(error.file)}: ${error.message}`, error);
  }
}
