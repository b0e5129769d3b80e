/**
 * Decides which command an argv asks for. Loaded by every mode of the program, so it imports almost nothing.
 *
 * The commands' own words are left to the commands: this reads only the first word.
 */

import { quoted, usageError } from "./cli_error.ts";
import { nearestWord } from "../nearest_word.ts";

/** The command if the first word is a flag or missing. */
const DEFAULT_COMMAND = "serve";

export interface CommandLine<Command extends string> {
  readonly command: Command;
  /** The words after the command. */
  readonly args: readonly string[];
}

/** `help doctor` is `doctor --help`. */
const HELP = "help";

/** A flag of remote mode, which does not serve on a port. */
const REMOTE_WORD = /^--(?:remote|executor-id|environment-id)(?:=|$)/;

/** Whether the words of `serve` ask for remote mode, which has other flags. */
export function asksForRemote(args: readonly string[]): boolean {
  return args.some((word) => REMOTE_WORD.test(word));
}

/**
 * The help of a hidden mode, if it is asked for; otherwise null. Only the first word counts, because later ones may
 * belong to another program.
 */
export function hiddenHelp(mode: string, args: readonly string[]): (() => Promise<number>) | null {
  if (args[0] !== "--help" && args[0] !== "-h") return null;
  return async () => {
    const { print } = await import("./print.ts");
    await print(`exec-server ${mode} is an internal mode that the server starts itself. Do not start it by hand.\n`);
    return 0;
  };
}

/**
 * Splits argv into one of the commands and its arguments; throws a usage error that names the nearest of `commands`.
 * `hidden` ones, which are for the program itself, are taken but never named.
 */
export function splitCommand<Command extends string>(
  argv: readonly string[],
  commands: readonly (Command | typeof DEFAULT_COMMAND)[],
  hidden: readonly Command[] = [],
): CommandLine<Command | typeof DEFAULT_COMMAND> {
  const [first, ...rest] = argv;
  if (first === undefined || first.startsWith("-")) return { command: DEFAULT_COMMAND, args: argv };
  if (first === HELP) return { ...splitCommand(rest.slice(0, 1), commands), args: ["--help"] };
  const command = [...commands, ...hidden].find((name) => name === first);
  if (command !== undefined) return { command, args: rest };

  const nearest = nearestWord(first, [...commands, HELP]);
  const hint = nearest === null ? "see --help" : `did you mean ${quoted(nearest)}?`;
  throw usageError(`unknown command ${quoted(first)}: ${hint}`);
}
