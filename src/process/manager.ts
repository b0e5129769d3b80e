/**
 * The processes of one session by their ids.
 *
 * Owns which ids are taken, how many processes there may be, how long a closed one is remembered, and where events go.
 * What happens inside one process is `ManagedProcess`; how a child is started is the backend's; which connection the
 * session has is told from outside, with `attach` and `detach`.
 */

import { type Clock, systemClock } from "../clock.ts";
import { DomainError, internalError, invalidRequest } from "../errors.ts";
import { errorFields, type Logger } from "../log.ts";
import type { SignalName, TerminateMode, WriteStatus } from "../protocol/process.ts";
import type { ProcessBackend, SpawnRequest } from "./backend.ts";
import { EventRouter } from "./event_router.ts";
import type { ProcessEventSink } from "./events.ts";
import type { InputWriteOptions } from "./input_queue.ts";
import { CLOSED_RETENTION_MS, DEFAULT_RETAINED_OUTPUT_BYTES, REAP_TIMEOUT_MS } from "./limits.ts";
import {
  ManagedProcess,
  type ProcessSurroundings,
  type ReadOptions,
  unknownProcess,
  type WaitOptions,
} from "./managed_process.ts";
import type { ProcessInfo, ProcessSnapshot, ReadOutcome, WaitOutcome } from "./process_views.ts";
import { SessionChildren } from "./session_children.ts";

export interface ProcessManagerOptions {
  readonly backend: ProcessBackend;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly retainedOutputBytes?: number;
  readonly closedRetentionMs?: number;
  /** Processes not yet closed. Default: no limit. */
  readonly maxProcesses?: number;
  readonly allowDirect?: boolean;
  readonly allowPrepared?: boolean;
}

export interface StartOptions {
  readonly processId: string;
  readonly kind: "direct" | "prepared";
  /** What is spawned, wrapper and environment included. */
  readonly request: SpawnRequest;
  /** Finds out, once the id is taken, what is spawned instead; `request` is then what clients are shown. */
  readonly substitute?: () => Promise<SpawnRequest>;
  readonly isSandboxed: boolean;
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly keepOnSessionEnd: boolean;
  /** For lines about this process; names it and whoever asked for it. */
  readonly log?: Logger;
}

export interface StartedProcess {
  readonly processId: string;
  readonly pid: number;
  /** To be called when the answer has been queued: the events of the process follow it. */
  release(): void;
}

export interface EndOutcome {
  /** Still running and still of this manager, as `keepOnSessionEnd` asked. */
  readonly kept: readonly ManagedProcess[];
  /** Killed, but still there: pids that somebody should look at. */
  readonly survivorPids: readonly number[];
}

export class ProcessManager {
  /** Every child of the session, those included that are no processes to clients: they end together. */
  readonly children: SessionChildren;
  readonly #options: ProcessManagerOptions;
  readonly #clock: Clock;
  readonly #router: EventRouter;
  readonly #surroundings: ProcessSurroundings;
  readonly #processes = new Map<string, ManagedProcess>();
  /** Closed processes still remembered, with the way to cancel their forgetting. */
  readonly #forgetting = new Map<ManagedProcess, () => void>();
  #hasEnded = false;

  constructor(options: ProcessManagerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#router = new EventRouter(this.#clock);
    this.children = new SessionChildren(options.backend);
    this.#surroundings = {
      clock: this.#clock,
      router: this.#router,
      retainedOutputBytes: options.retainedOutputBytes ?? DEFAULT_RETAINED_OUTPUT_BYTES,
      onClosed: (process, child) => {
        this.children.closed(child);
        this.#rememberForAWhile(process);
      },
    };
  }

  has(processId: string): boolean {
    return this.#processes.has(processId);
  }

  /** Processes known, closed ones that are not yet forgotten included. */
  get size(): number {
    return this.#processes.size;
  }

  // ---- the session's connection

  /** Sends events there from now on. Nothing that happened before is sent again. */
  attach(sink: ProcessEventSink): void {
    this.#discardHeldEvents();
    this.#router.setSink(sink);
  }

  /** Sends events nowhere. Processes run on, and their output is read and retained. */
  detach(): void {
    this.#discardHeldEvents();
    this.#router.setSink(null);
  }

  /** The sink has room again. */
  resumeOutput(): void {
    this.#router.resumeStalled();
  }

  // ---- one process

  /** Starts a child. A start that fails leaves the id free. */
  async start(options: StartOptions): Promise<StartedProcess> {
    this.#checkStart(options);
    const { processId } = options;
    const log = options.log ?? this.#options.log.with({ process: processId });
    const process = new ManagedProcess({ ...options, log }, this.#surroundings);
    this.#processes.set(processId, process);
    try {
      const request = options.substitute === undefined ? options.request : await options.substitute();
      // Finding out may have taken a while.
      if (this.#hasEnded) throw sessionHasEnded();
      const { pid } = await this.children.spawn(request, process, options);
      return { processId, pid, release: () => process.release() };
    } catch (error) {
      this.#processes.delete(processId);
      process.failedToStart();
      const failure = error instanceof DomainError ? error : unexpectedStartFailure(error, log);
      this.#router.sink?.event({ type: "failed", processId, message: failure.message });
      throw failure;
    }
  }

  read(processId: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    return this.#get(processId).read(options);
  }

  write(
    processId: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: InputWriteOptions,
  ): WriteStatus | Promise<WriteStatus> {
    return this.#processes.get(processId)?.write(bytes, options) ?? "unknownProcess";
  }

  closeStdin(processId: string, signal?: AbortSignal): WriteStatus | Promise<WriteStatus> {
    return this.#processes.get(processId)?.closeStdin(signal) ?? "unknownProcess";
  }

  /** Does nothing when the process is unknown or has exited. */
  signal(processId: string, name: SignalName): void {
    this.#processes.get(processId)?.signal(name);
  }

  /** Whether there was a running process to end. */
  terminate(processId: string, mode: TerminateMode): boolean {
    return this.#processes.get(processId)?.terminate(mode) ?? false;
  }

  resize(processId: string, size: { rows: number; cols: number }): void {
    this.#get(processId).resize(size);
  }

  async wait(processId: string, options: WaitOptions): Promise<WaitOutcome> {
    return await this.#get(processId).wait(options);
  }

  snapshot(processId: string): ProcessSnapshot {
    return this.#get(processId).snapshot();
  }

  /** In the order they were started. */
  list(): ProcessInfo[] {
    return Array.from(this.#processes.values(), (process) => process.info());
  }

  // ---- all of them

  /**
   * Ends the session's processes with everything they started, and resolves when all is gone. On session expiry those
   * that asked to be kept run on and stay in this manager, to be read, ended or waited for; the end of the server spares
   * none. An attached sink is told of everything until then. Afterwards nothing can be started. May be called again
   * while it runs, with a shorter grace.
   */
  async endAll(reason: "sessionExpired" | "serverShutdown", graceMs: number): Promise<EndOutcome> {
    this.#hasEnded = true;
    const sparesKept = reason === "sessionExpired";
    const open = [...this.#processes.values()].filter((process) => !process.isClosed);
    const kept = open.filter((process) => sparesKept && process.keepOnSessionEnd);
    const ending = open.filter((process) => !kept.includes(process));

    for (const process of ending) process.noteEndReason(reason);
    const survivorPids = await this.#endTrees(graceMs, sparesKept);
    // Whatever the backend could not find; and now nobody waits for what still holds a pipe.
    for (const process of ending) process.kill(reason);
    // A start that failed meanwhile has nobody left to close.
    await whenClosed(ending.filter((process) => this.#processes.get(process.processId) === process));
    for (const process of ending) {
      if (process.isClosed || process.pid === null) continue;
      survivorPids.add(process.pid);
      process.abandon();
    }
    if (survivorPids.size > 0) {
      this.#options.log.warn("processes survived SIGKILL", { pids: [...survivorPids].join(" ") });
    }
    this.#forgetAllBut(kept);
    this.detach();
    return { kept, survivorPids: [...survivorPids] };
  }

  // ---- inside

  #checkStart(options: StartOptions): void {
    const { allowDirect = true, allowPrepared = true, maxProcesses = Infinity } = this.#options;
    if (this.#hasEnded) throw sessionHasEnded();
    if (!(options.kind === "direct" ? allowDirect : allowPrepared)) {
      throw invalidRequest(`this server does not allow ${options.kind} execution`);
    }
    if (this.#processes.has(options.processId)) throw invalidRequest(`process ${options.processId} already exists`);
    if (this.#processes.size - this.#forgetting.size >= maxProcesses) {
      throw invalidRequest(`this session may not have more than ${maxProcesses} processes at once`);
    }
  }

  #get(processId: string): ManagedProcess {
    const process = this.#processes.get(processId);
    if (process === undefined) throw unknownProcess(processId);
    return process;
  }

  #discardHeldEvents(): void {
    for (const process of this.#processes.values()) process.discardHeldEvents();
  }

  #rememberForAWhile(process: ManagedProcess): void {
    const forget = (): void => {
      this.#forgetting.delete(process);
      this.#processes.delete(process.processId);
    };
    const delayMs = this.#options.closedRetentionMs ?? CLOSED_RETENTION_MS;
    this.#forgetting.set(process, this.#clock.setTimer(delayMs, forget));
  }

  #forgetAllBut(kept: readonly ManagedProcess[]): void {
    for (const process of this.#processes.values()) {
      if (kept.includes(process)) continue;
      this.#forgetting.get(process)?.();
      this.#forgetting.delete(process);
      this.#processes.delete(process.processId);
    }
  }

  async #endTrees(graceMs: number, sparesKept: boolean): Promise<Set<number>> {
    try {
      const { survivors } = await this.children.end({ graceMs, sparesKept });
      return new Set(survivors);
    } catch (error) {
      // The groups are still killed after this.
      this.#options.log.error("cannot end the descendants of processes", errorFields(error));
      return new Set();
    }
  }
}

function sessionHasEnded(): DomainError {
  return invalidRequest("session has ended");
}

function unexpectedStartFailure(error: unknown, log: Logger): DomainError {
  log.error("cannot start a process", errorFields(error));
  return internalError("the process could not be started; the server's log has the details", error);
}

/** Resolves when all processes have closed, or waiting longer is pointless. */
async function whenClosed(processes: readonly ManagedProcess[]): Promise<void> {
  // A wait fails only if the process never came to be, and then it is over too.
  await Promise.allSettled(
    processes.map((process) => process.wait({ until: "closed", timeoutMs: REAP_TIMEOUT_MS })),
  );
}
