/**
 * Pidfds: descriptors that stand for one process and never for a later one with the same number.
 */

import { closeDescriptor } from "../descriptor.ts";
import { libc, libcFunctions } from "../libc.ts";
import { readStat } from "./procfs.ts";

const signalFunctions = libcFunctions({
  kill: { parameters: ["i32", "i32"], result: "i32" },
});

// By number, the same on every architecture: the C library has wrappers only since glibc 2.36.
const SYS_PIDFD_SEND_SIGNAL = 424n;
const SYS_PIDFD_OPEN = 434n;

/** Identifies a process: numbers are reused, but not within the same clock tick. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot. */
  readonly startTime: number;
}

/** A close-on-exec descriptor owned by the caller; negative when the process is gone or the kernel has no pidfds. */
export function openPidfd(pid: number): number {
  return libc().syscall(SYS_PIDFD_OPEN, BigInt(pid), 0n, 0n, 0n);
}

/** Whether the process of a descriptor still exists, even as a zombie: then no other process has its number. */
export function isPidfdThere(pidfd: number): boolean {
  return libc().syscall(SYS_PIDFD_SEND_SIGNAL, BigInt(pidfd), 0n, 0n, 0n) === 0;
}

/** Sends a signal to exactly this process; false when it is gone or not ours to signal. */
export function signalProcess(target: ProcessIdentity, signal: number): boolean {
  const pidfd = openPidfd(target.pid);
  try {
    // Checked after opening: from here on the descriptor cannot mean another process.
    if (readStat(target.pid)?.startTime !== target.startTime) return false;
    // Without pidfds the number could be reused in the last instant.
    if (pidfd < 0) return sendSignal(target.pid, signal);
    return libc().syscall(SYS_PIDFD_SEND_SIGNAL, BigInt(pidfd), BigInt(signal), 0n, 0n) === 0;
  } finally {
    if (pidfd >= 0) closeDescriptor(pidfd);
  }
}

/**
 * Sends a signal to the process with this number, or to a process group by its negative number; false when there is
 * none, or it is not ours. Only for numbers that cannot have been reused: children that were not reaped.
 */
export function sendSignal(pid: number, signal: number): boolean {
  return signalFunctions().kill(pid, signal) === 0;
}
