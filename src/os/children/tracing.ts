/**
 * Tracing one thread of another process: to stop it, to make it end or go on, and to keep signals from ending it.
 *
 * Everything is asked on the event loop's thread, because for the kernel the tracer is a thread and not a process.
 * Nothing waits here: a caller that wants a stop asks again (`stopOf`). A traced thread that was killed must be
 * released by its tracer (`releaseIfDead`). If this program is killed, the kernel lets the thread go on as it was, or
 * kills it where that was asked for.
 *
 * Registers are laid out differently on each architecture. Only x86-64 is known here.
 */

import { addressOf, allocate, libc } from "../libc.ts";
import { reapingFunctions } from "./child_reaping.ts";
import { readStat } from "./procfs.ts";

/** Whether this system can make a thread end. */
export const CAN_TRACE = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

const SYS_PTRACE = 101n;
const PTRACE_GETREGS = 12n;
const PTRACE_SETREGS = 13n;
const PTRACE_DETACH = 17n;
const PTRACE_SEIZE = 0x4206n;
const PTRACE_INTERRUPT = 0x4207n;
const PTRACE_SETSIGMASK = 0x420bn;
const PTRACE_O_TRACEEXEC = 0x10n;
const PTRACE_O_EXITKILL = 0x10_0000n;

const P_PID = 1;
const WNOHANG = 0x0000_0001;
const WSTOPPED = 0x0000_0002;
const WEXITED = 0x0000_0004;
/** Also threads, and children that do not signal their end. */
const WALL = 0x4000_0000;

// Of `siginfo_t`, on every 64-bit Linux.
const SIGINFO_BYTES = 128;
const SI_PID = 16;
const SI_STATUS = 24;
const siginfo = allocate(SIGINFO_BYTES);
const siginfoView = new DataView(siginfo.buffer);

/** In the status of a stop, in the bits above the signal. */
const PTRACE_EVENT_EXEC = 4;

// `struct user_regs_struct` of x86-64: 27 words, of which these are changed.
const REGISTERS_BYTES = 27 * 8;
const RAX = 10 * 8;
const RDI = 14 * 8;
const ORIG_RAX = 15 * 8;
const RIP = 16 * 8;
const registers = allocate(REGISTERS_BYTES);
const registersView = new DataView(registers.buffer);

/** The kernel's signal set: 64 bits. It never blocks SIGKILL and SIGSTOP. */
const SIGNAL_SET_BYTES = 8;
const ALL_SIGNALS = allocate(SIGNAL_SET_BYTES).fill(0xff);

const SYS_EXIT_GROUP = 231n;
/** The length of the instruction `syscall`. */
const SYSCALL_BYTES = 2n;

export interface SeizeOptions {
  readonly stopsAtExec?: boolean;
  /** The kernel kills its process if this program ends while it is traced. */
  readonly endsWithUs?: boolean;
}

/** Starts tracing a thread, which goes on meanwhile; false when it is gone, already traced, or not ours to trace. */
export function seize(tid: number, { stopsAtExec = false, endsWithUs = false }: SeizeOptions = {}): boolean {
  return ptrace(PTRACE_SEIZE, tid, 0n, (stopsAtExec ? PTRACE_O_TRACEEXEC : 0n) | (endsWithUs ? PTRACE_O_EXITKILL : 0n));
}

/** The thread stops before it next returns from the kernel. */
export function interrupt(tid: number): boolean {
  return ptrace(PTRACE_INTERRUPT, tid, 0n, 0n);
}

/** `exec`: it has just become another program, which has not begun. `other`: it is about to return from the kernel. */
export type Stop = "exec" | "other";

/** The stop that a traced thread is in; null while it is in none. Each stop is reported once. */
export function stopOf(tid: number): Stop | null {
  siginfoView.setInt32(SI_PID, 0, true);
  if (reapingFunctions().waitid(P_PID, tid, siginfo, WSTOPPED | WNOHANG | WALL) !== 0) return null;
  if (siginfoView.getInt32(SI_PID, true) !== tid) return null;
  return siginfoView.getInt32(SI_STATUS, true) >> 8 === PTRACE_EVENT_EXEC ? "exec" : "other";
}

/**
 * Changes a stopped thread that was in a system call so that it makes another call instead, the end of its process.
 * Then lets it go. It repeats the `syscall` instruction it came from. So nothing in its memory is changed, which its
 * parent may share. Signals that wait for it are blocked: they would end it first, and with another code.
 */
export function endStopped(tid: number, exitCode: number): boolean {
  if (!ptrace(PTRACE_GETREGS, tid, 0n, addressOf(registers))) return false;
  registersView.setBigUint64(RAX, SYS_EXIT_GROUP, true);
  registersView.setBigUint64(RDI, BigInt(exitCode), true);
  registersView.setBigInt64(ORIG_RAX, -1n, true); // There is no call for the kernel to restart.
  registersView.setBigUint64(RIP, registersView.getBigUint64(RIP, true) - SYSCALL_BYTES, true);
  return ptrace(PTRACE_SETSIGMASK, tid, BigInt(SIGNAL_SET_BYTES), addressOf(ALL_SIGNALS)) &&
    ptrace(PTRACE_SETREGS, tid, 0n, addressOf(registers)) && letGo(tid);
}

/** Ends the tracing of a stopped thread, which goes on. */
export function letGo(tid: number): boolean {
  return ptrace(PTRACE_DETACH, tid, 0n, 0n);
}

/**
 * Whether a traced thread is gone. One that is not our child but has ended is released to its parent. Not yet, if it is
 * the main thread and other threads of its process are still ending.
 */
export function releaseIfDead(tid: number): boolean {
  const stat = readStat(tid);
  if (stat === null) return true;
  if (stat.state !== "Z" && stat.state !== "X") return false;
  if (stat.ppid === Deno.pid) return true;
  siginfoView.setInt32(SI_PID, 0, true);
  const isWaited = reapingFunctions().waitid(P_PID, tid, siginfo, WEXITED | WNOHANG | WALL) === 0;
  return !isWaited || siginfoView.getInt32(SI_PID, true) === tid;
}

function ptrace(request: bigint, tid: number, address: bigint, data: bigint): boolean {
  return libc().syscall(SYS_PTRACE, request, BigInt(tid), address, data) === 0;
}
