/**
 * The resource limits that children start with: as if we had never changed ours, plus their mark.
 *
 * A child costs us about four descriptors, so our own soft limit on open files is raised to the hard one. Children must
 * not inherit that: programs that close every possible descriptor, or use `select`, rely on the usual low limit. Limits
 * are copied when a child is made, and posix_spawn offers no other moment, so ours are changed while children are being
 * started. That does not affect descriptors already open, and the limit that carries marks has no effect at all.
 */

import { isOwnMark, setMark } from "./process_mark.ts";
import { readSoftLimit } from "./procfs.ts";
import { getLimit, type Limit, RLIMIT_LOCKS, RLIMIT_NOFILE, setLimit } from "./resource_limits.ts";

/**
 * Descriptors that must be free below the children's limit before ours may be lowered. For some milliseconds the
 * runtime's other threads, about 40, may each open a file or two, connections may come in, and pipes of a few more
 * children are opened.
 */
const FREE_DESCRIPTORS = 256;

/** The pid that stands for the caller in questions about limits. */
const SELF = 0;

export class ChildLimits {
  /** What children get for open files; null when the system would not tell. */
  readonly openFiles: Limit | null;
  readonly #ownOpenFiles: Limit | null;
  readonly #ownLocks: Limit | null;
  #startsUnderWay = 0;

  /** Raises our own limit. Use `sharedChildLimits`: a second one could no longer tell what the limit had been. */
  constructor() {
    const found = getLimit(RLIMIT_NOFILE);
    this.openFiles = found && { soft: originalSoftLimit(found), hard: found.hard };
    const raised = found && { soft: found.hard, hard: found.hard };
    this.#ownOpenFiles = raised !== null && setLimit(RLIMIT_NOFILE, raised) ? raised : found;

    const locks = getLimit(RLIMIT_LOCKS);
    // Another thread of this program may be starting a child just now; its mark is not our limit.
    this.#ownLocks = locks && { soft: isOwnMark(locks.soft) ? locks.hard : locks.soft, hard: locks.hard };
  }

  /** A child is about to be made; `highestFd` is the highest descriptor just opened for it. Ends with `startEnded`. */
  startBegins(highestFd: number): void {
    if (this.#startsUnderWay++ > 0 || !this.#isRaised()) return;
    // New descriptors take the lowest free numbers, so the one just opened shows how much room is left. With hundreds
    // of children there is none, and opening a file would fail elsewhere in the program: `startEnded` then corrects the
    // child.
    if (BigInt(highestFd + FREE_DESCRIPTORS) < this.openFiles!.soft) setLimit(RLIMIT_NOFILE, this.openFiles!);
  }

  /** Children made from now on inherit this mark. Only between `startBegins` and `startEnded`. */
  inheritMark(mark: bigint): void {
    setMark(SELF, mark);
  }

  /** The child exists, or could not be made. Gives it its own mark, and restores our limits after the last one. */
  startEnded(child: { readonly pid: number; readonly mark: bigint | null } | null): void {
    if (child !== null) this.#correct(child.pid, child.mark);
    if (--this.#startsUnderWay > 0) return;
    if (this.#isRaised()) setLimit(RLIMIT_NOFILE, this.#ownOpenFiles!);
    if (this.#ownLocks !== null) setLimit(RLIMIT_LOCKS, this.#ownLocks);
  }

  #correct(pid: number, mark: bigint | null): void {
    if (mark !== null) setMark(pid, mark);
    if (!this.#isRaised()) return;
    // Only if it still has ours: by now it may have chosen another.
    const current = getLimit(RLIMIT_NOFILE, pid);
    if (current?.soft === this.#ownOpenFiles?.soft) setLimit(RLIMIT_NOFILE, this.openFiles!, pid);
  }

  #isRaised(): boolean {
    return this.openFiles !== null && this.openFiles.soft !== this.#ownOpenFiles?.soft;
  }
}

/**
 * The soft limit we were started with. Some runtimes raise it before our code runs; then it equals the hard limit, and
 * the process that started us most likely still has the original. Otherwise ours counts as original.
 */
function originalSoftLimit(found: Limit): bigint {
  if (found.soft < found.hard) return found.soft;
  const launchers = readSoftLimit(Deno.ppid, "Max open files");
  return launchers !== null && launchers < found.soft ? launchers : found.soft;
}

let shared: ChildLimits | undefined;

/** The program's one instance, made with the first child. */
export function sharedChildLimits(): ChildLimits {
  return shared ??= new ChildLimits();
}
