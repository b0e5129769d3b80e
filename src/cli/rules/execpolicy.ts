/**
 * `exec-server execpolicy check`: works like the reference's checker, with its JSON, its texts and its exit codes. The
 * decision is only in the JSON: the exit code is 0 even for a forbidden command.
 */

import { checkReport, loadRules, readRuleFiles, RuleFileError, RuleReadError, type RuleSet } from "../../rules/mod.ts";
import { printable } from "../../printable.ts";
import { quoted, usageError } from "../cli_error.ts";
import { print } from "../print.ts";
import { programsHere } from "./programs_here.ts";
import { parseRuleWords } from "./rule_words.ts";

/** A file cannot be read, or is not a rule file. */
const EXIT_UNUSABLE = 1;

const HELP = `Usage: exec-server execpolicy check --rules FILE... [flags] [--] COMMAND...

Says what rule files decide about a command, as one line of JSON: the rules that
match, and the strictest decision. If no rule matches, there is no decision.
Exit status: 0 whatever the decision is, 1 when a file cannot be used, 2 when
the command line is not understood.

  -r, --rules FILE
      A rule file. May be given several times; the rules of all files apply.
  --pretty
      Print the JSON on several lines.
  --resolve-host-executables
      For a program given by its path, also use rules for its name, unless a
      rule names the path or host_executable() lists other paths for the name.
  -h, --help
      Show this help.
`;

/** Resolves with the exit code. */
export async function execpolicy(args: readonly string[]): Promise<number> {
  const [subcommand, ...rest] = args;
  if (subcommand === "--help" || subcommand === "-h" || subcommand === "help") {
    await print(HELP);
    return 0;
  }
  if (subcommand === undefined) throw usageError('execpolicy needs a command: there is "check"');
  if (subcommand !== "check") {
    throw usageError(`unknown command ${quoted(`execpolicy ${subcommand}`)}: there is "check"`);
  }
  const { rules: paths, switches, command, isHelp } = parseRuleWords(rest, ["pretty", "resolve-host-executables"]);
  if (isHelp) {
    await print(HELP);
    return 0;
  }
  if (paths.length === 0) throw usageError("execpolicy check needs --rules FILE");
  if (command.length === 0) throw usageError("execpolicy check needs a command to check");

  const rules = loaded(paths);
  if (rules === null) return EXIT_UNUSABLE;
  const place = switches.has("resolve-host-executables") ? programsHere() : null;
  const report = checkReport(rules.matches(command, place));
  await print(`${JSON.stringify(report, null, switches.has("pretty") ? 2 : undefined)}\n`);
  return 0;
}

/** The rules of all files; null if one cannot be used, which was reported then. */
function loaded(paths: readonly string[]): RuleSet | null {
  try {
    return loadRules(readRuleFiles(paths), programsHere());
  } catch (error) {
    if (error instanceof RuleReadError) complain(`failed to read policy at ${error.path}`, error.message);
    else if (error instanceof RuleFileError) complain(`failed to parse policy at ${error.file}`, error.message);
    else throw error;
    return null;
  }
}

/** In the reference's form. File names and lines come from others, so they are printed without terminal escapes. */
function complain(what: string, cause: string): void {
  const lines = cause.split("\n").map((line) => `    ${printable(line)}`.trimEnd());
  console.error(`Error: ${printable(what)}\n\nCaused by:\n${lines.join("\n")}`);
}
