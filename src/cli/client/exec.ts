/** The `exec` command: runs a command on a box as if it ran here, or leaves it running there. */

import type { SpawnOptions } from "../../client/process/spawn_options.ts";
import { usageError } from "../cli_error.ts";
import { durationMs } from "../duration.ts";
import type { FlagTable } from "../flags.ts";
import { type Invocation, runClientCommand } from "./client_command.ts";
import { runFlags, sentVariables, workingDirectory } from "./exec_words.ts";
import { EXIT } from "./exit_codes.ts";
import { openBox } from "./open_box.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";
import { runOnPipes } from "./run_on_pipes.ts";

const INTRODUCTION = `Usage: exec-server exec [@NAME] [flags] [--] COMMAND [ARG...]

Runs a command, on your own server on this machine or wherever --url or @NAME
lead, and ends with its exit code: 128 and the number of a signal that ended
it, 124 after --timeout, 125 for an error of this program, 126 and 127 for a
program that cannot be executed or found, 255 without a connection. Put flags
before the command: words after it belong to it. With -t, "~." at the beginning
of a line ends the connection.

  exec-server exec @devbox ls -la
  exec-server exec --detach --name web -- npm run dev`;

const FLAGS = {
  interactive: {
    section: "Command",
    kind: "switch",
    short: "i",
    default: false,
    hasVariable: false,
    help: "Send standard input to the command. Without it the command reads nothing.",
  },
  tty: {
    section: "Command",
    kind: "switch",
    short: "t",
    default: false,
    hasVariable: false,
    help: "Run the command on a terminal, with your keys as its input.",
  },
  ...runFlags("Command", "Directory to run in."),
  "env-file": {
    section: "Command",
    kind: "list",
    placeholder: "PATH",
    default: [],
    isWhole: true,
    hasVariable: false,
    help: "File of NAME=VALUE lines.",
  },
  timeout: {
    section: "Command",
    kind: "text",
    placeholder: "DURATION",
    default: null,
    hasVariable: false,
    whenAbsent: "none",
    help: "End the command after this time, such as 90s or 2h.",
  },
  sandbox: {
    section: "Command",
    kind: "choice",
    choices: ["read-only", "workspace-write"],
    default: null,
    hasVariable: false,
    whenAbsent: "none",
    help: "Confine the command: no writes, or only below its directory; no network.",
  },
  detach: {
    section: "Command",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Leave the command running, and print its id. The end of the server, or kill, ends it.",
  },
  name: {
    section: "Command",
    kind: "text",
    placeholder: "NAME",
    default: null,
    hasVariable: false,
    help: "With --detach: a name for attach, logs and kill.",
  },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function exec(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: FLAGS,
    introduction: INTRODUCTION,
    grammar: { endsAtPositional: true },
    run,
  });
}

async function run(invocation: Invocation<typeof FLAGS>): Promise<number> {
  const { values, positionals: argv } = invocation;
  if (argv[0] === undefined) throw usageError("there is no command to run: see --help");
  if (values.name !== null && !values.detach) {
    throw usageError("--name needs --detach: only a process that is left running has a name");
  }
  const timeoutMs = durationMs("--timeout", values.timeout);
  const env = await sentVariables({ env: values.env, files: values["env-file"] }, Deno.env.toObject());
  const options: SpawnOptions = {
    env,
    ...(timeoutMs === null ? {} : { timeout: timeoutMs }),
    ...(values.sandbox === null ? {} : { sandbox: values.sandbox }),
    ...(values.interactive && !values.tty ? { stdin: "piped" as const } : {}),
  };
  if (values.detach) return await leave(invocation, options);
  if (values.tty) {
    const { runOnTerminal } = await import("./terminal/run_on_terminal.ts");
    return await runOnTerminal({ where: invocation, argv, cwd: values.cwd, options });
  }
  return await runOnPipes({ where: invocation, argv, cwd: values.cwd, options });
}

/** `--detach`. */
async function leave({ values, positionals: argv, ...where }: Invocation<typeof FLAGS>, options: SpawnOptions) {
  const { box, place } = await openBox({ ...where, values });
  const { starting } = await import("./start_command.ts");
  await using _closing = box;
  const handle = await starting(box, argv, {
    ...options,
    cwd: workingDirectory(values.cwd, { box, place }),
    ...(values.tty ? { tty: true } : {}),
    ...(values.name === null ? {} : { name: values.name }),
    keep: true,
  });
  const { print } = await import("../print.ts");
  await print(`${handle.uid ?? handle.id}\n`);
  return EXIT.ok;
}

/** For completions. */
export { FLAGS as EXEC_FLAGS };
