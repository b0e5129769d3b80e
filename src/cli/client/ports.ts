/** The `ports` command: what listens, and in which process tree. */

import { refusal, refuseSurplus } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { textTable } from "../text_table.ts";
import { runClientCommand } from "./client_command.ts";
import { reachableProcesses } from "./find_process.ts";
import { commandText } from "./human_text.ts";
import { openBox } from "./open_box.ts";
import { JSON_FLAG, printed, printedJson } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server ports [@NAME] [--json] [flags]

Lists the TCP ports on which processes of the server, or what they have
started, listen. exec-server tunnel connects to one of them.

  exec-server ports
  exec-server ports @devbox --json`;

export const PORTS_FLAGS = { json: JSON_FLAG, ...WHERE_FLAGS, help: HELP_FLAG } as const satisfies FlagTable;

/** Resolves with the exit code. */
export function ports(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: PORTS_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      refuseSurplus(positionals[0]);
      const { box } = await openBox(where);
      await using _closing = box;
      if (!box.has("processDetails")) throw refusal("cannot list ports: this server does not support it");
      const processes = await reachableProcesses(box, { details: true });
      const found = processes.flatMap(({ uid, name = null, argv, details }) =>
        (details?.ports ?? []).map(({ address, port, pid }) => ({ port, address, pid, id: uid, name, argv }))
      ).sort((one, other) => one.port - other.port);
      if (where.values.json) return await printedJson(found);
      return await printed(textTable([
        ["PORT", "ADDRESS", "PID", "ID", "NAME", "COMMAND"],
        ...found.map(({ port, address, pid, id, name, argv }) => [
          String(port),
          address,
          String(pid),
          id,
          name ?? "-",
          commandText(argv),
        ]),
      ]));
    },
  });
}
