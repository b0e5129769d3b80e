/**
 * An inherited mark that says that a process, or one that it descends from, has executed something.
 *
 * The kernel forgets who forked an orphan, but not its limits: forks and executions keep them, and a hard limit that was
 * lowered cannot be raised again without a capability that nothing in a sandbox has. So the hard limit on file locks,
 * which has no effect (`process_mark.ts` uses the soft one), is lowered by one before an execution. A process that has
 * the first process's limit descends from it by forks alone. Lowering it oneself only loses that.
 */

import { sendSignal } from "./pidfd.ts";
import { getLimit, RLIMIT_LOCKS, setLimit } from "./resource_limits.ts";

export class ExecutionMark {
  readonly #unmarked: bigint;

  private constructor(unmarked: bigint) {
    this.#unmarked = unmarked;
  }

  /** Tells what descends from this process. Null where its limit cannot be read, or not be lowered any more. */
  static below(pid: number): ExecutionMark | null {
    const limit = getLimit(RLIMIT_LOCKS, pid);
    return limit === null || limit.hard === 0n ? null : new ExecutionMark(limit.hard);
  }

  /** Whether neither it nor any process that it descends from was marked before it was forked from that one. */
  isMissingOn(pid: number): boolean {
    return getLimit(RLIMIT_LOCKS, pid)?.hard === this.#unmarked;
  }

  /** For a process that cannot fork just now. False when it is there and could not be marked. */
  set(pid: number): boolean {
    const limit = getLimit(RLIMIT_LOCKS, pid);
    if (limit !== null && limit.hard < this.#unmarked) return true;
    const hard = this.#unmarked - 1n;
    const lowered = limit && { soft: limit.soft < hard ? limit.soft : hard, hard };
    return (lowered !== null && setLimit(RLIMIT_LOCKS, lowered, pid)) || !sendSignal(pid, 0);
  }
}
