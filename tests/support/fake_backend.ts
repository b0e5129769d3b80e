/**
 * Children that exist only in memory and do what the test says.
 *
 * A child has pipes like a real one: what it prints waits there while reading is paused, and its input waits until it is
 * read. The backend's side of the contract is kept strictly (nothing is reported from inside a call, nothing after the
 * end), and the other side's mistakes throw.
 *
 * More than 300 lines: a child that does all that a real one does, and its backend.
 */

import { type Clock, systemClock } from "../../src/clock.ts";
import type {
  EndReport,
  ExitStatus,
  NetworkDenial,
  OutputStream,
  ProcessBackend,
  ProcessObserver,
  SpawnedProcess,
  SpawnRequest,
  StdinOutcome,
} from "../../src/process/backend.ts";

const SIGKILL = 9;
const SIGTERM = 15;

export class FakeBackend implements ProcessBackend {
  readonly name = "posix";
  readonly children: FakeChild[] = [];
  /** The next spawn fails with this. */
  nextFailure: unknown = null;
  /** Spawns wait for `finishSpawn` while this is set. */
  holdsSpawns = false;
  /** The next end of trees fails with this. */
  nextEndFailure: unknown = null;
  /** What was asked to be ended with its descendants, as pids. */
  readonly endedTrees: { readonly pids: number[]; readonly graceMs: number }[] = [];
  /** What the sandboxes of children spawned from now on have refused. */
  networkDenials: readonly NetworkDenial[] | null = null;
  readonly #heldSpawns: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async spawn(request: SpawnRequest): Promise<SpawnedProcess> {
    if (this.holdsSpawns) await new Promise<void>((resolve) => this.#heldSpawns.push(resolve));
    const failure = this.nextFailure;
    this.nextFailure = null;
    if (failure !== null) throw failure;
    const child = new FakeChild(100 + this.children.length, request, this.networkDenials);
    this.children.push(child);
    return child;
  }

  async endTrees(processes: readonly SpawnedProcess[], { graceMs }: { graceMs: number }): Promise<EndReport> {
    this.endedTrees.push({ pids: processes.map(({ pid }) => pid), graceMs });
    const failure = this.nextEndFailure;
    this.nextEndFailure = null;
    if (failure !== null) throw failure;
    const running = this.children.filter((child) => processes.includes(child) && !child.hasExited);
    if (graceMs > 0) {
      for (const child of running) child.signalGroup(SIGTERM);
      await settled();
      if (running.some((child) => !child.hasExited)) {
        await new Promise<void>((resolve) => this.#clock.setTimer(graceMs, resolve));
      }
    }
    for (const child of running) if (!child.hasExited) child.signalGroup(SIGKILL);
    await settled();
    const survivors = running.filter((child) => !child.hasExited).map(({ pid }) => pid);
    return { endedCount: running.length - survivors.length, survivors };
  }

  usage(processes: readonly SpawnedProcess[]): Promise<null[]> {
    return Promise.resolve(processes.map(() => null));
  }

  close(): Promise<EndReport> {
    return this.endTrees(this.children, { graceMs: 0 });
  }

  /** Lets the oldest held spawn go on. */
  finishSpawn(): void {
    this.#heldSpawns.shift()?.();
  }

  get last(): FakeChild {
    return this.children.at(-1)!;
  }
}

export class FakeChild implements SpawnedProcess {
  readonly pid: number;
  readonly networkDenials: readonly NetworkDenial[] | null;
  readonly request: SpawnRequest;
  /** Null before it is begun. */
  #observer: ProcessObserver | null = null;
  /** Of a child that has exited, until that is reported. */
  #status: ExitStatus | null = null;
  /** All signals sent to the group, in order. */
  readonly signals: number[] = [];
  /** All signals sent to the group that has the terminal. */
  readonly foregroundSignals: number[] = [];
  readonly sizes: { rows: number; cols: number }[] = [];
  ignoresTerm = false;
  /** Not even SIGKILL ends it, as with a child stuck in the kernel. */
  isUnkillable = false;
  /** A descendant outside the group keeps the output open. */
  isOutputHeldOpen = false;
  isPaused = false;
  isDisposed = false;
  hasExited = false;
  isInputEnded = false;
  /** What waits in the pipes. */
  #printed: [OutputStream, Uint8Array<ArrayBuffer>][] = [];
  isOutputClosed = false;
  #hasOutputEnded = false;
  #outputFailure: string | null = null;
  #input: { bytes: Uint8Array; settle: (outcome: StdinOutcome) => void }[] = [];
  #isInputClosed = false;
  #queuedInputBytes = 0;
  readonly #consumed: Uint8Array[] = [];

  constructor(
    pid: number,
    request: SpawnRequest,
    networkDenials: readonly NetworkDenial[] | null = null,
  ) {
    this.networkDenials = networkDenials;
    this.pid = pid;
    this.request = request;
  }

  // ---- what the test makes the child do

  /** Writes output. It is delivered at once unless reading is paused. */
  print(text: string | Uint8Array<ArrayBuffer>, stream: OutputStream = this.#mainStream): void {
    if (this.isOutputClosed) return;
    this.#printed.push([stream, typeof text === "string" ? new TextEncoder().encode(text) : text]);
    this.#deliver();
  }

  exit(code = 0): void {
    this.#end({ type: "exited", code });
  }

  die(signal: number): void {
    this.#end({ type: "signaled", signal });
  }

  loseStatus(): void {
    this.#end({ type: "unknown" });
  }

  /** Closes the output streams: end of file once they have been read. */
  closeOutput(): void {
    this.isOutputClosed = true;
    this.#deliver();
  }

  /** Its output cannot be read any more. */
  breakOutput(failure: string): void {
    this.#outputFailure = failure;
    this.closeOutput();
  }

  /** What the child has read so far. */
  get consumedText(): string {
    const decoder = new TextDecoder();
    return this.#consumed.map((bytes) => decoder.decode(bytes, { stream: true })).join("");
  }

  /** Reads input, at most so many bytes. */
  consume(maxBytes = Infinity): void {
    while (maxBytes > 0) {
      const first = this.#input[0];
      if (first === undefined) return;
      const taken = first.bytes.subarray(0, maxBytes);
      this.#consumed.push(taken);
      this.#queuedInputBytes -= taken.length;
      maxBytes -= taken.length;
      first.bytes = first.bytes.subarray(taken.length);
      if (first.bytes.length > 0) return;
      this.#input.shift();
      first.settle("written");
    }
  }

  /** Closes its own standard input. */
  closeOwnInput(): void {
    this.#isInputClosed = true;
    this.#queuedInputBytes = 0;
    for (const { settle } of this.#input.splice(0)) settle("closed");
  }

  // ---- the backend's side

  begin(observer: ProcessObserver): void {
    this.#checkUsable();
    if (this.#observer !== null) throw new Error("child begun twice");
    this.#observer = observer;
    queueMicrotask(() => this.#deliver());
  }

  pauseOutput(): void {
    this.#checkUsable();
    this.isPaused = true;
  }

  resumeOutput(): void {
    this.#checkUsable();
    this.isPaused = false;
    queueMicrotask(() => this.#deliver());
  }

  stopReading(): void {
    this.#checkUsable();
    this.#printed = [];
    this.isOutputClosed = true;
    this.isPaused = false;
    queueMicrotask(() => this.#deliver());
  }

  get queuedInputBytes(): number {
    return this.#queuedInputBytes;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome> {
    this.#checkUsable();
    if (this.#isInputClosed || this.isInputEnded) return Promise.resolve("closed");
    this.#queuedInputBytes += bytes.length;
    return new Promise((settle) => this.#input.push({ bytes, settle }));
  }

  closeInput(): void {
    this.#checkUsable();
    this.isInputEnded = true;
  }

  resize(size: { rows: number; cols: number }): void {
    this.#checkUsable();
    if (this.request.io.type !== "pty") throw new Error("resize of a child without a terminal");
    this.sizes.push(size);
  }

  signalGroup(signal: number): boolean {
    this.#checkUsable();
    this.signals.push(signal);
    if (this.hasExited) return false;
    const isFatal = signal === SIGKILL ? !this.isUnkillable : signal === SIGTERM && !this.ignoresTerm;
    if (isFatal) queueMicrotask(() => this.die(signal));
    return true;
  }

  signalForeground(signal: number): boolean {
    this.#checkUsable();
    this.foregroundSignals.push(signal);
    return true;
  }

  dispose(): void {
    this.isDisposed = true;
    this.closeOwnInput();
  }

  get #mainStream(): OutputStream {
    return this.request.io.type === "pty" ? "pty" : "stdout";
  }

  #end(status: ExitStatus): void {
    if (this.hasExited || this.isDisposed) return;
    this.hasExited = true;
    this.closeOwnInput();
    this.#status = status;
    this.#reportExit();
    if (!this.isOutputHeldOpen) this.closeOutput();
  }

  #reportExit(): void {
    if (this.#status === null || this.#observer === null || this.isDisposed) return;
    const status = this.#status;
    this.#status = null;
    this.#observer.exited(status);
  }

  #deliver(): void {
    if (this.#observer === null) return;
    while (!this.isPaused && !this.isDisposed) {
      const next = this.#printed.shift();
      if (next === undefined) break;
      this.#observer.output(...next);
    }
    this.#reportExit();
    if (this.isPaused || this.isDisposed || !this.isOutputClosed || this.#hasOutputEnded) return;
    this.#hasOutputEnded = true;
    this.#observer.outputEnded(this.#outputFailure);
  }

  #checkUsable(): void {
    if (this.isDisposed) throw new Error("child used after dispose");
  }
}

/** Resolves when all promise reactions that were due have run, and those they set off, some levels deep. */
export async function settled(): Promise<void> {
  for (let level = 0; level < 20; level++) await null;
}
