/**
 * Waiting for children: how one ended, and when its number is released.
 *
 * A child that has ended stays a zombie until it is reaped. Until then its number, which is also that of its session
 * and process group, cannot be reused. So reading the status and reaping are two steps here: the owner reaps when it
 * will send no more signals.
 */

import { allocate, libcFunctions } from "../libc.ts";

/** Borrowed buffers, as in `libc.ts`. */
export const reapingFunctions = libcFunctions({
  waitid: { parameters: ["i32", "u32", "buffer", "i32"], result: "i32" },
  prctl: { parameters: ["i32", "usize", "usize", "usize", "usize"], result: "i32" },
  sigaction: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
});

const P_PID = 1;
/** Linux 5.4. */
const P_PIDFD = 3;
const WNOHANG = 0x0000_0001;
const WEXITED = 0x0000_0004;
const WNOWAIT = 0x0100_0000;

// Of `siginfo_t`, on every 64-bit Linux.
const SIGINFO_BYTES = 128;
const SI_CODE = 8;
const SI_PID = 16;
const SI_STATUS = 24;
const CLD_EXITED = 1;

const PR_SET_CHILD_SUBREAPER = 36;
const SIGCHLD = 17;
const SIG_IGN = 1n;
/** Larger than `struct sigaction` anywhere; the handler comes first on x86-64 and arm64. */
const SIGACTION_BYTES = 256;

export type ChildStatus =
  | { readonly type: "exited"; readonly code: number }
  | { readonly type: "signaled"; readonly signal: number }
  /** There is no such child any more: another part of the program reaped it. */
  | { readonly type: "unknown" };

const siginfo = allocate(SIGINFO_BYTES);
const siginfoView = new DataView(siginfo.buffer);

/** How a child of ours ended; null while it runs. It stays a zombie. */
export function peekStatus(pid: number): ChildStatus | null {
  return wait(pid, WEXITED | WNOHANG | WNOWAIT);
}

/** Releases the number of an ended child. Null when it still runs. */
export function reap(pid: number): ChildStatus | null {
  return wait(pid, WEXITED | WNOHANG);
}

/**
 * Waits until a child of ours has ended, and releases its number. For one that is ending: everything else stands still
 * meanwhile.
 */
export function awaitEnd(pid: number): void {
  reapingFunctions().waitid(P_PID, pid, siginfo, WEXITED);
}

/** Releases the number of exactly this process, if it is a child of ours that has ended. Never that of a later one. */
export function reapByPidfd(pidfd: number): void {
  reapingFunctions().waitid(P_PIDFD, pidfd, siginfo, WEXITED | WNOHANG);
}

function wait(pid: number, options: number): ChildStatus | null {
  // With WNOHANG success can also mean "nothing yet", shown by a pid of 0. The kernel may not write that 0, so it is
  // set here.
  siginfoView.setInt32(SI_PID, 0, true);
  if (reapingFunctions().waitid(P_PID, pid, siginfo, options) !== 0) return { type: "unknown" };
  if (siginfoView.getInt32(SI_PID, true) !== pid) return null;
  const status = siginfoView.getInt32(SI_STATUS, true);
  const isExit = siginfoView.getInt32(SI_CODE, true) === CLD_EXITED;
  return isExit ? { type: "exited", code: status } : { type: "signaled", signal: status };
}

/**
 * From now on orphans below us become our children instead of init's, where we can find, end and reap them. Not
 * inherited by children. False on a kernel without it.
 */
export function becomeSubreaper(): boolean {
  return reapingFunctions().prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n) === 0;
}

/**
 * A launcher may have left SIGCHLD ignored, which a new program inherits; then the kernel reaps every child itself and
 * its status is lost. This restores the default. A handler, which is the runtime's, is left alone.
 */
export function keepChildStatuses(): void {
  const c = reapingFunctions();
  const action = allocate(SIGACTION_BYTES);
  if (c.sigaction(SIGCHLD, null, action) !== 0) return;
  if (new DataView(action.buffer).getBigUint64(0, true) !== SIG_IGN) return;
  c.sigaction(SIGCHLD, allocate(SIGACTION_BYTES), null);
}
