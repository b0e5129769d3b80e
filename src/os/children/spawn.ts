/**
 * Starts a program as the leader of its own session, with exactly the descriptors, environment and directory it is
 * given.
 *
 * The call runs on another thread. It returns when the child has called exec, which takes 0.2 ms on an idle machine,
 * many times that on a busy one, and forever on a dead network mount. The caller bounds how many are under way, since
 * they occupy threads of the runtime's pool.
 *
 * Errors are the operating system's, from posix_spawn's result. It reports what went wrong in the child before or in
 * exec. So a missing or forbidden directory or program needs no look-ups that could race. What exactly was missing is
 * looked up afterwards, and only for the log.
 */

import { failure, O_RDONLY, O_RDWR, setCloseOnExec } from "../descriptor.ts";
import { EACCES, ENOENT, ENOTDIR } from "../errno.ts";
import { allocate, type CBuffer, cString, cStringArray, libcFunctions, whilePinned } from "../libc.ts";
import { findProgram, noSuchFile } from "./find_program.ts";
import { listOwnDescriptors } from "./procfs.ts";
import { type Program, refuseUnstartable } from "./program.ts";

/**
 * These return an error number instead of setting errno. Paths given to file actions are copied; the actions themselves
 * hold memory of the C library until destroyed.
 */
export const spawnFunctions = libcFunctions({
  /** On another thread: all six buffers, and what they point to, belong to the call until its promise resolves. */
  posix_spawn: {
    parameters: ["buffer", "buffer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  posix_spawn_file_actions_init: { parameters: ["buffer"], result: "i32" },
  posix_spawn_file_actions_destroy: { parameters: ["buffer"], result: "i32" },
  posix_spawn_file_actions_addopen: { parameters: ["buffer", "i32", "buffer", "i32", "u32"], result: "i32" },
  posix_spawn_file_actions_adddup2: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  posix_spawn_file_actions_addchdir_np: { parameters: ["buffer", "buffer"], result: "i32" },
  /** glibc 2.34. Without it our own descriptors are marked instead. */
  posix_spawn_file_actions_addclosefrom_np: { parameters: ["buffer", "i32"], result: "i32", optional: true },
  posix_spawnattr_init: { parameters: ["buffer"], result: "i32" },
  posix_spawnattr_setflags: { parameters: ["buffer", "i16"], result: "i32" },
  posix_spawnattr_setsigdefault: { parameters: ["buffer", "buffer"], result: "i32" },
  posix_spawnattr_setsigmask: { parameters: ["buffer", "buffer"], result: "i32" },
  sigfillset: { parameters: ["buffer"], result: "i32" },
});

const confinedSpawnFunctions = libcFunctions({
  /**
   * On this thread, which waits until the child has called exec. For a child that must die with its parent: for the
   * kernel the parent is the thread, and threads of the pool end when they are idle for a while.
   */
  posixSpawnHere: {
    name: "posix_spawn",
    parameters: ["buffer", "buffer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
  },
});

/** What becomes descriptors 0 to 2. The child has no others. The given ones still belong to the caller. */
export type ChildStdio =
  /** A null stdin is `/dev/null`. */
  | { readonly type: "descriptors"; readonly stdin: number | null; readonly stdout: number; readonly stderr: number }
  /** All three are this terminal, which becomes the session's controlling terminal. */
  | { readonly type: "terminal"; readonly path: string };

// From <spawn.h> of glibc.
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;

/** glibc needs 80, 336 and 128 bytes on x86-64; the rest is for architectures and versions that need more. */
const FILE_ACTIONS_BYTES = 256;
const ATTRIBUTES_BYTES = 512;
const SIGNAL_SET_BYTES = 128;

/** The first descriptor of a child that is not its standard input, output or error. */
const FIRST_EXTRA_FD = 3;

/** A start without look-ups, and with more descriptors. */
export interface ExactStart {
  /** What is executed; `argv[0]` is only what it is told as its name. */
  readonly path: string;
  /**
   * The child's descriptors from 3 on, without a gap, each a copy of one of the caller's. Those must all have higher
   * numbers than any in the child, or one would be overwritten before it is copied. They stay the caller's.
   */
  readonly descriptors: readonly number[];
  /** Blocked in the child, by number. */
  readonly blockedSignals: readonly number[];
}

/**
 * Starts a program exactly as told and returns its pid. On this thread, so that a child that dies with its parent does
 * not die with a thread of the pool. Everything waits until it has called exec.
 */
export function spawnExactly(program: Program, stdio: ChildStdio, start: ExactStart): number {
  refuseUnstartable(program);
  const argv = cStringArray([program.arg0 ?? program.argv[0]!, ...program.argv.slice(1)]);
  const env = cStringArray(Object.entries(program.env).map(([name, value]) => `${name}=${value}`));
  const actions = buildFileActions(stdio, program.cwd, start.descriptors);
  const pid = allocate(4);
  try {
    const attributes = buildAttributes(start.blockedSignals);
    check(confinedSpawnFunctions().posixSpawnHere(pid, cString(start.path), actions, attributes, argv, env));
    return new DataView(pid.buffer).getInt32(0, true);
  } finally {
    spawnFunctions().posix_spawn_file_actions_destroy(actions);
  }
}

/** Starts the program and resolves with its pid, or rejects with the operating system's reason. */
export async function spawnProgram(program: Program, stdio: ChildStdio): Promise<number> {
  refuseUnstartable(program);
  const argv = cStringArray([program.arg0 ?? program.argv[0]!, ...program.argv.slice(1)]);
  const env = cStringArray(Object.entries(program.env).map(([name, value]) => `${name}=${value}`));
  const actions = buildFileActions(stdio, program.cwd);
  const pid = allocate(4);
  let errno = ENOENT;
  try {
    const candidates = findProgram(program);
    for (const candidate of candidates) {
      const path = cString(candidate);
      const buffers = [pid, path, actions, spawnAttributes(), argv, env] as const;
      errno = await whilePinned(buffers, () => spawnFunctions().posix_spawn(...buffers));
      if (errno === 0) return new DataView(pid.buffer).getInt32(0, true);
      // Try the next one, as a search path does: this is a directory, or it has disappeared meanwhile.
      if (errno !== EACCES && errno !== ENOENT && errno !== ENOTDIR) break;
    }
    throw errno === ENOENT ? noSuchFile(program, candidates) : failure(errno);
  } finally {
    spawnFunctions().posix_spawn_file_actions_destroy(actions);
  }
}

/**
 * In the order the child carries them out. glibc starts the session before any of them, so opening a terminal makes it
 * the controlling one. Closing comes last: the descriptors being duplicated are among those closed.
 */
function buildFileActions(
  stdio: ChildStdio,
  cwd: string | Uint8Array,
  descriptors: readonly number[] = [],
): CBuffer {
  const c = spawnFunctions();
  const actions = allocate(FILE_ACTIONS_BYTES);
  check(c.posix_spawn_file_actions_init(actions));
  try {
    if (stdio.type === "terminal") {
      check(c.posix_spawn_file_actions_addopen(actions, 0, cString(stdio.path), O_RDWR, 0));
      check(c.posix_spawn_file_actions_adddup2(actions, 0, 1));
      check(c.posix_spawn_file_actions_adddup2(actions, 0, 2));
    } else {
      if (stdio.stdin === null) {
        check(c.posix_spawn_file_actions_addopen(actions, 0, cString("/dev/null"), O_RDONLY, 0));
      } else check(c.posix_spawn_file_actions_adddup2(actions, stdio.stdin, 0));
      check(c.posix_spawn_file_actions_adddup2(actions, stdio.stdout, 1));
      check(c.posix_spawn_file_actions_adddup2(actions, stdio.stderr, 2));
    }
    descriptors.forEach((fd, index) => check(c.posix_spawn_file_actions_adddup2(actions, fd, FIRST_EXTRA_FD + index)));
    check(c.posix_spawn_file_actions_addchdir_np(actions, cString(cwd)));
    closeStrayDescriptors(actions, FIRST_EXTRA_FD + descriptors.length);
    return actions;
  } catch (error) {
    c.posix_spawn_file_actions_destroy(actions);
    throw error;
  }
}

let haveStraysBeenMarked = false;

/**
 * The program that started us may have left descriptors open that are not close-on-exec. Ours and the runtime's all
 * are.
 */
function closeStrayDescriptors(actions: CBuffer, firstFd: number): void {
  const closeFrom = spawnFunctions().posix_spawn_file_actions_addclosefrom_np;
  if (closeFrom !== null) return check(closeFrom(actions, firstFd));
  if (haveStraysBeenMarked) return;
  haveStraysBeenMarked = true;
  for (const fd of listOwnDescriptors()) if (fd > 2) setCloseOnExec(fd);
}

let sharedAttributes: CBuffer | undefined;

/** A new session, every signal at its default and none blocked. Shared: it is never changed. */
export function spawnAttributes(): CBuffer {
  return sharedAttributes ??= buildAttributes([]);
}

/** A new session, every signal at its default and only these blocked, whatever we ignore ourselves. */
function buildAttributes(blockedSignals: readonly number[]): CBuffer {
  const c = spawnFunctions();
  const built = allocate(ATTRIBUTES_BYTES);
  const allSignals = allocate(SIGNAL_SET_BYTES);
  const blocked = allocate(SIGNAL_SET_BYTES);
  // A set is an array of bits on every Linux: bit 0 for signal 1.
  for (const signal of blockedSignals) blocked[(signal - 1) >> 3]! |= 1 << ((signal - 1) & 7);
  check(c.sigfillset(allSignals));
  check(c.posix_spawnattr_init(built));
  check(c.posix_spawnattr_setsigdefault(built, allSignals));
  check(c.posix_spawnattr_setsigmask(built, blocked));
  check(c.posix_spawnattr_setflags(built, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  return built;
}

function check(errno: number): void {
  if (errno !== 0) throw failure(errno);
}
