/**
 * Supervised shells that the test plays itself: it says which programs the shell starts, what it writes and how it ends.
 * Nothing is started. Keeps the promises of the seam: an ended shell ends its output and answers no more.
 */

import { internalError } from "../../src/errors.ts";
import type {
  ExecCall,
  ExecVerdict,
  SupervisedShell,
  SupervisedShellOptions,
  SupervisedShells,
} from "../../src/mcp/supervised_shell.ts";

export class FakeShell implements SupervisedShell {
  readonly pid = 4242;
  readonly options: SupervisedShellOptions;
  readonly written: string[] = [];
  isStdinClosed = false;
  /** What it does not read waits until its end. */
  isReading = true;
  isTerminated = false;
  hasStoppedReading = false;
  /** Until this resolves its programs still run, though it is being ended. */
  outlives: Promise<void> | null = null;
  /** Whether a child holds the output open after the shell's end. */
  isHeldOpen = false;
  /** Whether a child that does not is left then. */
  leavesChild = false;
  readonly counters = { execs: 0, run: 0, escalated: 0, denied: 0, mismatched: 0, refused: 0 };
  readonly #gone = new AbortController();
  readonly #exited = Promise.withResolvers<{ exitCode: number; signal: string | null }>();
  readonly #closed = Promise.withResolvers<void>();

  constructor(options: SupervisedShellOptions) {
    this.options = options;
  }

  get exited(): Promise<{ exitCode: number; signal: string | null }> {
    return this.#exited.promise;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** The shell, or one of its programs, starts a program. */
  async exec(argv: readonly string[], more: Partial<ExecCall> = {}): Promise<ExecVerdict> {
    const file = more.file ?? (argv[0]!.startsWith("/") ? argv[0]! : `/usr/bin/${argv[0]}`);
    const call: ExecCall = { file, argv, cwd: this.options.cwd, env: {}, pid: 4243, isShell: true, ...more };
    return await this.options.decide(call, this.#gone.signal);
  }

  print(text: string, stream: "stdout" | "stderr" = "stdout"): void {
    this.options.onOutput(stream, new TextEncoder().encode(text));
  }

  exit(exitCode: number, signal: string | null = null): void {
    this.#exited.resolve({ exitCode, signal });
    if (!this.isHeldOpen) this.#closed.resolve();
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<"written" | "closed"> {
    if (!this.isReading) return this.#closed.promise.then(() => "closed");
    this.written.push(new TextDecoder().decode(bytes));
    return Promise.resolve("written");
  }

  closeStdin(): void {
    this.isStdinClosed = true;
  }

  pauseOutput(): void {}
  resumeOutput(): void {}

  leavesProcesses(): Promise<boolean> {
    return Promise.resolve(this.leavesChild);
  }

  stopReading(): void {
    this.hasStoppedReading = true;
    this.#closed.resolve();
  }

  terminate(): Promise<void> {
    this.isTerminated = true;
    if (this.outlives !== null) return this.outlives.then(() => this.#end());
    this.#end();
    return Promise.resolve();
  }

  #end(): void {
    this.#gone.abort();
    this.#exited.resolve({ exitCode: 137, signal: "SIGKILL" });
    this.#closed.resolve();
  }
}

export class FakeSupervisedShells implements SupervisedShells {
  readonly shells: FakeShell[] = [];
  /** Why no shell can be started. */
  refusal: string | null = null;
  readonly #waiting: ((shell: FakeShell) => void)[] = [];

  obstacle(): Promise<string | null> {
    return Promise.resolve(this.refusal);
  }

  start(options: SupervisedShellOptions): Promise<SupervisedShell> {
    if (this.refusal !== null) return Promise.reject(internalError(this.refusal));
    const shell = new FakeShell(options);
    this.shells.push(shell);
    this.#waiting.shift()?.(shell);
    return Promise.resolve(shell);
  }

  /** The next shell that is started. */
  next(): Promise<FakeShell> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    await Promise.all(this.shells.map((shell) => shell.terminate()));
  }
}
