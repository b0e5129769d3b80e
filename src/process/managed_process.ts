/**
 * One child under management: starting, running, exited, closed.
 *
 * Promises: sequence numbers count from 1 without gaps over output, exit and close; `exited` comes once, when the
 * direct child has been reaped; output may still follow it, since a grandchild can hold the pipe; `closed` comes once,
 * when the exit is known and every stream has ended, and nothing comes after it. A sink without room pauses the child's
 * output; without a sink the child runs on and is retained. Starting the child and keeping the table is the manager's.
 */

import type { Clock } from "../clock.ts";
import { invalidRequest } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { SignalName, TerminateMode, WriteStatus } from "../protocol/process.ts";
import type { ExitStatus, NetworkDenial, OutputStream, SpawnedProcess, SpawnRequest } from "./backend.ts";
import { type DeadlineOptions, Deadlines } from "./deadlines.ts";
import { isKnownDenied, looksDenied } from "./denial.ts";
import { Ending } from "./ending.ts";
import { EventJournal } from "./event_journal.ts";
import type { EventRouter } from "./event_router.ts";
import { InputQueue, type InputWriteOptions } from "./input_queue.ts";
import { DEADLINE_KILL_GRACE_MS, DENIAL_GRACE_MS } from "./limits.ts";
import type {
  EndReason,
  ProcessExit,
  ProcessInfo,
  ProcessSnapshot,
  ProcessStatus,
  ReadOutcome,
  WaitOutcome,
} from "./process_views.ts";
import type { ChildObserver } from "./session_children.ts";
import { exitCodeOf, signalNumber } from "./signals.ts";
import { Watchers, type WatchOptions } from "./watchers.ts";

export interface ManagedProcessOptions extends DeadlineOptions {
  readonly processId: string;
  readonly request: SpawnRequest;
  /** Its exit is then examined for signs of a refusal by the sandbox. */
  readonly isSandboxed: boolean;
  readonly keepOnSessionEnd: boolean;
  /** Hears of its start and its end. Names the process and whoever asked for it. */
  readonly log: Logger;
}

/** What a process shares with the others of its session. */
export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly router: EventRouter;
  readonly retainedOutputBytes: number;
  onClosed(process: ManagedProcess, child: SpawnedProcess): void;
}

export interface ReadOptions {
  readonly afterSeq: number;
  readonly maxBytes: number | null;
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitOptions extends WatchOptions {
  readonly until: "exited" | "closed";
}

/** The default end-of-file character of a terminal. */
const END_OF_TRANSMISSION = Uint8Array.of(0x04);

/** What exists once the child does. */
interface Running {
  readonly child: SpawnedProcess;
  readonly ending: Ending;
  /** Null when the child's input was never ours to write. */
  readonly input: InputQueue | null;
}

export class ManagedProcess implements ChildObserver {
  readonly processId: string;
  readonly keepOnSessionEnd: boolean;
  readonly #request: SpawnRequest;
  readonly #isSandboxed: boolean;
  readonly #log: Logger;
  readonly #surroundings: ProcessSurroundings;
  readonly #createdAtMs: number;
  readonly #journal: EventJournal;
  readonly #deadlines: Deadlines;
  readonly #watchers: Watchers;
  #running: Running | null = null;
  /** What was asked for before the child existed. */
  #onceRunning: ((running: Running) => void)[] = [];
  #status: ExitStatus | null = null;
  #networkDenials: readonly NetworkDenial[] | null = null;
  #cancelDenialGrace: (() => void) | null = null;
  #exit: ProcessExit | null = null;
  #hasOutputEnded = false;
  #isClosed = false;

  constructor(options: ManagedProcessOptions, surroundings: ProcessSurroundings) {
    const { clock, router, retainedOutputBytes } = surroundings;
    this.processId = options.processId;
    this.keepOnSessionEnd = options.keepOnSessionEnd;
    this.#request = options.request;
    this.#isSandboxed = options.isSandboxed;
    this.#log = options.log;
    this.#surroundings = surroundings;
    this.#createdAtMs = clock.now();
    this.#journal = new EventJournal({ processId: this.processId, router, retainedOutputBytes });
    this.#watchers = new Watchers(clock);
    this.#deadlines = new Deadlines(clock, options, {
      onExpired: () => this.#running?.ending.terminate("timeout", DEADLINE_KILL_GRACE_MS),
      isHeldUp: () => this.#journal.isPaused,
    });
  }

  get pid(): number | null {
    return this.#running?.child.pid ?? null;
  }

  /** The direct child has been reaped, so its pid means nothing any more. */
  get isReaped(): boolean {
    return this.#status !== null;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  // ---- starting

  /** The child runs. Its events are held back until `release`. */
  started(child: SpawnedProcess): void {
    const { io } = this.#request;
    const input = io.type === "pty" || io.stdin === "open" ? new InputQueue(child) : null;
    this.#running = { child, ending: new Ending(this.#surroundings.clock, child), input };
    this.#networkDenials = child.networkDenials;
    this.#journal.started(child);
    this.#deadlines.start();
    for (const action of this.#onceRunning) action(this.#running);
    this.#onceRunning = [];
    if (!this.#log.prints("debug")) return;
    this.#log.debug("process started", { pid: child.pid, tty: io.type === "pty", sandboxed: this.#isSandboxed });
  }

  /** There will be no child. Whoever waited for it learns that it never was. */
  failedToStart(): void {
    this.#onceRunning = [];
    this.#watchers.fail(unknownProcess(this.processId));
  }

  /** The answer to the start has been queued: events may follow it. */
  release(): void {
    this.#journal.release();
  }

  /** The connection that awaited the answer is gone, and with it all need to hold anything back. */
  discardHeldEvents(): void {
    this.#journal.discardHeld();
  }

  // ---- what the backend reports

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#isClosed || bytes.length === 0) return;
    this.#deadlines.noteOutput();
    this.#journal.output(stream, bytes);
    this.#watchers.notify();
  }

  exited(status: ExitStatus): void {
    if (this.#status !== null) return;
    this.#status = status;
    const { input, ending } = this.#started;
    this.#deadlines.cancel();
    input?.close();
    ending.exited();
    const code = exitCodeOf(status);
    const hasToGuess = this.#isSandboxed && code !== 0 && !isKnownDenied(code, this.#networkDenials);
    if (hasToGuess && !this.#hasOutputEnded) {
      this.#cancelDenialGrace = this.#surroundings.clock.setTimer(DENIAL_GRACE_MS, () => this.#publishExit(status));
    } else {
      this.#publishExit(status);
    }
  }

  outputEnded(): void {
    if (this.#hasOutputEnded) return;
    this.#hasOutputEnded = true;
    if (this.#status !== null && this.#exit === null) this.#publishExit(this.#status);
    else this.#closeIfDone();
  }

  // ---- what callers ask

  read(options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    const hasNews = (): boolean =>
      this.#journal.hasOutputAfter(options.afterSeq) || this.#isClosed ||
      (this.#exit !== null && options.afterSeq < this.#journal.nextSeq - 1);
    if (options.waitMs === 0 || hasNews()) return this.#readNow(options);
    return this.#watchers.until(hasNews, { timeoutMs: options.waitMs, signal: options.signal })
      .then(() => this.#readNow(options));
  }

  async wait(options: WaitOptions): Promise<WaitOutcome> {
    const isOver = options.until === "closed" ? () => this.#isClosed : () => this.#exit !== null;
    const isMet = await this.#watchers.until(isOver, options);
    return { ...this.status(), timedOut: !isMet };
  }

  write(bytes: Uint8Array<ArrayBuffer>, options: InputWriteOptions): WriteStatus | Promise<WriteStatus> {
    if (this.#running === null) return "starting";
    return this.#running.input?.write(bytes, options) ?? "stdinClosed";
  }

  /** End of file for a pipe. A terminal has none: it is sent the character that means it, and stays writable. */
  closeStdin(signal?: AbortSignal): WriteStatus | Promise<WriteStatus> {
    if (this.#running === null) return "starting";
    const { input } = this.#running;
    if (input === null) return "stdinClosed";
    if (this.#request.io.type === "pty") return input.write(END_OF_TRANSMISSION, { writeId: null, signal });
    return input.end() ? "accepted" : "stdinClosed";
  }

  /** Signals the group. A process that has exited is left alone. */
  signal(name: SignalName): void {
    this.#whenRunning(({ child }) => {
      if (!this.isReaped) child.signalGroup(signalNumber(name));
    });
  }

  /** Whether there was a running process to end. One that has exited is left alone, even if not closed. */
  terminate(mode: TerminateMode): boolean {
    if (this.isReaped) return false;
    if (mode.type === "force") this.kill("terminated");
    else this.#whenRunning(({ ending }) => ending.terminate("terminated", mode.timeoutMs));
    return true;
  }

  resize(size: { rows: number; cols: number }): void {
    if (this.#request.io.type !== "pty") {
      throw invalidRequest(`process ${this.processId} is not attached to a PTY`);
    }
    this.#whenRunning(({ child }) => {
      if (!this.isReaped) child.resize({ rows: size.rows, cols: size.cols });
    });
  }

  snapshot(): ProcessSnapshot {
    return { ...this.status(), ...this.#journal.transcript() };
  }

  status(): ProcessStatus {
    return {
      nextSeq: this.#journal.nextSeq,
      exit: this.#exit,
      closed: this.#isClosed,
      networkDenials: this.#networkDenials,
    };
  }

  info(): ProcessInfo {
    return {
      ...this.status(),
      processId: this.processId,
      pid: this.pid,
      argv: this.#request.argv,
      cwd: this.#request.cwd,
      tty: this.#request.io.type === "pty",
      ageMs: Math.round(this.#surroundings.clock.now() - this.#createdAtMs),
      keepOnSessionEnd: this.keepOnSessionEnd,
    };
  }

  // ---- ending

  /** Why the process is about to end, said by whoever makes it end. The first to say so is believed. */
  noteEndReason(reason: EndReason): void {
    this.#whenRunning(({ ending }) => ending.noteReason(reason));
  }

  /** SIGKILL to what is left of the group; the streams close soon after, whoever holds them. */
  kill(reason: EndReason): void {
    this.#whenRunning(({ ending, input }) => {
      if (this.#isClosed) return;
      input?.close();
      ending.kill(reason);
    });
  }

  /** Gives up a child that outlived its kill. Whoever waited for its end learns that there is no such process. */
  abandon(): void {
    this.#letGo();
    this.#watchers.fail(unknownProcess(this.processId));
  }

  // ---- inside

  /** For what only a child can have set off. */
  get #started(): Running {
    if (this.#running === null) throw new Error(`process ${this.processId} reports before it was started`);
    return this.#running;
  }

  #whenRunning(action: (running: Running) => void): void {
    if (this.#running === null) this.#onceRunning.push(action);
    else action(this.#running);
  }

  #readNow(options: ReadOptions): ReadOutcome {
    return { ...this.status(), ...this.#journal.read(options.afterSeq, options.maxBytes) };
  }

  #publishExit(status: ExitStatus): void {
    this.#cancelDenialGrace?.();
    const exitCode = exitCodeOf(status);
    const denials = this.#networkDenials;
    const sandboxDenied = this.#isSandboxed &&
      (isKnownDenied(exitCode, denials) || looksDenied(exitCode, this.#journal.retainedOutput));
    this.#exit = { exitCode, sandboxDenied, end: this.#started.ending.describe(status) };
    this.#journal.exited(this.#exit, denials);
    if (this.#log.prints("debug")) this.#logExit(this.#exit);
    this.#closeIfDone();
    this.#watchers.notify();
  }

  #logExit({ exitCode, sandboxDenied, end }: ProcessExit): void {
    const { pid, ageMs } = this.info();
    this.#log.debug("process exited", { pid, exitCode, reason: end.reason, signal: end.signal, sandboxDenied, ageMs });
  }

  #closeIfDone(): void {
    if (this.#exit === null || !this.#hasOutputEnded || this.#isClosed) return;
    this.#isClosed = true;
    this.#journal.closed();
    this.#letGo();
    this.#surroundings.onClosed(this, this.#started.child);
    this.#watchers.notify();
  }

  /** Stops every timer and frees what the child held. */
  #letGo(): void {
    this.#deadlines.cancel();
    this.#cancelDenialGrace?.();
    this.#journal.forgetSource();
    this.#running?.ending.closed();
    this.#running?.child.dispose();
  }
}

/** The reference's text, which clients compare. */
export function unknownProcess(processId: string): Error {
  return invalidRequest(`unknown process id ${processId}`);
}
