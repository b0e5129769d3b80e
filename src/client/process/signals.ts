/** Signals by the names that people and operating systems use. */

import type { SignalName as WireSignal } from "../../protocol/process.ts";

/**
 * The signals of `kill`. `SIGKILL` ends the process with its whole group.
 *
 * ```ts
 * const gentle: Signal = "SIGINT";
 * await handle.kill(gentle);
 * ```
 */
export type Signal =
  | "SIGINT"
  | "SIGTERM"
  | "SIGKILL"
  | "SIGHUP"
  | "SIGQUIT"
  | "SIGUSR1"
  | "SIGUSR2"
  | "SIGWINCH"
  | "SIGCONT"
  | "SIGTSTP"
  | "SIGSTOP";

const WIRE_NAMES: Readonly<Record<Exclude<Signal, "SIGKILL">, WireSignal>> = {
  SIGINT: "interrupt",
  SIGTERM: "term",
  SIGHUP: "hup",
  SIGQUIT: "quit",
  SIGUSR1: "usr1",
  SIGUSR2: "usr2",
  SIGWINCH: "winch",
  SIGCONT: "cont",
  SIGTSTP: "tstp",
  SIGSTOP: "stop",
};

/** The protocol's name of a signal; null for `SIGKILL`, which is a method of its own. */
export function wireSignal(signal: Signal): WireSignal | null {
  if (signal === "SIGKILL") return null;
  const name = WIRE_NAMES[signal];
  if (name !== undefined) return name;
  const known = [...Object.keys(WIRE_NAMES), "SIGKILL"].join(", ");
  throw new TypeError(`cannot send the signal ${JSON.stringify(signal)}: known are ${known}`);
}
