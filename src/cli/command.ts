/**
 * Decides which command an argv asks for. Loaded by every mode of the program, so it imports almost nothing.
 *
 * The commands' own words are left to the commands: this reads only the first word.
 */

import { quoted, usageError } from "./cli_error.ts";
import { nearestWord } from "./nearest_word.ts";

/** What runs when the first word is a flag or there is none. */
export const DEFAULT_COMMAND = "serve";

export interface CommandLine<Command extends string> {
  readonly command: Command;
  /** Everything that follows the command. */
  readonly args: readonly string[];
}

/** Splits argv into one of `commands` and its arguments; throws a usage error that names the nearest command. */
export function splitCommand<Command extends string>(
  argv: readonly string[],
  commands: readonly (Command | typeof DEFAULT_COMMAND)[],
): CommandLine<Command | typeof DEFAULT_COMMAND> {
  const [first, ...rest] = argv;
  if (first === undefined || first.startsWith("-")) return { command: DEFAULT_COMMAND, args: argv };
  const command = commands.find((name) => name === first);
  if (command !== undefined) return { command, args: rest };

  const nearest = nearestWord(first, commands);
  const hint = nearest === null ? "see --help" : `did you mean ${quoted(nearest)}?`;
  throw usageError(`unknown command ${quoted(first)}: ${hint}`);
}
