/**
 * The processes of one session by their ids.
 *
 * Owns which ids are taken, how many processes there may be, and where events go. What happens inside one process is
 * `ManagedProcess`; how long a closed one is remembered is `ClosedProcesses`; how a child is started is the backend's;
 * which connection the session has is told from outside, with `attach` and `detach`. Names that hold beyond the session
 * come from the registry.
 *
 * More than 300 lines: every operation on the table of processes is here, each in a few lines.
 */

import { type Clock, systemClock } from "../../clock.ts";
import { DomainError, internalError, invalidRequest } from "../../errors.ts";
import { errorFields, type Logger } from "../../log.ts";
import type { ProcessBackend, SpawnRequest } from "../backend.ts";
import { type Audience, PRESENT } from "./audience.ts";
import { ClosedLedger } from "./closed_ledger.ts";
import { ClosedProcesses } from "./closed_processes.ts";
import { EventRouter } from "./event_router.ts";
import type { ProcessEventSink } from "./events.ts";
import {
  CLOSED_RETENTION_MS,
  DEFAULT_DETACHED_OUTPUT_BYTES,
  DEFAULT_RETAINED_OUTPUT_BYTES,
  MAX_REMEMBERED_EVICTIONS,
  MAX_REMEMBERED_FAILED_STARTS,
  REAP_TIMEOUT_MS,
} from "../limits.ts";
import {
  ManagedProcess,
  type ManagedProcessOptions,
  type ProcessSurroundings,
  unknownProcess,
} from "./managed_process.ts";
import { randomUid } from "./process_uid.ts";
import { RememberedReasons } from "./remembered_reasons.ts";
import type { EndReason, ProcessInfo, ProcessStatus } from "./process_views.ts";
import type { OutputMode } from "../../protocol/process.ts";
import { OutputReserve } from "./output_reserve.ts";
import { SessionChildren } from "../posix/session_children.ts";

/** Where processes have names beyond their session. */
export interface ProcessRegistry {
  /** A name that no process has or had. */
  newUid(): string;
  /** Whether a process that has not closed has this name, so that another one of this session may not. */
  isNameTaken(name: string, manager: ProcessManager): boolean;
  add(process: ManagedProcess, manager: ProcessManager): void;
  /** Its session has forgotten it; with the reason, if that was before its time. */
  remove(process: ManagedProcess, eviction: string | null): void;
}

export interface ProcessManagerOptions {
  readonly backend: ProcessBackend;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly retainedOutputBytes?: number;
  /** How long a closed process is remembered while a client could read it. */
  readonly closedRetentionMs?: number;
  /** The server's ledger: what closed processes hold is bounded over all sessions. */
  readonly closedLedger?: ClosedLedger;
  /** The server's reserve: what clients have not acknowledged is bounded over all sessions too. */
  readonly outputReserve?: OutputReserve;
  /** The most that a process holds of that while its client is away. */
  readonly detachedOutputBytes?: number;
  readonly registry?: ProcessRegistry;
  /** Whether others can reach what outlives the session. If not, what has closed is not kept for them. Default: yes. */
  readonly sharesKept?: boolean;
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
  /** Default: `latest`. */
  readonly output?: OutputMode;
  /** What people call it. Default: nothing. */
  readonly name?: string | null;
  /** For lines about this process; names the process and the request that started it. */
  readonly log?: Logger;
}

export interface StartedProcess {
  readonly processId: string;
  readonly uid: string;
  readonly pid: number;
  /** How much output may be unacknowledged. Null: as much as there is. */
  readonly windowBytes: number | null;
  /** To be called when the answer has been queued: from then on the process is heard of. */
  begin(): void;
}

/** Why a session's processes end together. */
export type SessionEndCause = Extract<EndReason, "sessionEnded" | "sessionExpired" | "serverShutdown">;

export interface EndOutcome {
  /** Still of this manager, as `keepOnSessionEnd` asked: running, or closed and to be read. */
  readonly kept: readonly ManagedProcess[];
  /** Killed, but still there: pids that somebody should look at. */
  readonly survivorPids: readonly number[];
}

export class ProcessManager {
  /** Every child of the session, including those that clients do not see as processes: they end together. */
  readonly children: SessionChildren;
  readonly #options: ProcessManagerOptions;
  readonly #clock: Clock;
  readonly #router: EventRouter;
  readonly #surroundings: ProcessSurroundings;
  readonly #registry: ProcessRegistry | null;
  readonly #processes = new Map<string, ManagedProcess>();
  readonly #closed: ClosedProcesses;
  /** Closed, and held for a client that has not acknowledged everything. */
  readonly #unsettled = new Set<ManagedProcess>();
  readonly #reserve: OutputReserve;
  readonly #evictions = new RememberedReasons(MAX_REMEMBERED_EVICTIONS);
  readonly #failedStarts = new RememberedReasons(MAX_REMEMBERED_FAILED_STARTS);
  #hasEnded = false;

  constructor(options: ProcessManagerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#router = new EventRouter(this.#clock);
    this.#registry = options.registry ?? null;
    this.#reserve = options.outputReserve ?? new OutputReserve();
    this.children = new SessionChildren(options.backend);
    this.#closed = new ClosedProcesses({
      clock: this.#clock,
      retentionMs: options.closedRetentionMs ?? CLOSED_RETENTION_MS,
      ledger: options.closedLedger ?? new ClosedLedger({ clock: this.#clock, log: options.log }),
      onForgotten: (process, eviction) => {
        if (eviction !== null) this.#evictions.add(process.processId, eviction);
        this.#forget(process, eviction);
      },
    });
    this.#surroundings = {
      clock: this.#clock,
      router: this.#router,
      retainedOutputBytes: options.retainedOutputBytes ?? DEFAULT_RETAINED_OUTPUT_BYTES,
      onClosed: (process, child) => {
        this.children.closed(child);
        this.#unsettled.add(process);
      },
      onSettled: (process) => {
        this.#unsettled.delete(process);
        if (!this.#hasEnded || (process.keepOnSessionEnd && this.#sharesKept)) this.#closed.add(process);
        // What the end of the session has ended is forgotten with it, and takes nobody else's place before that.
        else if (process.keepOnSessionEnd) this.#forget(process);
      },
      endTree: (child, endOptions) => this.children.endOne(child, endOptions),
    };
  }

  /** Its session has ended: what it still has outlived that. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Processes known, closed ones that are not yet forgotten included. */
  get size(): number {
    return this.#processes.size;
  }

  // ---- the session's connection

  /** Sends events there from now on, where that audience is. Nothing that happened before is sent again. */
  attach(sink: ProcessEventSink, audience: Audience = PRESENT): void {
    this.#beginUnanswered();
    this.#router.setSink(sink);
    for (const process of this.#processes.values()) process.setAway(false);
    this.countRetention(audience);
  }

  /** Sends events nowhere. Processes run on, and their output is read and retained. */
  detach(): void {
    this.#beginUnanswered();
    this.#router.setSink(null);
    for (const process of this.#processes.values()) process.setAway(true);
    this.countRetention(null);
  }

  /** Who could read what has closed, so that the time it is remembered for goes by. */
  countRetention(audience: Audience | null): void {
    this.#closed.countTimeFor(audience);
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
    const uid = this.#registry?.newUid() ?? randomUid();
    const window = this.#takeWindow(options);
    const process = new ManagedProcess({ ...options, uid, window, log }, this.#surroundings);
    this.#evictions.remove(processId);
    this.#failedStarts.remove(processId);
    this.#processes.set(processId, process);
    this.#registry?.add(process, this);
    try {
      const request = options.substitute === undefined ? options.request : await options.substitute();
      // Finding out may have taken a while.
      if (this.#hasEnded) throw sessionHasEnded();
      const child = await this.children.spawn(request, options);
      process.started(child);
      const windowBytes = window?.windowBytes ?? null;
      return { processId, uid, pid: child.pid, windowBytes, begin: () => process.begin() };
    } catch (error) {
      const failure = error instanceof DomainError ? error : unexpectedStartFailure(error, log);
      this.#forget(process);
      process.failedToStart(failure.message);
      this.#failedStarts.add(processId, process.status().failure!);
      this.#router.sink?.event({ type: "failed", processId, message: failure.message });
      throw failure;
    }
  }

  find(processId: string): ManagedProcess | null {
    return this.#processes.get(processId) ?? null;
  }

  /** Throws when there is none, with the reason if it is known. */
  get(processId: string): ManagedProcess {
    const process = this.#processes.get(processId);
    if (process === undefined) throw unknownProcess(processId, this.#evictions.get(processId));
    return process;
  }

  /** The status of a process that could not be started under this id, which is free. Null: nothing is known. */
  failedStart(processId: string): ProcessStatus | null {
    const failure = this.#failedStarts.get(processId);
    return failure === null ? null : { nextSeq: 1, exit: null, closed: true, networkDenials: null, failure };
  }

  /** In the order they were started. */
  all(): Iterable<ManagedProcess> {
    return this.#processes.values();
  }

  list(): ProcessInfo[] {
    return Array.from(this.all(), (process) => process.info());
  }

  // ---- all of them

  /**
   * Ends the session's processes with everything they started, and resolves when all is gone. At the end of a session
   * those that asked to be kept run on and stay in this manager, to be read, ended or waited for; the end of the server
   * spares none. An attached sink is told of everything until then. Afterwards nothing can be started. May be called
   * again while it runs, with a shorter grace.
   */
  async endAll(reason: SessionEndCause, graceMs: number): Promise<EndOutcome> {
    this.#hasEnded = true;
    const sparesKept = reason !== "serverShutdown";
    const isSpared = (process: ManagedProcess) => sparesKept && process.keepOnSessionEnd;
    const ending = [...this.#processes.values()].filter((process) => !process.isClosed && !isSpared(process));

    for (const process of ending) process.noteEndReason(reason);
    const survivorPids = await this.#endTrees(graceMs, sparesKept);
    // Kills what the backend could not find. A process that still holds a pipe is not waited for any longer.
    for (const process of ending) {
      process.kill(reason);
      // Its end is waited for, whether or not its start was answered.
      process.beginUnanswered();
    }
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
    const kept = [...this.#processes.values()].filter((process) =>
      isSpared(process) && (!process.isClosed || this.#sharesKept)
    );
    this.#forgetAllBut(new Set(kept));
    for (const process of kept) process.outliveSession();
    this.detach();
    return { kept, survivorPids: [...survivorPids] };
  }

  // ---- inside

  get #sharesKept(): boolean {
    return this.#options.sharesKept ?? true;
  }

  #checkStart(options: StartOptions): void {
    const { allowDirect = true, allowPrepared = true, maxProcesses = Infinity } = this.#options;
    if (this.#hasEnded) throw sessionHasEnded();
    if (!(options.kind === "direct" ? allowDirect : allowPrepared)) {
      throw invalidRequest(`this server does not allow ${options.kind} execution`);
    }
    if (this.#processes.has(options.processId)) throw invalidRequest(`process ${options.processId} already exists`);
    const { name = null } = options;
    if (name !== null && this.#registry?.isNameTaken(name, this) === true) {
      throw invalidRequest(`process name ${name} is in use: choose another, or end the process that has it`);
    }
    if (this.#processes.size - this.#closed.size - this.#unsettled.size >= maxProcesses) {
      throw invalidRequest(`this session may not have more than ${maxProcesses} processes at once`);
    }
  }

  /** Takes what a process may hold for its client before anything else is done for it. */
  #takeWindow({ processId, output }: StartOptions): ManagedProcessOptions["window"] {
    if (output !== "acknowledged") return null;
    const { retainedOutputBytes: windowBytes } = this.#surroundings;
    const { maxBytes, takenBytes } = this.#reserve;
    if (!this.#reserve.tryTake(windowBytes)) {
      throw invalidRequest(
        `Cannot start process ${processId} with acknowledged output: it needs ${windowBytes} bytes, and ${takenBytes} of ` +
          `the ${maxBytes} this server has for that are taken; acknowledge output, or start it with \`latest\` output`,
      );
    }
    const detachedBytes = this.#options.detachedOutputBytes ?? DEFAULT_DETACHED_OUTPUT_BYTES;
    return { reserve: this.#reserve, windowBytes, detachedBytes };
  }

  /** Nobody awaits the answers to starts any more. */
  #beginUnanswered(): void {
    for (const process of this.#processes.values()) process.beginUnanswered();
  }

  #forget(process: ManagedProcess, eviction: string | null = null): void {
    this.#processes.delete(process.processId);
    this.#unsettled.delete(process);
    process.forgotten();
    this.#registry?.remove(process, eviction);
  }

  #forgetAllBut(kept: ReadonlySet<ManagedProcess>): void {
    for (const process of this.#processes.values()) {
      if (kept.has(process)) continue;
      this.#closed.remove(process);
      this.#forget(process);
    }
  }

  async #endTrees(graceMs: number, sparesKept: boolean): Promise<Set<number>> {
    try {
      const { survivors, isOutrun = false } = await this.children.end({ graceMs, sparesKept });
      if (survivors.length > 0) {
        this.#options.log.warn("processes survived the end of their session", { pids: survivors.join(" ") });
      } else if (isOutrun) {
        this.#options.log.warn("processes that never stop forking may have survived the end of their session");
      }
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
