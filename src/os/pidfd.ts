/**
 * Pidfds: descriptors that stand for one process and never for a later one with the same number.
 */

import { closeDescriptor } from "./descriptor.ts";
import { libc } from "./libc.ts";
import { readStat } from "./procfs.ts";

// By number, the same on every architecture: the C library has wrappers only since glibc 2.36.
const SYS_PIDFD_SEND_SIGNAL = 424n;
const SYS_PIDFD_OPEN = 434n;

/** Which process is meant: numbers are reused, but not within the same clock tick. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot. */
  readonly startTime: number;
}

/** A close-on-exec descriptor owned by the caller; negative when the process is gone or the kernel has no pidfds. */
export function openPidfd(pid: number): number {
  return libc().syscall(SYS_PIDFD_OPEN, BigInt(pid), 0n, 0n, 0n);
}

/** Sends a signal to exactly this process; false when it is gone or not ours to signal. */
export function signalProcess(target: ProcessIdentity, signal: number): boolean {
  const pidfd = openPidfd(target.pid);
  try {
    // Checked after opening: from here on the descriptor cannot come to mean another process.
    if (readStat(target.pid)?.startTime !== target.startTime) return false;
    // Without pidfds there is an instant left in which the number could change hands.
    if (pidfd < 0) return libc().kill(target.pid, signal) === 0;
    return libc().syscall(SYS_PIDFD_SEND_SIGNAL, BigInt(pidfd), BigInt(signal), 0n, 0n) === 0;
  } finally {
    if (pidfd >= 0) closeDescriptor(pidfd);
  }
}
