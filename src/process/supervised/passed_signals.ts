/**
 * Passes signals that wait for a caller on to the program that runs in its place.
 *
 * A signal waits as long as the caller's call does: of a caller that is held (`held_caller.ts`) every signal but SIGKILL,
 * of others one that it would handle, or that would stop it. Each is passed on once. Not those that the caller ignores:
 * if it had become the program, the program would ignore them too. Only stops are ever taken back: SIGCONT removes them,
 * and does not always wait itself. So a stop that no longer waits means SIGCONT.
 */

import { threadStatus } from "../../os/children/foreign_process.ts";
import type { SpawnedProcess } from "../backend.ts";

/** Between two looks for signals: too short for people to notice. */
const LOOK_MS = 50;

// Linux's numbers: callers are supervised nowhere else.
const SIGNALS = 64;
const SIGCHLD = 17;
const SIGCONT = 18;
/** SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU. */
const STOPS = maskOf(19, 20, 21, 22);

/** The function that is returned stops it. */
export function passSignalsOn(tid: number, program: Pick<SpawnedProcess, "signalGroup">): () => void {
  let seen = 0n;
  const timer = setInterval(() => {
    const status = threadStatus(tid);
    if (status === null) return;
    // SIGCHLD is about the caller's own children, which are not the program's.
    const waiting = status.pendingSignals & ~status.ignoredSignals & ~maskOf(SIGCHLD);
    for (const signal of signalsToPass(seen, waiting)) program.signalGroup(signal);
    seen = waiting;
  }, LOOK_MS);
  return () => clearInterval(timer);
}

/** What has happened between two looks. Signals are bits, from signal 1 on. */
export function signalsToPass(before: bigint, now: bigint): number[] {
  const goesOn = (before & ~now & STOPS) !== 0n;
  // First, so that a stop that came after it holds.
  const continued = goesOn && (now & maskOf(SIGCONT)) === 0n ? [SIGCONT] : [];
  const all = Array.from({ length: SIGNALS }, (_, index) => index + 1);
  return [...continued, ...all.filter((signal) => (now & ~before & maskOf(signal)) !== 0n)];
}

function maskOf(...signals: readonly number[]): bigint {
  return signals.reduce((mask, signal) => mask | 1n << BigInt(signal - 1), 0n);
}
