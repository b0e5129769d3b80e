/**
 * Signal numbers and names of this host, and what an exit status means as an exit code.
 */

import type { SignalName } from "../protocol/process.ts";
import type { ExitStatus } from "./backend.ts";

/** Names by number, from 1. Both orders are fixed by their kernels. */
const LINUX = ("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP " +
  "TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS").split(" ");
const DARWIN = ("HUP INT QUIT ILL TRAP ABRT EMT FPE KILL BUS SEGV SYS PIPE ALRM TERM URG STOP TSTP CONT CHLD TTIN " +
  "TTOU IO XCPU XFSZ VTALRM PROF WINCH INFO USR1 USR2").split(" ");

const NAMES = Deno.build.os === "darwin" ? DARWIN : LINUX;

export const SIGTERM = numberOf("TERM");
export const SIGKILL = numberOf("KILL");
export const SIGSYS = numberOf("SYS");

const BY_WIRE_NAME: Readonly<Record<SignalName, number>> = {
  interrupt: numberOf("INT"),
  term: SIGTERM,
  hup: numberOf("HUP"),
  quit: numberOf("QUIT"),
  usr1: numberOf("USR1"),
  usr2: numberOf("USR2"),
  winch: numberOf("WINCH"),
  cont: numberOf("CONT"),
  tstp: numberOf("TSTP"),
  stop: numberOf("STOP"),
};

/** The number of a signal a peer may ask for. */
export function signalNumber(name: SignalName): number {
  return BY_WIRE_NAME[name];
}

/** `SIGTERM` for 15; a number without a name, such as a real-time signal, is shown as it is. */
export function signalText(signal: number): string {
  return `SIG${NAMES[signal - 1] ?? signal}`;
}

/** The status itself, or 128 plus the signal's number as shells do, or -1 when the status is not known. */
export function exitCodeOf(status: ExitStatus): number {
  switch (status.type) {
    case "exited":
      return status.code;
    case "signaled":
      return 128 + status.signal;
    case "unknown":
      return -1;
  }
}

function numberOf(name: string): number {
  return NAMES.indexOf(name) + 1;
}
