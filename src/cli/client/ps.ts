/** The `ps` command: what runs on a server and outlives its session. */

import { pathOf } from "../../client/fs/paths.ts";
import type { ProcessInfo } from "../../client/process/process_types.ts";
import { refuseSurplus } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { textTable } from "../text_table.ts";
import { runClientCommand } from "./client_command.ts";
import { reachableProcesses } from "./find_process.ts";
import { ageText, byteText, commandText } from "./human_text.ts";
import { openBox } from "./open_box.ts";
import { allSwitch, JSON_FLAG, printed, printedJson } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server ps [@NAME] [-a] [--json] [flags]

Lists the processes that were left running (exec --detach, or kept by another
client). CPU time, memory and ports include everything that a process started.

  exec-server ps                       those on your own server
  exec-server ps @devbox -a --json     also ended ones, as JSON`;

export const PS_FLAGS = {
  all: allSwitch("Also list ended processes whose output is still kept."),
  json: JSON_FLAG,
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function ps(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: PS_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      refuseSurplus(positionals[0]);
      const { box } = await openBox(where);
      await using _closing = box;
      const all = await reachableProcesses(box, { details: true });
      const shown = where.values.all ? all : all.filter(({ closed }) => !closed);
      return where.values.json ? await printedJson(shown.map(record)) : await printed(table(shown));
    },
  });
}

/** The shape of `--json`, one for each process. */
function record(process: ProcessInfo): Record<string, unknown> {
  const { uid, name = null, pid, argv, cwd, tty, ageMs, exited, exitCode, closed, nextSeq, details } = process;
  return {
    id: uid,
    name,
    pid,
    argv,
    cwd: pathOf(cwd),
    tty,
    ageMs,
    exited,
    exitCode,
    closed,
    nextSeq,
    details: details ?? null,
  };
}

function table(processes: readonly ProcessInfo[]): string {
  return textTable([
    ["ID", "NAME", "PID", "STATE", "AGE", "CPU", "MEMORY", "PORTS", "COMMAND"],
    ...processes.map(({ uid, name, pid, exited, exitCode, ageMs, details, argv }) => [
      uid,
      name ?? "-",
      pid === null ? "-" : String(pid),
      exited ? `exit ${exitCode ?? "?"}` : "running",
      ageText(ageMs),
      details?.cpuMs === null || details === undefined ? "-" : ageText(details.cpuMs),
      details?.memoryBytes === null || details === undefined ? "-" : byteText(details.memoryBytes),
      [...new Set(details?.ports.map(({ port }) => port) ?? [])].join(",") || "-",
      commandText(argv),
    ]),
  ]);
}
