/** The `kill` command: sends a signal to processes, or ends them with all their descendants. */

import type { Devbox } from "../../client/devbox.ts";
import { ServerError } from "../../client/errors.ts";
import type { ProcessInfo } from "../../client/process/process_types.ts";
import { type Signal, wireSignal } from "../../client/process/signals.ts";
import { ERROR_CODES } from "../../protocol/error_codes.ts";
import type { MethodTypes } from "../../protocol/method_types.ts";
import { quoted, refusal, usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT } from "./exit_codes.ts";
import { findProcess, reachableProcesses } from "./find_process.ts";
import { openBox } from "./open_box.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server kill [@NAME] [-s SIGNAL] [--tree] ID|NAME...

Sends a signal to the groups of processes: SIGTERM unless you name another.
With --tree each gets SIGTERM, and what has not ended after five seconds is
killed with everything that descends from it.

  exec-server kill web
  exec-server kill -INT 4r1c0dq9m2zt   also -s INT, -2`;

const GRACE_MS = 5_000;

type Terminated = MethodTypes["process/terminate"]["result"];

export const KILL_FLAGS = {
  signal: {
    section: "Signal",
    kind: "text",
    short: "s",
    placeholder: "SIGNAL",
    default: null,
    hasVariable: false,
    whenAbsent: "TERM",
    help:
      "HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP or WINCH, with or without SIG in front, or a number.",
  },
  tree: {
    section: "Signal",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "End the process with everything that descends from it, in whatever group.",
  },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function kill(args: readonly string[]): Promise<number> {
  return runClientCommand(withSignalFlag(args), {
    flags: KILL_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals: words, ...where }) {
      const { tree, signal: given } = where.values;
      if (words.length === 0) {
        throw usageError("the process is missing: give its ID or NAME (exec-server ps lists them)");
      }
      if (tree && given !== null) throw usageError("--tree and -s cannot be combined");
      const signal = signalOf(given ?? "TERM");
      const { box } = await openBox(where);
      await using _closing = box;
      const processes = await reachableProcesses(box);
      // All words are understood before anything is sent.
      for (const process of words.map((word) => findProcess(processes, word))) {
        await end(box, process, { tree, signal });
      }
      return EXIT.ok;
    },
  });
}

/** `-9` and `-INT`, as other `kill`s take them, as the flag that they stand for. */
export function withSignalFlag(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.flatMap((word, index) => {
    const isValue = args[index - 1] === "-s" || args[index - 1] === "--signal";
    const isSignal = /^-(\d+|[A-Z][A-Z0-9]+)$/.test(word) && !isValue && (end === -1 || index < end);
    return isSignal ? ["-s", word.slice(1)] : [word];
  });
}

/** Numbers of Linux on every machine that this program runs on. */
const NUMBERS: Readonly<Record<string, string>> = {
  1: "HUP",
  2: "INT",
  3: "QUIT",
  9: "KILL",
  10: "USR1",
  12: "USR2",
  15: "TERM",
  18: "CONT",
  19: "STOP",
  20: "TSTP",
  28: "WINCH",
};

/** The signal that a word stands for: a name or a number. Throws a usage error that lists all signals. */
export function signalOf(word: string): Signal {
  const name = NUMBERS[word] ?? word.toUpperCase();
  const signal = (name.startsWith("SIG") ? name : `SIG${name}`) as Signal;
  try {
    wireSignal(signal);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usageError(`-s ${quoted(word)} is not a signal that can be sent: ${error.message.replace(/^.*: /, "")}`);
  }
  return signal;
}

async function end(box: Devbox, { uid, name, exited }: ProcessInfo, how: { tree: boolean; signal: Signal }) {
  if (exited && !how.tree) throw refusal(`cannot send a signal to ${quoted(name ?? uid)}: it has ended`);
  const wire = how.tree ? null : wireSignal(how.signal);
  if (wire !== null) return void await box.call("process/signal", { uid, signal: wire });
  const mode = how.tree ? { mode: { type: "graceful", timeoutMs: GRACE_MS }, tree: true } : {};
  const { survivorPids = [] } = await box.call<Terminated>("process/terminate", { uid, ...mode });
  if (survivorPids.length > 0) {
    throw new ServerError(
      "process/terminate",
      ERROR_CODES.internal,
      `could not be ended: pids ${survivorPids.join(", ")}`,
    );
  }
}
