/** The `completions` command: a script for a shell, made from the tables of the commands. */

import { quoted, refuseSurplus, usageError } from "../cli_error.ts";
import { COMMAND_WORDS } from "../command_words.ts";
import { print } from "../print.ts";
import { COMMAND_TABLES } from "./command_tables.ts";
import { bashScript, fishScript, type ScriptCommand, zshScript } from "./scripts.ts";

const HELP = `Usage: exec-server completions bash|zsh|fish

Prints completions of all commands and flags for a shell.

  source <(exec-server completions bash)      in ~/.bashrc; zsh the same, after compinit
  exec-server completions fish | source       in ~/.config/fish/config.fish
`;

const SCRIPTS: Readonly<Record<string, (commands: readonly ScriptCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Resolves with the exit code. */
export async function completions(args: readonly string[]): Promise<number> {
  const [shell, surplus] = args;
  if (args.some((word) => word === "--help" || word === "-h")) {
    await print(HELP);
    return 0;
  }
  refuseSurplus(surplus);
  if (shell === undefined) throw usageError("the shell is missing: write bash, zsh or fish");
  const script = SCRIPTS[shell];
  if (script === undefined) throw usageError(`there are no completions for ${quoted(shell)}: write bash, zsh or fish`);
  const commands = await Promise.all(
    Object.entries(COMMAND_WORDS).map(async ([name, { about }]) => {
      const { flags, words = [] } = COMMAND_TABLES[name as keyof typeof COMMAND_WORDS];
      return { name, about, flags: await flags(), words };
    }),
  );
  await print(script(commands));
  return 0;
}
