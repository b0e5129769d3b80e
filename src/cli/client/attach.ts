/** The `attach` command: shows a running process on this terminal, until the user leaves it or it ends. */

import { quoted, refusal, refuseSurplus, usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { openBox } from "./open_box.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server attach [@NAME] [flags] ID|NAME

Shows a process that was started with exec --detach, or by any other client, and
sends it your keys. A terminal is drawn as it is now; without one you see all
output that the server has kept. "~." at the beginning of a line detaches: the
process goes on. Others may be attached, too. When the process ends, attach
ends with its exit code.

  exec-server attach web
  exec-server attach @devbox --view web`;

const FLAGS = {
  view: {
    section: "Process",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Only watch: send no keys, and do not resize its terminal.",
  },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function attach(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: FLAGS,
    introduction: INTRODUCTION,
    async run(invocation) {
      const { values, positionals: [name, extra] } = invocation;
      if (name === undefined) throw usageError("the process is missing: give its ID or NAME");
      refuseSurplus(extra);
      const { box } = await openBox(invocation);
      await using _closing = box;
      if (!box.has("processAttach")) throw refusal(`cannot attach to ${quoted(name)}: this server does not support it`);
      const { attachTo } = await import("./terminal/attached_process.ts");
      return await attachTo(box, name, { role: values.view ? "view" : "control" });
    },
  });
}

/** For completions. */
export { FLAGS as ATTACH_FLAGS };
