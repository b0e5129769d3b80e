/**
 * Which processes are still the shell: the one that was started, and copies of it that have executed nothing.
 *
 * Every execution is asked about, so it is known which processes have executed something. A process is the shell if
 * neither it nor any parent up to the shell has. No process can choose its parent (the filter sees to that).
 *
 * A process whose parent has ended has lost that tie: a job that the shell has left behind, for one. So what executes
 * something is marked before, and its descendants inherit that (`execution_mark.ts`). An orphan without the mark is the
 * shell's. So a program can never pass for the shell. Where the mark cannot be given, an orphan counts as a program.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { ExecutionMark } from "../../os/children/execution_mark.ts";
import { isPidfdThere, openPidfd } from "../../os/children/pidfd.ts";
import { type ProcessStat, readStat } from "../../os/children/procfs.ts";

/** More than any chain of subshells has. */
const MAX_GENERATIONS = 256;

/** When there are more, those that are gone are forgotten. */
const MAX_REMEMBERED = 4096;

export class Lineage {
  readonly #shell: number;
  /** Tells that the number is still the shell's. */
  #pidfd: number;
  /** Those that have executed something: when each was started, since numbers are used again. */
  readonly #programs = new Map<number, number>();
  #forgetAbove = MAX_REMEMBERED;
  /** Null where it cannot be relied on. */
  #mark: ExecutionMark | null;
  /** Who may stay behind under the same filter to tell of the shell's end. It is no copy of the shell. */
  readonly #teller: number;
  /** The process that `isShell` was asked about last; it still waits when it executes something. */
  #asked: ProcessStat | null = null;

  /** For a shell that is there. */
  constructor(shell: number) {
    this.#shell = shell;
    this.#pidfd = openPidfd(shell);
    this.#mark = ExecutionMark.below(shell);
    this.#teller = readStat(shell)?.ppid ?? shell;
  }

  /** Nobody is the shell any more. */
  close(): void {
    if (this.#pidfd >= 0) closeDescriptor(this.#pidfd);
    this.#pidfd = -1;
    this.#mark = null;
  }

  isShell(pid: number): boolean {
    if (pid === this.#shell && this.#isShellThere()) return !this.#programs.has(pid);
    const stat = this.#asked = readStat(pid);
    if (stat === null || this.#isProgram(stat) || pid === this.#teller) return false;
    return this.#descends(stat) || this.#mark?.isMissingOn(pid) === true;
  }

  /**
   * To be called before it is let through. Even if the execution fails, the process counts as a program. False when that
   * could not be noted: then it must not execute anything.
   */
  executes(pid: number): boolean {
    const stat = this.#asked?.pid === pid ? this.#asked : readStat(pid);
    if (stat === null) return false;
    this.#programs.set(pid, stat.startTime);
    if (this.#mark?.set(pid) === false) this.#mark = null;
    if (this.#programs.size > this.#forgetAbove) this.#forgetGone();
    return true;
  }

  /** Whether no parent up to the shell has executed anything, as far as they are there. */
  #descends(stat: ProcessStat): boolean {
    for (let at = stat, generation = 1; generation < MAX_GENERATIONS && at.ppid > 1; generation++) {
      if (at.ppid === this.#shell && this.#isShellThere()) return !this.#programs.has(this.#shell);
      const parent = readStat(at.ppid);
      if (parent === null || this.#isProgram(parent)) return false;
      at = parent;
    }
    return false;
  }

  #isProgram({ pid, startTime }: ProcessStat): boolean {
    return this.#programs.get(pid) === startTime;
  }

  #isShellThere(): boolean {
    return this.#pidfd >= 0 && isPidfdThere(this.#pidfd);
  }

  #forgetGone(): void {
    for (const [pid, startTime] of this.#programs) {
      if (pid === this.#shell) continue;
      if (readStat(pid)?.startTime !== startTime) this.#programs.delete(pid);
    }
    // So that a shell with many living programs does not look at all of them at each execution.
    this.#forgetAbove = Math.max(MAX_REMEMBERED, this.#programs.size * 2);
  }
}
