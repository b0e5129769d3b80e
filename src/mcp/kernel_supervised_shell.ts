/** One shell whose programs are decided, from its start until everything that it started is gone. */

import { listProcesses } from "../os/children/procfs.ts";
import type { ExitStatus, SpawnedProcess } from "../process/backend.ts";
import type { PosixBackend } from "../process/posix/posix_backend.ts";
import { identify } from "../process/posix/tree_ending.ts";
import { isLiving } from "../process/posix/tree_snapshot.ts";
import { exitCodeOf, signalText } from "../process/signals.ts";
import type { SupervisedShell, SupervisedShellCounters } from "./supervised_shell.ts";

/** Who answers for the programs of one shell. */
export interface ShellGuard {
  readonly counters: SupervisedShellCounters;
  endEscalated(): Promise<void>;
  /** The shell and everything inside is gone. */
  close?(): Promise<void>;
}

/** How long what seems to be left may take to be gone, look by look: a process that has closed its output is ending. */
const LEFT_LOOKS_MS = [1, 4, 10, 20];

/** How often a session is looked at in which more processes have ended meanwhile. Whoever makes them is there. */
const MAX_SESSION_LOOKS = 4;

/**
 * Whether anything lives in a session, whose leader may be known to have ended. A list of processes can have one that
 * ended while it was made, and not yet what that one had just started; so nobody may have ended since the list before.
 */
export function livesInSession(sid: number, hasLeaderEnded: boolean, list = listProcesses): boolean {
  let known: ReadonlySet<string> = new Set();
  for (let look = 0; look < MAX_SESSION_LOOKS; look++) {
    const members = list().filter((process) => process.sid === sid);
    if (members.some(isLiving)) return true;
    // What the leader has started was there when the list began.
    const ended = members.filter(({ pid }) => pid !== sid || !hasLeaderEnded).map(identify);
    if (ended.every((member) => known.has(member))) return false;
    known = new Set(ended);
  }
  return true;
}

export class KernelSupervisedShell implements SupervisedShell {
  readonly exited: SupervisedShell["exited"];
  readonly closed: Promise<void>;
  readonly #guard: ShellGuard;
  readonly #backend: PosixBackend;
  readonly #onClosed: () => void;
  readonly #exit = Promise.withResolvers<{ readonly exitCode: number; readonly signal: string | null }>();
  readonly #close = Promise.withResolvers<void>();
  /** Its wrapper ends it together with a process namespace of its own: the kernel ends what the shell leaves behind. */
  isAlone = false;
  #hasExited = false;
  #hasClosed = false;
  #process: SpawnedProcess | null = null;
  #ending: Promise<void> | null = null;
  #leaves: Promise<boolean> | null = null;

  constructor(guard: ShellGuard, backend: PosixBackend, onClosed: () => void) {
    this.#guard = guard;
    this.#backend = backend;
    this.#onClosed = onClosed;
    this.exited = this.#exit.promise;
    this.closed = this.#close.promise;
  }

  begin(process: SpawnedProcess): void {
    this.#process = process;
  }

  hasExited(status: ExitStatus): void {
    const signal = status.type === "signaled" ? signalText(status.signal) : null;
    this.#hasExited = true;
    this.#exit.resolve({ exitCode: exitCodeOf(status), signal });
    void this.#disposeAtEnd();
  }

  hasClosed(): void {
    this.#hasClosed = true;
    this.#close.resolve();
  }

  get pid(): number {
    return this.#running.pid;
  }

  get counters(): SupervisedShellCounters {
    return { ...this.#guard.counters };
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<"written" | "closed"> {
    return await this.#running.write(bytes);
  }

  closeStdin(): void {
    this.#running.closeInput();
  }

  pauseOutput(): void {
    this.#running.pauseOutput();
  }

  resumeOutput(): void {
    this.#running.resumeOutput();
  }

  stopReading(): void {
    this.#running.stopReading();
  }

  leavesProcesses(): Promise<boolean> {
    return this.#leaves ??= this.#lookForLeft();
  }

  terminate(): Promise<void> {
    return this.#ending ??= this.#end();
  }

  get #running(): SpawnedProcess {
    if (this.#process === null) throw new Error("a shell was used before it was started");
    return this.#process;
  }

  async #lookForLeft(): Promise<boolean> {
    for (const ms of LEFT_LOOKS_MS) {
      if (!this.#leavesNow()) return false;
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
    // What is being ended by us is not left.
    return this.#ending === null && this.#leavesNow();
  }

  #leavesNow(): boolean {
    if (this.#ending !== null) return false;
    const nothing = this.#running.leavesNothing?.() ?? null;
    if (nothing !== null) return !nothing;
    // A namespace has ended with its shell. Otherwise the shell led a session.
    if (this.isAlone) return false;
    return livesInSession(this.pid, this.#hasExited);
  }

  async #end(): Promise<void> {
    const process = this.#running;
    const leavesNothing = process.leavesNothing?.() ?? this.isAlone;
    // Output that has ended by itself bears out what is told from inside.
    const isBorneOut = this.#hasClosed && process.isReadToEnd !== false;
    if (leavesNothing && this.#hasExited && isBorneOut) {
      // Nothing inside is left, so nothing is looked for: that would take longer than the command.
      await this.#guard.endEscalated();
    } else {
      await Promise.all([this.#backend.endTrees([process], { graceMs: 0 }), this.#guard.endEscalated()]);
      // A call that was being decided may have been escalated meanwhile.
      await this.#guard.endEscalated();
      await this.exited;
      process.stopReading();
      await this.closed;
    }
    await process.cleared;
  }

  async #disposeAtEnd(): Promise<void> {
    await this.closed;
    // Who tells what is left is not heard any more after this.
    await this.leavesProcesses();
    this.#onClosed();
    this.#process?.dispose();
    await this.#guard.close?.();
  }
}
