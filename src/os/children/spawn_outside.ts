/**
 * Starts a program as the leader of its own session, with the descriptors, directory, arguments and environment of
 * another process.
 *
 * Like `spawn.ts` the call runs on another thread and returns when the child has called exec. All signals are at their
 * default. Nothing given here is taken over: the caller closes its descriptors.
 */

import { failure } from "../descriptor.ts";
import { allocate, type CBuffer, cString, cStringArray, libcFunctions, whilePinned } from "../libc.ts";
import { spawnAttributes, spawnFunctions } from "./spawn.ts";

const outsideFunctions = libcFunctions({
  posix_spawn_file_actions_addfchdir_np: { parameters: ["buffer", "i32"], result: "i32" },
  posix_spawn_file_actions_addclose: { parameters: ["buffer", "i32"], result: "i32" },
});

const FILE_ACTIONS_BYTES = 256;

export interface OutsideStart {
  readonly path: string;
  readonly argv: readonly (string | Uint8Array)[];
  readonly env: readonly (string | Uint8Array)[];
  /** A descriptor of the directory it starts in. */
  readonly directory: number;
  /**
   * From a number in the child to the descriptor of ours that it is a copy of. Ours must all be higher than any number
   * in the child, or one would be overwritten before it is copied. The child has no others.
   */
  readonly descriptors: ReadonlyMap<number, number>;
}

/** Resolves with the pid, or rejects with the operating system's reason. */
export async function spawnOutside(start: OutsideStart): Promise<number> {
  const argv = cStringArray(start.argv);
  const env = cStringArray(start.env);
  const path = cString(start.path);
  const pid = allocate(4);
  const actions = buildActions(start);
  try {
    const buffers = [pid, path, actions, spawnAttributes(), argv, env] as const;
    check(await whilePinned(buffers, () => spawnFunctions().posix_spawn(...buffers)));
    return new DataView(pid.buffer).getInt32(0, true);
  } finally {
    spawnFunctions().posix_spawn_file_actions_destroy(actions);
  }
}

function buildActions({ directory, descriptors }: OutsideStart): CBuffer {
  const c = spawnFunctions();
  const actions = allocate(FILE_ACTIONS_BYTES);
  check(c.posix_spawn_file_actions_init(actions));
  try {
    check(outsideFunctions().posix_spawn_file_actions_addfchdir_np(actions, directory));
    for (const [target, source] of descriptors) check(c.posix_spawn_file_actions_adddup2(actions, source, target));
    const highest = Math.max(...descriptors.keys());
    // Close the gaps: the program that started us may have left descriptors open there.
    for (let fd = 0; fd < highest; fd++) {
      if (!descriptors.has(fd)) check(outsideFunctions().posix_spawn_file_actions_addclose(actions, fd));
    }
    // Before glibc 2.34 this does not exist. Then only what others left open above stays open: all of ours are
    // close-on-exec.
    const closeFrom = c.posix_spawn_file_actions_addclosefrom_np;
    if (closeFrom !== null) check(closeFrom(actions, highest + 1));
    return actions;
  } catch (error) {
    c.posix_spawn_file_actions_destroy(actions);
    throw error;
  }
}

function check(errno: number): void {
  if (errno !== 0) throw failure(errno);
}
