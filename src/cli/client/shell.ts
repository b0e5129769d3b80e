/** The `shell` command: an interactive login shell of the box's user. */

import { usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { runFlags, sentVariables } from "./exec_words.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server shell [@NAME] [flags]

Opens your login shell, on your own server on this machine or wherever --url or
@NAME lead. It ends as the shell does. "~." at the beginning of a line ends the
connection; "~?" shows the other keys. A lost connection is tried again for
five minutes, while the shell waits.

  exec-server shell
  exec-server shell --url ssh://me@devbox -C /work`;

const FLAGS = {
  ...runFlags("Shell", "Directory to begin in."),
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function shell(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: FLAGS,
    introduction: INTRODUCTION,
    async run(invocation) {
      const { values, positionals } = invocation;
      if (positionals.length > 0) throw usageError("shell takes no command: use exec to run one");
      const env = await sentVariables({ env: values.env, files: [] }, Deno.env.toObject());
      const { runOnTerminal } = await import("./terminal/run_on_terminal.ts");
      return await runOnTerminal({
        where: invocation,
        argv: (box) => [box.environment.shell.path, "-l"],
        cwd: values.cwd,
        options: { env },
      });
    },
  });
}

/** For completions. */
export { FLAGS as SHELL_FLAGS };
