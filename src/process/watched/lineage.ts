/**
 * Which processes are still the shell: the one that was started, and copies of it that have executed nothing.
 *
 * Every execution is asked about, so it is known which processes have executed something. A process is the shell if neither it nor
 * any parent up to the shell has. A process whose parent ended belongs to nobody here and is not the shell, and no
 * process can choose its parent (the filter sees to that). So a program can never pass for the shell.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
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
  /** The process that `isShell` was asked about last; it still waits when it executes something. */
  #asked: ProcessStat | null = null;

  /** For a shell that is there. */
  constructor(shell: number) {
    this.#shell = shell;
    this.#pidfd = openPidfd(shell);
  }

  /** Nobody is the shell any more. */
  close(): void {
    if (this.#pidfd >= 0) closeDescriptor(this.#pidfd);
    this.#pidfd = -1;
  }

  isShell(pid: number): boolean {
    for (let at = pid, generation = 0; generation < MAX_GENERATIONS; generation++) {
      if (at === this.#shell) return !this.#programs.has(at) && this.#pidfd >= 0 && isPidfdThere(this.#pidfd);
      const stat = readStat(at);
      if (at === pid) this.#asked = stat;
      if (stat === null || this.#programs.get(at) === stat.startTime) return false;
      if (stat.ppid <= 1) return false;
      at = stat.ppid;
    }
    return false;
  }

  /** To be called before it is let through. Even if the execution fails, the process counts as a program. */
  executes(pid: number): void {
    const stat = this.#asked?.pid === pid ? this.#asked : readStat(pid);
    if (stat === null) return;
    this.#programs.set(pid, stat.startTime);
    if (this.#programs.size > this.#forgetAbove) this.#forgetGone();
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
