/**
 * One child under management: starting, running, exited, closed.
 *
 * Promises: sequence numbers count from 1 without gaps over output, exit and close; `exited` comes once, when the
 * direct child has been reaped; output may still follow it, since a grandchild can hold the pipe; `closed` comes once,
 * when the exit is known and every stream has ended, and nothing comes after it. A sink without room pauses the child's
 * output; without a sink the child runs on and is retained. Starting the child and keeping the table is the manager's.
 *
 * More than 300 lines: one state machine, whose promises hold only if all its transitions are seen together.
 */

import type { Clock } from "../../clock.ts";
import { invalidParams, invalidRequest } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { NativePath } from "../../path_uri.ts";
import type { OutputMode, SignalName, SignalTarget, TerminateMode, WriteStatus } from "../../protocol/process.ts";
import type {
  EndReport,
  ExitStatus,
  NetworkDenial,
  OutputStream,
  ProcessObserver,
  SpawnedProcess,
  SpawnRequest,
} from "../backend.ts";
import { type DeadlineOptions, Deadlines } from "./deadlines.ts";
import { isKnownDenied, looksDenied } from "./denial.ts";
import type { AckWindowOptions } from "./ack_window.ts";
import { Ending } from "./ending.ts";
import { EventJournal } from "./event_journal.ts";
import type { EventRouter } from "./event_router.ts";
import { InputQueue, type InputWriteOptions } from "./input_queue.ts";
import { CLOSED_PROCESS_OVERHEAD_BYTES, DEADLINE_KILL_GRACE_MS, DENIAL_GRACE_MS } from "../limits.ts";
import type {
  EndReason,
  ProcessExit,
  ProcessInfo,
  ProcessSnapshot,
  ProcessStatus,
  ReadOutcome,
  WaitOutcome,
} from "./process_views.ts";
import { exitCodeOf, signalNumber } from "../signals.ts";
import { textCost } from "./text_cost.ts";
import { type TerminalSize, type Viewer, Viewers } from "./viewers.ts";
import { type UntilOptions, Waiters } from "./waiters.ts";

export interface ManagedProcessOptions extends DeadlineOptions {
  readonly processId: string;
  /** Its name in the whole server. */
  readonly uid: string;
  /** What people call it. Default: nothing. */
  readonly name?: string | null;
  readonly request: SpawnRequest;
  /** Its exit is then examined for signs of a refusal by the sandbox. What is known to be refused counts without. */
  readonly isSandboxed: boolean;
  readonly keepOnSessionEnd: boolean;
  /** What its client has to acknowledge is held for it. Null: the newest output is kept. */
  readonly window: Pick<AckWindowOptions, "reserve" | "windowBytes" | "detachedBytes"> | null;
  /** Logs its start and its end. Names the process and the request that started it. */
  readonly log: Logger;
}

/** What a process shares with the others of its session. */
export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly router: EventRouter;
  readonly retainedOutputBytes: number;
  /** It has closed: its child only stands for what it may have left behind. */
  onClosed(process: ManagedProcess, child: SpawnedProcess): void;
  /** It has closed, and its client was told everything, as far as it wanted to be sure of that. */
  onSettled(process: ManagedProcess): void;
  /** Ends a child with everything that descends from it, wherever it went; also what a closed one has left behind. */
  endTree(child: SpawnedProcess, options: { readonly graceMs: number }): Promise<EndReport>;
}

export interface ReadOptions {
  readonly afterSeq: number;
  readonly maxBytes: number | null;
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitOptions extends UntilOptions {
  readonly until: "exited" | "closed";
}

/** What became of a process and everything below it. */
export interface TreeEndOutcome {
  /** The process itself had not exited. */
  readonly running: boolean;
  /** Processes of the operating system that ran and have ended. */
  readonly endedCount: number;
  /** Those that could not be ended. */
  readonly survivorPids: readonly number[];
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

export class ManagedProcess implements ProcessObserver {
  static #count = 0;
  /** Greater than that of every process that was started before it, in whichever session. */
  readonly startOrder = ++ManagedProcess.#count;
  readonly processId: string;
  readonly uid: string;
  readonly name: string | null;
  readonly keepOnSessionEnd: boolean;
  #request: SpawnRequest;
  readonly #isSandboxed: boolean;
  /** Null once it has closed: its fields are the client's, such as the id of the request, and may be long. */
  #log: Logger | null;
  readonly #surroundings: ProcessSurroundings;
  readonly #createdAtMs: number;
  readonly #journal: EventJournal;
  readonly #deadlines: Deadlines;
  readonly #waiters: Waiters;
  #running: Running | null = null;
  /** No event of the child is sent before the answer to its start: until then the client does not know of the process. */
  #isAnswerDue = true;
  /** What was asked for before the child existed. */
  #onceRunning: ((running: Running) => void)[] = [];
  #status: ExitStatus | null = null;
  #networkDenials: readonly NetworkDenial[] | null = null;
  #cancelDenialGrace: (() => void) | null = null;
  #exit: ProcessExit | null = null;
  #failure: string | null = null;
  #hasOutputEnded = false;
  #isClosed = false;
  #isSettled = false;
  readonly #viewers = new Viewers();
  /** The number of its exit. */
  #exitSeq: number | null = null;
  #size: TerminalSize | null;
  #lastOutputAtMs: number | null = null;
  #outputMode: OutputMode;

  constructor(options: ManagedProcessOptions, surroundings: ProcessSurroundings) {
    const { clock, router, retainedOutputBytes } = surroundings;
    this.processId = options.processId;
    this.uid = options.uid;
    this.name = options.name ?? null;
    const { io } = options.request;
    this.#size = io.type === "pty" ? { rows: io.rows, cols: io.cols } : null;
    this.keepOnSessionEnd = options.keepOnSessionEnd;
    this.#request = options.request;
    this.#isSandboxed = options.isSandboxed;
    this.#log = options.log;
    this.#surroundings = surroundings;
    this.#createdAtMs = clock.now();
    this.#outputMode = options.window === null ? "latest" : "acknowledged";
    this.#journal = new EventJournal({
      processId: this.processId,
      router,
      retainedOutputBytes,
      window: options.window === null ? null : { ...options.window, clock },
      onResumed: () => this.#deadlines.noteOutput(),
    });
    this.#waiters = new Waiters(clock);
    this.#deadlines = new Deadlines(clock, options, {
      onExpired: () => this.#running?.ending.terminate("timeout", DEADLINE_KILL_GRACE_MS),
      isHeldUp: () => this.#journal.isPaused,
    });
  }

  get argv(): readonly string[] {
    return this.#request.argv;
  }

  get cwd(): NativePath {
    return this.#request.cwd;
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

  /** It has closed, but its client may not have been told everything. */
  get isUnsettled(): boolean {
    return this.#isClosed && !this.#isSettled;
  }

  // ---- starting

  /** The child runs. It is begun when the answer to the start has been queued. */
  started(child: SpawnedProcess): void {
    const { io } = this.#request;
    const input = io.type === "pty" || io.stdin === "open" ? new InputQueue(child) : null;
    this.#running = { child, ending: new Ending(this.#surroundings.clock, child), input };
    this.#networkDenials = child.networkDenials;
    this.#journal.setSource(child);
    this.#deadlines.start();
    for (const action of this.#onceRunning) action(this.#running);
    this.#onceRunning = [];
    if (!this.#isAnswerDue) this.#begin(child);
    this.#tell();
    if (this.#log?.prints("debug") !== true) return;
    this.#log.debug("process started", { pid: child.pid, tty: io.type === "pty", sandboxed: this.#isSandboxed });
  }

  /** There will be no child. Callers that wait for it are told why. */
  failedToStart(message: string): void {
    this.#onceRunning = [];
    this.#closeWithFailure(`the process could not be started: ${message}`);
  }

  /** The answer to the start has been queued: events may follow it. */
  begin(): void {
    if (!this.#isAnswerDue) return;
    this.#isAnswerDue = false;
    if (this.#running !== null) this.#begin(this.#running.child);
  }

  /** The connection that awaited the answer is gone. The next one is not told that the process has started: it reads. */
  beginUnanswered(): void {
    if (!this.#isAnswerDue) return;
    this.#isAnswerDue = false;
    this.#running?.child.begin(this);
  }

  // ---- what the backend reports

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#isClosed || bytes.length === 0) return;
    this.#deadlines.noteOutput();
    this.#lastOutputAtMs = this.#surroundings.clock.now();
    this.#journal.output(stream, bytes);
    this.#tell();
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

  outputEnded(failure: string | null = null): void {
    if (this.#hasOutputEnded) return;
    this.#hasOutputEnded = true;
    if (failure !== null) this.#failure ??= `the output of the process could not be read to its end: ${failure}`;
    if (this.#status !== null && this.#exit === null) this.#publishExit(this.#status);
    else this.#closeIfDone();
  }

  // ---- what callers ask

  read(options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    const hasNews = (): boolean =>
      this.#journal.hasOutputAfter(options.afterSeq) || this.#isClosed ||
      (this.#exit !== null && options.afterSeq < this.#journal.nextSeq - 1);
    if (options.waitMs === 0 || hasNews()) return this.#readNow(options);
    return this.#waiters.until(hasNews, { timeoutMs: options.waitMs, signal: options.signal })
      .then(() => this.#readNow(options));
  }

  /** Its client is done with every event up to this number. */
  acknowledge(seq: number): void {
    const last = this.#journal.nextSeq - 1;
    if (seq > last) {
      throw invalidParams(`seq ${seq} was never sent: the last event of process ${this.processId} has number ${last}`);
    }
    this.#journal.acknowledge(seq);
    this.#settleIfDone();
  }

  /** A read at this cursor: a client that asks for what follows is done with what came before. */
  acknowledgeCursor(afterSeq: number): void {
    if (this.#outputMode === "acknowledged") this.acknowledge(Math.min(afterSeq, this.#journal.nextSeq - 1));
  }

  /** Whether a wait for this ends at once. */
  isOver(until: WaitOptions["until"]): boolean {
    return until === "closed" ? this.#isClosed : this.#exit !== null;
  }

  async wait(options: WaitOptions): Promise<WaitOutcome> {
    const isMet = await this.#waiters.until(() => this.isOver(options.until), options);
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

  /**
   * Signals the process's own group, or the group that has its terminal now: the job in the foreground of a shell. A
   * process that has exited is left alone.
   */
  signal(name: SignalName, target: SignalTarget = "group"): void {
    if (target === "foreground") this.#requireTerminal();
    this.#whenRunning(({ child }) => {
      if (this.isReaped) return;
      if (target === "foreground") child.signalForeground(signalNumber(name));
      else child.signalGroup(signalNumber(name));
    });
  }

  /** Whether there was a running process to end. One that has exited is left alone, even if not closed. */
  terminate(mode: TerminateMode): boolean {
    if (this.isReaped) return false;
    if (mode.type === "force") this.kill("terminated");
    else this.#whenRunning(({ ending }) => ending.terminate("terminated", mode.timeoutMs));
    return true;
  }

  /**
   * The same for everything that descends from the process too, also when the process itself has exited. Resolves when
   * all of it has ended.
   */
  async terminateTree(mode: TerminateMode): Promise<TreeEndOutcome> {
    const { child } = await this.#whenStarted() ?? {};
    if (child === undefined) return { running: false, endedCount: 0, survivorPids: [] };
    const running = !this.isReaped;
    if (running) this.noteEndReason("terminated");
    const isForced = mode.type === "force";
    try {
      // Before the group is killed: what has ended already would not be counted.
      const { endedCount, survivors } = await this.#surroundings.endTree(child, {
        graceMs: isForced ? 0 : mode.timeoutMs,
      });
      return { running, endedCount, survivorPids: survivors };
    } finally {
      // What was not found may hold the output open: nobody waits for that.
      if (isForced && running) this.kill("terminated");
    }
  }

  /** Everyone except `by`, which asked for it, is told. */
  resize({ rows, cols }: TerminalSize, by: unknown = null): void {
    this.#requireTerminal();
    this.#whenRunning(({ child }) => {
      if (this.isReaped) return;
      const size = this.#size = { rows, cols };
      child.resize(size);
      this.#surroundings.router.sink?.event({ type: "resized", processId: this.processId, uid: this.uid, size, by });
      this.#viewers.resized(size, by);
    });
  }

  /** What stands for it, and for what it has left behind, with the backend. Null: it was never started. */
  get child(): SpawnedProcess | null {
    return this.#running?.child ?? null;
  }

  // ---- looking on

  /** Returns the function that ends it. */
  addViewer(viewer: Viewer): () => void {
    return this.#viewers.add(viewer);
  }

  /** What there is now after a number; acknowledges nothing. */
  view(afterSeq: number, maxBytes: number): ReadOutcome {
    return this.#readNow({ afterSeq, maxBytes });
  }

  /** The number of its exit. Null: it has not exited, or nobody knows when. */
  get exitSeq(): number | null {
    return this.#exitSeq;
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
      failure: this.#failure,
    };
  }

  info(): ProcessInfo {
    const now = this.#surroundings.clock.now();
    return {
      ...this.status(),
      processId: this.processId,
      uid: this.uid,
      name: this.name,
      pid: this.pid,
      argv: this.argv,
      cwd: this.cwd,
      tty: this.#request.io.type === "pty",
      size: this.#size,
      ageMs: Math.round(now - this.#createdAtMs),
      silentMs: this.#lastOutputAtMs === null ? null : Math.round(now - this.#lastOutputAtMs),
      keepOnSessionEnd: this.keepOnSessionEnd,
      outputMode: this.#outputMode,
      unacknowledgedBytes: this.#journal.window?.unacknowledgedBytes ?? 0,
      waitsForAck: this.#journal.waitsForAck,
    };
  }

  // ---- ending

  /** Why the process is about to end, as the code that ends it says. The first reason counts. */
  noteEndReason(reason: EndReason): void {
    this.#whenRunning(({ ending }) => ending.noteReason(reason));
  }

  /** SIGKILL to what is left of the group; the streams close soon after, even if another process holds them. */
  kill(reason: EndReason): void {
    this.#whenRunning(({ ending, input }) => {
      if (this.#isClosed) return;
      input?.close();
      this.#journal.admitLastWords();
      ending.kill(reason);
    });
  }

  /** Gives up a child that survived its kill. Callers that wait for its end are told so. */
  abandon(): void {
    this.#letGo();
    this.#closeWithFailure(`process ${this.pid} did not end after SIGKILL, and the server gave up on it`);
  }

  // ---- its session

  /** The session has lost its client, or got one. */
  setAway(isAway: boolean): void {
    this.#journal.setAway(isAway);
  }

  /** It has outlived its session: there is no client left to acknowledge anything. */
  outliveSession(): void {
    if (!this.#isClosed) this.#outputMode = "latest";
    this.#journal.dropWindow();
    this.#settleIfDone();
  }

  /** Nobody can reach it any more. */
  forgotten(): void {
    this.#journal.dropWindow();
  }

  // ---- memory

  /** What it costs in memory, about. Constant once it has closed. */
  get allocatedBytes(): number {
    const { argv, arg0, cwd } = this.#request;
    const words = [this.processId, arg0 ?? "", this.#failure ?? "", ...argv];
    for (const { call, program } of this.#networkDenials ?? []) words.push(call, program ?? "");
    const texts = words.reduce((sum, word) => sum + textCost(word), 2 * cwd.length);
    const writeIds = this.#running?.input?.writeIdBytes ?? 0;
    return CLOSED_PROCESS_OVERHEAD_BYTES + this.#journal.allocatedBytes + texts + writeIds;
  }

  // ---- inside

  #begin(child: SpawnedProcess): void {
    this.#journal.started();
    child.begin(this);
  }

  /** For what only a child can have set off. */
  get #started(): Running {
    if (this.#running === null) throw new Error(`process ${this.processId} reports before it was started`);
    return this.#running;
  }

  #whenRunning(action: (running: Running) => void): void {
    if (this.#running === null) this.#onceRunning.push(action);
    else action(this.#running);
  }

  /** Null when the child could not be started. */
  async #whenStarted(): Promise<Running | null> {
    await this.#waiters.until(() => this.#running !== null || this.#isClosed, { timeoutMs: null });
    return this.#running;
  }

  #requireTerminal(): void {
    if (this.#request.io.type === "pty") return;
    throw invalidRequest(`process ${this.processId} is not attached to a PTY`);
  }

  /** Something has changed: for those who wait for it, and those who look on. */
  #tell(): void {
    this.#waiters.notify();
    this.#viewers.wake();
  }

  #readNow(options: Pick<ReadOptions, "afterSeq" | "maxBytes">): ReadOutcome {
    return { ...this.status(), ...this.#journal.read(options.afterSeq, options.maxBytes) };
  }

  #publishExit(status: ExitStatus): void {
    this.#cancelDenialGrace?.();
    const exitCode = exitCodeOf(status);
    const denials = this.#networkDenials;
    const sandboxDenied = isKnownDenied(exitCode, denials) ||
      (this.#isSandboxed && looksDenied(exitCode, this.#journal.retainedOutput));
    this.#exit = { exitCode, sandboxDenied, end: this.#started.ending.describe(status) };
    if (status.type === "unknown") this.#failure ??= "the exit status of the process was lost";
    this.#exitSeq = this.#journal.nextSeq;
    this.#journal.exited(this.#exit, denials);
    if (this.#log?.prints("debug") === true) this.#logExit(this.#exit, this.#log);
    this.#closeIfDone();
    this.#tell();
  }

  #logExit({ exitCode, sandboxDenied, end }: ProcessExit, log: Logger): void {
    const { pid, ageMs } = this.info();
    log.debug("process exited", { pid, exitCode, reason: end.reason, signal: end.signal, sandboxDenied, ageMs });
  }

  #closeIfDone(): void {
    if (this.#exit === null || !this.#hasOutputEnded || this.#isClosed) return;
    this.#isClosed = true;
    this.#journal.closed();
    this.#letGo();
    // Nobody asks for these again, and they may be large.
    const { argv, cwd, io } = this.#request;
    this.#request = { argv, arg0: null, cwd, io, env: {} };
    this.#log = null;
    this.#surroundings.onClosed(this, this.#started.child);
    this.#journal.window?.settleFor(this.allocatedBytes);
    this.#settleIfDone();
    this.#tell();
  }

  /** Closed and acknowledged: nothing is held for the client any more. */
  #settleIfDone(): void {
    if (this.#running === null || !this.isUnsettled || !this.#journal.isAcknowledged) return;
    this.#isSettled = true;
    this.#journal.dropWindow();
    this.#journal.pack();
    this.#surroundings.onSettled(this);
  }

  /** There is no child, or none that could be waited for. No events: nobody was promised any, or nobody listens. */
  #closeWithFailure(failure: string): void {
    this.#failure = failure;
    this.#isClosed = true;
    this.#tell();
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

/** Begins with the reference's text, which clients compare, and is no more than that when there is nothing to add. */
export function unknownProcess(processId: string, reason: string | null = null): Error {
  return invalidRequest(`unknown process id ${processId}${reason === null ? "" : `: ${reason}`}`);
}
