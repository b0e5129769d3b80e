/**
 * Shells in which every execve is decided, by asking the kernel to ask us (`process/supervised/exec_supervisor.ts`), or by a
 * patched Bash that asks by itself (`patched/`), which is what the reference has.
 *
 * Puts a command, its sandbox and its judge together, and ends everything that belongs to a shell: what it started
 * inside, and what ran outside in its name.
 */

import { internalError, invalidRequest, messageOf } from "../errors.ts";
import { isExhaustion } from "../launch/backends/sandbox_probe.ts";
import type { SandboxService } from "../launch/sandbox_service.ts";
import type { Standby } from "../launch/standby.ts";
import { CAN_TRACE } from "../os/children/tracing.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import { sharedReactor } from "../os/loop/reactor.ts";
import type { ProcessIo, SpawnedProcess, SpawnRequest } from "../process/backend.ts";
import { SandboxSetUpError } from "../process/posix/confined_launch.ts";
import type { PosixBackend } from "../process/posix/posix_backend.ts";
import { ExecSupervisor } from "../process/supervised/exec_supervisor.ts";
import { WritablePlaces } from "../process/supervised/writable_places.ts";
import { KernelSupervisedShell, type ShellGuard } from "./kernel_supervised_shell.ts";
import { MAX_PROCESSES } from "./limits.ts";
import type { PatchedPrograms } from "./patched/patched_programs.ts";
import { withReadOnlyPaths } from "./sandbox_state.ts";
import { StandbyPool } from "./standby_pool.ts";
import type { PatchedBash, SupervisedShell, SupervisedShellOptions, SupervisedShells } from "./supervised_shell.ts";

export interface SupervisedShellsOptions {
  readonly backend: PosixBackend;
  readonly service: SandboxService;
  /** What escalated programs get of it: `PATH`, `HOME`, and where configurations are found. */
  readonly serverEnv: Readonly<Record<string, string>>;
  /** Whether sandboxes are made before their commands come, where that is possible. Default: yes. */
  readonly keepsSandboxes?: boolean;
}

type Prepare = NonNullable<SpawnRequest["confinement"]>["prepare"];

/** What is run to see whether calls are really asked about and callers really ended. */
const PROBE = { shell: "/bin/sh", command: "/bin/true", words: "Execution denied: probe" };

export class KernelSupervisedShells implements SupervisedShells {
  readonly #options: SupervisedShellsOptions;
  readonly #shells = new Set<KernelSupervisedShell>();
  readonly #writable = new WritablePlaces();
  readonly #standbys: StandbyPool | null;
  /** Of a look that is under way, or that found nothing in the way. */
  #obstacle: Promise<string | null> | null = null;
  /** By what was asked for: a server asks for one. */
  readonly #patched = new Map<string, Promise<PatchedPrograms>>();
  #isClosed = false;

  constructor(options: SupervisedShellsOptions) {
    this.#options = options;
    this.#standbys = options.keepsSandboxes === false ? null : new StandbyPool(options.backend);
  }

  obstacle(): Promise<string | null> {
    return this.#obstacle ??= this.#look().then((found) => {
      // It may have passed when the next call asks: a machine that has run out of processes, for one.
      if (found !== null) this.#obstacle = null;
      return found;
    });
  }

  async start(options: SupervisedShellOptions): Promise<SupervisedShell> {
    if (options.patchedBash !== undefined) return await this.#startPatched(options, options.patchedBash);
    const obstacle = await this.obstacle();
    if (obstacle !== null) {
      throw invalidRequest(`Cannot supervise the shell's programs: ${obstacle}${this.#adviceOn(obstacle)}`);
    }
    return await this.#start(options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#standbys?.close(), ...Array.from(this.#shells, (shell) => shell.terminate())]);
  }

  async #start(options: SupervisedShellOptions): Promise<KernelSupervisedShell> {
    if (this.#isClosed) throw internalError("Cannot start a shell: the server is shutting down");
    const { backend, service, serverEnv } = this.#options;
    const { shell, command, login, cwd, env, sandbox, intercept, escalate, strictExec } = options;
    const supervisor = new ExecSupervisor({
      backend,
      reactor: sharedReactor(),
      serverEnv,
      writable: this.#writable,
      leavesFilesToOthers: sandbox?.permissions.type === "external",
      intercept,
      escalate,
      strictExec,
      judge: options,
    });
    const program = { argv: [shell, login ? "-lc" : "-c", command], arg0: null, cwd, env };
    const request = {
      ...program,
      enforceManagedNetwork: false,
      asksBeforeExec: true,
      // Supervising programs takes Linux 5.19, which can also count processes.
      maxProcesses: MAX_PROCESSES,
    };
    const standby = sandbox === null || this.#standbys === null ? null : await service.standBy(sandbox, request);
    const started = standby === null ? null : await this.#startLate(options, supervisor, standby);
    if (started !== null) return started;
    const confined = (sandbox === null ? null : service.confineCommand(sandbox, request)) ??
      service.planCommand(request);
    const other = await this.#run(options, supervisor, {
      ...program,
      confinement: { ...confined, execAnswerer: supervisor },
    });
    // What kept a sandbox from waiting for this one may have passed when the next comes.
    if (standby !== null) void other.closed.then(() => this.#standbys?.commandEnded(standby, ioOf(options)));
    return other;
  }

  /** In a sandbox that was made without the command; null when there is none. */
  async #startLate(
    options: SupervisedShellOptions,
    supervisor: ExecSupervisor,
    standby: Standby,
  ): Promise<KernelSupervisedShell | null> {
    const io = ioOf(options);
    const waiting = await this.#standbys?.take(standby, io) ?? null;
    if (waiting === null) return null;
    const shell = new KernelSupervisedShell(supervisor, this.#options.backend, () => this.#shells.delete(shell));
    shell.isAlone = true;
    try {
      const started = await this.#begin(options, shell, await waiting.run(standby.command, supervisor));
      // For the commands after this one.
      this.#standbys?.commandBegan(standby, io);
      void started.closed.then(() => this.#standbys?.commandEnded(standby, io));
      return started;
    } catch (error) {
      // It was lost before the command began; another sandbox may do better.
      if (error instanceof SandboxSetUpError && error.report.type === "notConfined") return null;
      throw error;
    }
  }

  /** A Bash that asks by itself: it is confined like any other, but the kernel is not asked to ask. */
  async #startPatched(options: SupervisedShellOptions, patchedBash: PatchedBash): Promise<SupervisedShell> {
    if (this.#isClosed) throw internalError("Cannot start a shell: the server is shutting down");
    const { backend, service, serverEnv } = this.#options;
    const { command, login, cwd } = options;
    const { openDatagramPair, SOCKET_VARIABLES, WrapperServer } = await import("./patched/patched.ts");
    const programs = await this.#patchedPrograms(patchedBash);
    const tmpdir = options.env["TMPDIR"];
    const sandbox = options.sandbox && withReadOnlyPaths(options.sandbox, programs.guardedPaths, tmpdir);
    // What the shell inherits is ours to close, whatever fails from here on.
    using inheritable = new DisposableStack();
    const wrapper = inheritable.adopt(await programs.forShell(), (opened) => opened.close());
    const { ours, theirs } = openDatagramPair();
    inheritable.adopt(theirs, closeDescriptor);
    const guard = new WrapperServer(ours, {
      backend,
      reactor: sharedReactor(),
      serverEnv,
      writable: this.#writable,
      leavesFilesToOthers: sandbox?.permissions.type === "external",
      judge: options,
    });
    const env = { ...options.env, ...wrapper.env };
    const program = { argv: [programs.bash, login ? "-lc" : "-c", command], arg0: null, cwd, env };
    const socket = { descriptor: theirs, variables: SOCKET_VARIABLES, toldAs: "number" } as const;
    const inherited = [socket, ...wrapper.inherited];
    const request = { ...program, enforceManagedNetwork: false, tellsEnd: true, inherited };
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
    }
  }

  async #patchedPrograms(patchedBash: PatchedBash): Promise<PatchedPrograms> {
    const { PatchedPrograms } = await import("./patched/patched.ts");
    const key = JSON.stringify(patchedBash);
    const found = this.#patched.get(key) ?? PatchedPrograms.find(patchedBash, this.#options.serverEnv);
    this.#patched.set(key, found);
    // A start that failed is tried again.
    found.catch(() => this.#patched.delete(key));
    return await found;
  }

  async #run(
    options: SupervisedShellOptions,
    guard: ShellGuard,
    program: Omit<SpawnRequest, "io">,
  ): Promise<KernelSupervisedShell> {
    const { backend } = this.#options;
    const started = new KernelSupervisedShell(guard, backend, () => this.#shells.delete(started));
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
      io: ioOf(options),
    });
    return await this.#begin(options, started, process);
  }

  async #begin(
    options: SupervisedShellOptions,
    started: KernelSupervisedShell,
    process: SpawnedProcess,
  ): Promise<KernelSupervisedShell> {
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

  #adviceOn(obstacle: string): string {
    if (isExhaustion(obstacle)) return "; try again when other programs have ended";
    // Where there are no sandboxes at all another Bash does not help.
    return this.#options.service.obstacle === null ? "; a patched Bash (--bash) needs no supervision" : "";
  }

  /** Supervises a real program and denies it: that takes all that supervision takes. */
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
      return "the caller could not be ended: tracing may be forbidden (kernel.yama.ptrace_scope)";
    } catch (error) {
      return messageOf(error);
    }
  }
}

function ioOf({ stdin, output }: SupervisedShellOptions): ProcessIo {
  return { type: "pipe", stdin: stdin ?? "closed", ...(output === "merged" ? { stderr: "joined" } : {}) };
}
