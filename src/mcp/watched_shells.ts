/**
 * Shells in which every execve is decided, by asking the kernel to ask us (`process/watched/exec_watch.ts`), or by a
 * patched Bash that asks by itself (`patched/`), which is what the reference has.
 *
 * Puts a command, its sandbox and its decider together, and ends everything that belongs to a shell: what it started
 * inside, and what ran outside in its name.
 */

import { internalError, invalidRequest } from "../errors.ts";
import type { SandboxService } from "../launch/sandbox_service.ts";
import { CAN_TRACE } from "../os/children/tracing.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import { sharedReactor } from "../os/loop/reactor.ts";
import type { ExitStatus, ProcessIo, SpawnedProcess, SpawnRequest } from "../process/backend.ts";
import type { PosixBackend } from "../process/posix/posix_backend.ts";
import { exitCodeOf, signalText } from "../process/signals.ts";
import { ExecWatch } from "../process/watched/exec_watch.ts";
import { WritablePlaces } from "../process/watched/writable_places.ts";
import type { WrapperScript } from "./patched/wrapper_script.ts";
import type {
  PatchedBash,
  WatchedShell,
  WatchedShellCounters,
  WatchedShellOptions,
  WatchedShells,
} from "./watched_shell.ts";

export interface WatchedShellsOptions {
  readonly backend: PosixBackend;
  readonly service: SandboxService;
  /** What escalated programs get of it: PATH, HOME and XDG_*. */
  readonly serverEnv: Readonly<Record<string, string>>;
}

/** Who answers for the programs of one shell. */
interface ShellGuard {
  readonly counters: WatchedShellCounters;
  endEscalated(): Promise<void>;
  /** The shell and everything inside is gone. */
  close?(): Promise<void>;
}

type Prepare = NonNullable<SpawnRequest["confinement"]>["prepare"];

/** What is run to see whether calls are really asked about and callers really ended. */
const PROBE = { shell: "/bin/sh", command: "/bin/true", words: "Execution denied: probe" };

export class KernelWatchedShells implements WatchedShells {
  readonly #options: WatchedShellsOptions;
  readonly #shells = new Set<KernelWatchedShell>();
  readonly #writable = new WritablePlaces();
  #obstacle: Promise<string | null> | null = null;
  #wrapperScript: Promise<WrapperScript> | null = null;
  #isClosed = false;

  constructor(options: WatchedShellsOptions) {
    this.#options = options;
  }

  obstacle(): Promise<string | null> {
    return this.#obstacle ??= this.#look();
  }

  async start(options: WatchedShellOptions): Promise<WatchedShell> {
    if (options.patchedBash !== undefined) return await this.#startPatched(options, options.patchedBash);
    const obstacle = await this.obstacle();
    if (obstacle !== null) throw invalidRequest(`Cannot watch the shell's programs: ${obstacle}`);
    return await this.#start(options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#shells, (shell) => shell.terminate()));
    (await this.#wrapperScript?.catch(() => null))?.remove();
  }

  async #start(options: WatchedShellOptions): Promise<KernelWatchedShell> {
    if (this.#isClosed) throw internalError("Cannot start a shell: the server is shutting down");
    const { backend, service, serverEnv } = this.#options;
    const { shell, command, login, cwd, env, sandbox, intercept, escalate, strictExec } = options;
    const watch = new ExecWatch({
      backend,
      reactor: sharedReactor(),
      serverEnv,
      writable: this.#writable,
      intercept,
      escalate,
      strictExec,
      decider: options,
    });
    const program = { argv: [shell, login ? "-lc" : "-c", command], arg0: null, cwd, env };
    const request = { ...program, enforceManagedNetwork: false, asksBeforeExec: true };
    const confined = (sandbox === null ? null : service.confineCommand(sandbox, request)) ??
      service.planCommand(request);
    return await this.#run(options, watch, { ...program, confinement: { ...confined, execAnswerer: watch } });
  }

  /** A Bash that asks by itself: it is confined like any other, but the kernel is not asked to ask. */
  async #startPatched(options: WatchedShellOptions, { bash, wrapper }: PatchedBash): Promise<WatchedShell> {
    if (this.#isClosed) throw internalError("Cannot start a shell: the server is shutting down");
    const { backend, service, serverEnv } = this.#options;
    const { command, login, cwd, sandbox } = options;
    const { openDatagramPair, WrapperScript, WrapperServer } = await import("./patched/patched.ts");
    const path = wrapper ?? (await (this.#wrapperScript ??= WrapperScript.write(serverEnv))).path;
    const { ours, theirs } = openDatagramPair();
    const guard = new WrapperServer(ours, {
      backend,
      reactor: sharedReactor(),
      serverEnv,
      writable: this.#writable,
      decider: options,
    });
    const env = { ...options.env, BASH_EXEC_WRAPPER: path, EXEC_WRAPPER: path };
    const program = { argv: [bash, login ? "-lc" : "-c", command], arg0: null, cwd, env };
    const inherited = { descriptor: theirs, variable: "CODEX_ESCALATE_SOCKET" };
    const request = { ...program, enforceManagedNetwork: false, inherited };
    try {
      const confined = (sandbox === null ? null : service.confineCommand(sandbox, request)) ??
        service.planCommand(request);
      const prepare: typeof confined.prepare = async (leftovers) => {
        const prepared = await confined.prepare(leftovers);
        guard.begins(prepared.policy);
        return prepared;
      };
      return await this.#run(options, guard, { ...program, confinement: { ...confined, prepare } });
    } catch (error) {
      await guard.close();
      throw error;
    } finally {
      closeDescriptor(theirs);
    }
  }

  async #run(
    options: WatchedShellOptions,
    guard: ShellGuard,
    program: Omit<SpawnRequest, "io">,
  ): Promise<KernelWatchedShell> {
    const { backend } = this.#options;
    const started = new KernelWatchedShell(guard, backend, () => this.#shells.delete(started));
    const io: ProcessIo = {
      type: "pipe",
      stdin: options.stdin ?? "closed",
      ...(options.output === "merged" ? { stderr: "joined" } : {}),
    };
    const { confinement } = program;
    const prepare: Prepare | undefined = confinement && (async (leftovers) => {
      const prepared = await confinement.prepare(leftovers);
      // Only a plan with a view of its own has a process namespace of its own.
      started.isAlone = prepared.plan.view !== undefined;
      return prepared;
    });
    const process = await backend.spawn({
      ...program,
      ...(confinement && prepare && { confinement: { ...confinement, prepare } }),
      io,
    });
    started.begin(process);
    process.begin({
      output: (stream, bytes) => options.onOutput(stream === "stderr" ? "stderr" : "stdout", bytes),
      exited: (status) => started.hasExited(status),
      outputEnded: () => started.hasClosed(),
    });
    this.#shells.add(started);
    // Everything may have been closed while it was being started.
    if (this.#isClosed) await started.terminate();
    return started;
  }

  /** Watches a real program and denies it: that takes all that watching takes. */
  async #look(): Promise<string | null> {
    if (!CAN_TRACE) {
      return `it needs Linux on x86-64; this is ${Deno.build.os} on ${Deno.build.arch}`;
    }
    const { obstacle } = this.#options.service;
    if (obstacle !== null) return obstacle;
    let said = "";
    try {
      const decoder = new TextDecoder();
      const shell = await this.#start({
        ...PROBE,
        login: false,
        cwd: "/",
        env: {},
        sandbox: null,
        intercept: "all",
        escalate: "shell",
        strictExec: false,
        decide: () => Promise.resolve({ kind: "deny", reason: "probe" }),
        onOutput: (_, bytes) => void (said += decoder.decode(bytes, { stream: true })),
      });
      const { exitCode } = await shell.exited;
      await shell.closed;
      if (exitCode === 1 && said.includes(PROBE.words)) return null;
      return "the kernel asked, but the caller could not be ended: is tracing forbidden (kernel.yama.ptrace_scope)?";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

class KernelWatchedShell implements WatchedShell {
  readonly exited: WatchedShell["exited"];
  readonly closed: Promise<void>;
  readonly #watch: ShellGuard;
  readonly #backend: PosixBackend;
  readonly #onClosed: () => void;
  readonly #exit = Promise.withResolvers<{ readonly exitCode: number; readonly signal: string | null }>();
  readonly #close = Promise.withResolvers<void>();
  /** It has a process namespace to itself: the kernel ends what the shell leaves behind. */
  isAlone = false;
  #hasExited = false;
  #hasClosed = false;
  #process: SpawnedProcess | null = null;
  #ending: Promise<void> | null = null;

  constructor(watch: ShellGuard, backend: PosixBackend, onClosed: () => void) {
    this.#watch = watch;
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

  get counters(): WatchedShellCounters {
    return { ...this.#watch.counters };
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#running.write(bytes);
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

  terminate(): Promise<void> {
    return this.#ending ??= this.#end();
  }

  get #running(): SpawnedProcess {
    if (this.#process === null) throw new Error("a shell was used before it was started");
    return this.#process;
  }

  async #end(): Promise<void> {
    const process = this.#running;
    // Nothing inside is left to be looked for, which would take longer than the command.
    if (this.isAlone && this.#hasExited && this.#hasClosed) return await this.#watch.endEscalated();
    await Promise.all([this.#backend.endTrees([process], { graceMs: 0 }), this.#watch.endEscalated()]);
    // A call that was being decided may have been let out meanwhile.
    await this.#watch.endEscalated();
    await this.exited;
    process.stopReading();
    await this.closed;
  }

  async #disposeAtEnd(): Promise<void> {
    await this.closed;
    this.#onClosed();
    this.#process?.dispose();
    await this.#watch.close?.();
  }
}
