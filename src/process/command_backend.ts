/**
 * Children by `Deno.Command`, for systems without the calls that `posix_backend.ts` makes. Pipes only, no native code.
 *
 * It refuses sandboxes, terminals, `arg0`, and directories whose names are not UTF-8. It has three weaknesses:
 * `endTrees` finds no descendants outside the child's group; the child inherits descriptors that our own launcher left
 * open; and it outlives us if we are killed.
 */

import { DomainError, internalError, messageOf } from "../errors.ts";
import { describeErrno, EACCES, ENOENT, ENOTDIR } from "../os/errno.ts";
import { whyNoLibc } from "../os/libc_access.ts";
import { refuseUnstartable } from "../os/children/program.ts";
import type { EndReport, ProcessBackend, SpawnedProcess, SpawnRequest } from "./backend.ts";
import { CommandProcess } from "./command_process.ts";
import { SIGKILL, SIGTERM } from "./signals.ts";

/** What the C library searches when the child has no PATH; the runtime would search the server's own. */
const DEFAULT_PATH = ["/bin", "/usr/bin"];

export class CommandBackend implements ProcessBackend {
  readonly name = "command";
  /** Until nothing is known to be left of its group. */
  readonly #running = new Set<CommandProcess>();
  #isClosed = false;

  // deno-lint-ignore require-await -- async so that every refusal is a rejection
  async spawn(request: SpawnRequest): Promise<SpawnedProcess> {
    if (this.#isClosed) throw internalError("Cannot start process: the server is shutting down");
    if (request.confinement !== undefined) {
      throw notSupported("Cannot start process in its sandbox: sandboxes are");
    }
    const child = startCommand(request);
    const process = new CommandProcess(child);
    this.#running.add(process);
    process.gone.then(() => this.#running.delete(process));
    return process;
  }

  /** Descendants cannot be found here, and of the child alone it would mislead. */
  usage(processes: readonly SpawnedProcess[]): Promise<null[]> {
    return Promise.resolve(processes.map(() => null));
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
    // Callers that wait for the end of output are told.
    for (const process of running) {
      // The end of a child that nobody has begun to hear is waited for as well.
      process.begin(null);
      process.stopReading();
    }
    await Promise.all(running.map((process) => process.gone));
    for (const process of running) process.dispose();
    return report;
  }
}

/** Where the C library can be called, only tests use this backend. */
function notSupported(what: string): DomainError {
  return internalError(`${what} not supported: ${whyNoLibc() ?? "this backend does not call the C library"}`);
}

function startCommand(request: SpawnRequest): Deno.ChildProcess {
  refuseUnstartable(request);
  const { argv, arg0, env, io } = request;
  if (io.type === "pty") throw notSupported("Cannot start process: terminals are");
  if (arg0 !== null && arg0 !== argv[0]) throw notSupported("Cannot start process: arg0 is");
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
      // A session and a group of its own, for `signalGroup`.
      detached: true,
    }).spawn();
  } catch (error) {
    const failure = describeSpawnFailure(error);
    const detail = failure.message === NO_SUCH_FILE ? whatIsMissing(argv[0]!, cwd) : undefined;
    throw detail === undefined ? failure : new DomainError(failure.kind, failure.message, { cause: error, detail });
  }
}

/** The system does not say what it did not find. The log says what a look afterwards finds missing. */
function whatIsMissing(program: string, cwd: string): string {
  try {
    Deno.statSync(cwd);
    return program.includes("/") && isFile(program.startsWith("/") ? program : `${cwd}/${program}`)
      ? `the interpreter of program ${JSON.stringify(program)} is missing`
      : `there is no program ${JSON.stringify(program)}`;
  } catch {
    return `there is no working directory ${cwd}`; // Or none that can be looked at.
  }
}

const NO_SUCH_FILE = describeErrno(ENOENT);

/** A name that is found nowhere stays as it is, with a slash, so that it is not looked up elsewhere. */
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

/** Only the operating system's text, as the other backend gives it. The runtime wraps or replaces it. */
function describeSpawnFailure(error: unknown): DomainError {
  const message = messageOf(error);
  const fromSystem = /[^:]*\(os error \d+\)$/.exec(message)?.[0].trim();
  if (fromSystem !== undefined) return internalError(fromSystem, error);
  if (message.includes("cwd is not a directory")) return internalError(describeErrno(ENOTDIR), error);
  if (error instanceof Deno.errors.NotFound) return internalError(describeErrno(ENOENT), error);
  if (error instanceof Deno.errors.PermissionDenied) return internalError(describeErrno(EACCES), error);
  return internalError(`Cannot start process: ${message}`, error);
}

/** Resolves when the promise has, or after `limitMs`. */
async function settledWithin(promise: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => timer = setTimeout(resolve, limitMs));
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
