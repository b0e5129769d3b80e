/**
 * Children by `Deno.Command`: for systems without the calls `posix_backend.ts` makes. Pipes only, no native code.
 *
 * What it cannot do, and so refuses: sandboxes, terminals, `arg0`, and directories whose names are not UTF-8. What it
 * does not do: the child stays in our session and process group, so `signalGroup` reaches the child alone and
 * `endTrees` finds none of its descendants; it inherits descriptors that our own launcher left open; and it outlives us
 * if we are killed.
 */

import { type DomainError, internalError } from "../errors.ts";
import { describeErrno, EACCES, ENOENT, ENOTDIR } from "../os/errno.ts";
import { refuseNul } from "../os/program.ts";
import {
  type EndReport,
  type ExitStatus,
  MAX_OUTPUT_CHUNK_BYTES,
  type OutputStream,
  type ProcessBackend,
  type ProcessObserver,
  type SpawnedProcess,
  type SpawnRequest,
  type StdinOutcome,
} from "./backend.ts";
import { SIGKILL, signalText, SIGTERM } from "./signals.ts";

/** What the C library searches when the child has no PATH; the runtime would search the server's own. */
const DEFAULT_PATH = ["/bin", "/usr/bin"];

export class CommandBackend implements ProcessBackend {
  readonly name = "command";
  readonly #running = new Set<CommandProcess>();
  #isClosed = false;

  // deno-lint-ignore require-await -- async so that every refusal is a rejection
  async spawn(request: SpawnRequest, observer: ProcessObserver): Promise<SpawnedProcess> {
    if (this.#isClosed) throw internalError("Cannot start process: the server is shutting down");
    if (request.confinement !== undefined) {
      throw internalError("Cannot start process in its sandbox: sandboxes are not supported on this system");
    }
    const child = startCommand(request);
    const process = new CommandProcess(child, observer);
    this.#running.add(process);
    process.ended.then(() => this.#running.delete(process));
    // In a turn of its own, after whoever awaits this process has got hold of it.
    setImmediate(() => process.begin());
    return process;
  }

  async endTrees(processes: readonly SpawnedProcess[], options: { graceMs: number }): Promise<EndReport> {
    const running = [...this.#running].filter((process) => processes.includes(process));
    const ended = Promise.all(running.map((process) => process.ended));
    if (options.graceMs > 0) {
      for (const process of running) process.signalGroup(SIGTERM);
      await settledWithin(ended, options.graceMs);
    }
    for (const process of running) process.signalGroup(SIGKILL);
    await ended;
    return { endedCount: running.length, survivors: [] };
  }

  async close(options: { graceMs: number }): Promise<EndReport> {
    this.#isClosed = true;
    const running = [...this.#running];
    const report = await this.endTrees(running, options);
    for (const process of running) process.dispose();
    return report;
  }
}

function startCommand(request: SpawnRequest): Deno.ChildProcess {
  refuseNul(request);
  const { argv, arg0, env, io } = request;
  if (io.type === "pty") throw internalError("Cannot start process: terminals are not supported on this system");
  if (arg0 !== null && arg0 !== argv[0]) {
    throw internalError("Cannot start process: arg0 is not supported on this system");
  }
  const cwd = typeof request.cwd === "string" ? request.cwd : decodePath(request.cwd);
  try {
    const program = env.PATH === undefined ? findByDefault(argv[0]!) : argv[0]!;
    return new Deno.Command(program, {
      args: argv.slice(1),
      cwd,
      clearEnv: true,
      env: { ...env },
      stdin: io.stdin === "open" ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    throw describeSpawnFailure(error);
  }
}

/** A name that is nowhere stays as it is, with a slash, so that it is looked up nowhere else. */
function findByDefault(name: string): string {
  if (name.includes("/")) return name;
  const paths = DEFAULT_PATH.map((directory) => `${directory}/${name}`);
  return paths.find((path) => isFile(path)) ?? paths[0]!;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    // Missing or out of reach: not a program either way.
    return false;
  }
}

function decodePath(path: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(path);
  } catch (cause) {
    throw internalError("Cannot start process: the working directory is not valid UTF-8", cause);
  }
}

/**
 * The operating system's text alone, as the other backend gives it. The runtime wraps it, or replaces it by its own.
 */
function describeSpawnFailure(error: unknown): DomainError {
  const message = error instanceof Error ? error.message : String(error);
  const fromSystem = /[^:]*\(os error \d+\)$/.exec(message)?.[0].trim();
  if (fromSystem !== undefined) return internalError(fromSystem, error);
  if (message.includes("cwd is not a directory")) return internalError(describeErrno(ENOTDIR), error);
  if (error instanceof Deno.errors.NotFound) return internalError(describeErrno(ENOENT), error);
  if (error instanceof Deno.errors.PermissionDenied) return internalError(describeErrno(EACCES), error);
  return internalError(`Cannot start process: ${message}`, error);
}

class CommandProcess implements SpawnedProcess {
  readonly pid: number;
  /** Nothing is confined here. */
  readonly networkDenials = null;
  readonly ended: Promise<void>;
  readonly #child: Deno.ChildProcess;
  readonly #observer: ProcessObserver;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> | null;
  readonly #readers: ReadonlyArray<readonly [OutputStream, ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>]>;
  /** While paused: what readers wait for. */
  #resumed: PromiseWithResolvers<void> | null = null;
  #queuedInputBytes = 0;
  #isInputOpen: boolean;
  #isReading = true;
  #isDisposed = false;
  #hasExited = false;

  constructor(child: Deno.ChildProcess, observer: ProcessObserver) {
    this.pid = child.pid;
    this.#child = child;
    this.#observer = observer;
    this.#input = hasInput(child) ? child.stdin.getWriter() : null;
    this.#isInputOpen = this.#input !== null;
    this.#readers = [["stdout", child.stdout.getReader()], ["stderr", child.stderr.getReader()]];
    this.ended = child.status.then(() => {}, () => {});
  }

  /** Starts reporting. */
  begin(): void {
    this.#child.status.then(toExitStatus, (): ExitStatus => ({ type: "unknown" })).then((status) => {
      this.#hasExited = true;
      if (!this.#isDisposed) this.#observer.exited(status);
    });
    Promise.all(this.#readers.map(([stream, reader]) => this.#read(stream, reader))).then(() => {
      this.#isReading = false;
      if (!this.#isDisposed) this.#observer.outputEnded();
    });
  }

  get queuedInputBytes(): number {
    return this.#queuedInputBytes;
  }

  pauseOutput(): void {
    if (this.#resumed === null && this.#isReading) this.#resumed = Promise.withResolvers<void>();
  }

  resumeOutput(): void {
    this.#resumed?.resolve();
    this.#resumed = null;
  }

  stopReading(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    this.resumeOutput();
    // Fails when the stream has failed already, which ends it as well.
    for (const [, reader] of this.#readers) reader.cancel().catch(() => {});
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome> {
    if (!this.#isInputOpen || this.#input === null) return "closed";
    this.#queuedInputBytes += bytes.length;
    try {
      await this.#input.write(bytes);
      return "written";
    } catch {
      // The child closed its input, or we did with this still queued: either way it was not taken.
      this.#isInputOpen = false;
      return "closed";
    } finally {
      this.#queuedInputBytes -= bytes.length;
    }
  }

  closeInput(): void {
    if (!this.#isInputOpen) return;
    this.#isInputOpen = false;
    // Fails when the child closed first, which is what was wanted.
    this.#input?.close().catch(() => {});
  }

  resize(): void {
    // There are no terminals here.
  }

  signalGroup(signal: number): boolean {
    if (this.#hasExited) return false;
    try {
      this.#child.kill(signalText(signal) as Deno.Signal);
      return true;
    } catch {
      // It has ended and the runtime knows already.
      return false;
    }
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.stopReading();
    this.#isInputOpen = false;
    // Fails when it was closed before.
    this.#input?.abort().catch(() => {});
  }

  async #read(stream: OutputStream, reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        for (let offset = 0; offset < value.length; offset += MAX_OUTPUT_CHUNK_BYTES) {
          // What was under way when reading was paused waits here, and what follows it in the pipe.
          while (this.#resumed !== null) await this.#resumed.promise;
          if (!this.#isReading) return;
          this.#observer.output(stream, value.slice(offset, offset + MAX_OUTPUT_CHUNK_BYTES));
        }
      }
    } catch {
      // A pipe that cannot be read any more has ended.
    }
  }
}

/** Whether input is piped; the runtime throws when asked for a stream that is not. */
function hasInput(child: Deno.ChildProcess): boolean {
  try {
    return child.stdin !== null;
  } catch {
    return false;
  }
}

function toExitStatus(status: Deno.CommandStatus): ExitStatus {
  if (status.signal === null) return { type: "exited", code: status.code };
  // The runtime gives 128 and the number.
  return { type: "signaled", signal: status.code - 128 };
}

/** Resolves when the promise has, or after `limitMs`. */
async function settledWithin(promise: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => timer = setTimeout(resolve, limitMs));
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
