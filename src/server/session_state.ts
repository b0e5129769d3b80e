/**
 * What one session owns: its processes, made with the first request that is about one. Also what its requests may
 * reach: its own processes by their ids, and others by their uids alone.
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ProcessBackend } from "../process/backend.ts";
import type { OutputReserve } from "../process/session/output_reserve.ts";
import type { ClosedLedger } from "../process/session/closed_ledger.ts";
import type { ManagedProcess } from "../process/session/managed_process.ts";
import type { ProcessManager } from "../process/session/manager.ts";
import type { ClaimScope } from "../protocol/method_row.ts";
import type { ProcessRef } from "../protocol/process_ref.ts";
import type { Outlet, SessionResources } from "./call_context.ts";
import { openProcesses } from "./late_processes.ts";
import type { ProcessDirectory } from "./process_directory.ts";
import type { Sandboxing } from "./sandboxing.ts";
import type { ShellStateLedger } from "../environment/shell_snapshot/state_ledger.ts";
import type { SessionShells } from "../environment/shell_snapshot/session_shells.ts";
import type { SessionEndReason } from "./sessions.ts";
import type { SessionProcesses } from "./session_processes.ts";

/** How processes may be run, the same for all sessions of a server. */
export interface ProcessSettings {
  readonly backend: ProcessBackend;
  /** What children inherit from, by their request's policy. */
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly shutdownGracePeriodMs: number;
  /** Null: unlimited. */
  readonly maxProcesses: number | null;
  readonly retainedOutputBytes: number;
  /** How long a closed process can be read while a client is there. */
  readonly closedRetentionMs: number;
  /** Closed processes of all sessions that are retained. */
  readonly maxClosedProcesses: number;
  /** What they may hold in memory. */
  readonly maxClosedProcessBytes: number;
  /** What output that no client has acknowledged may take in memory. */
  readonly acknowledgedOutputBytes: number;
  /** What one process may hold of that while its client is away. */
  readonly detachedOutputBytes: number;
  readonly allowDirect: boolean;
  readonly allowPrepared: boolean;
  /** For starts that do not say: whether the process outlives its session. */
  readonly keepOnSessionEnd: boolean;
  /** Whether sessions reach each other's kept processes. */
  readonly sharedProcesses: boolean;
  /** How requests with a sandbox object are honoured; loaded with the first of them. */
  readonly sandboxing: () => Promise<Sandboxing>;
}

export interface SessionSurroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly directory: ProcessDirectory;
  readonly closedLedger: ClosedLedger;
  readonly outputReserve: OutputReserve;
  readonly shellStates: ShellStateLedger;
}

export class SessionState implements SessionResources, ClaimScope {
  readonly settings: ProcessSettings;
  readonly #surroundings: SessionSurroundings;
  /** Null until a request is about a process. */
  #opened: SessionProcesses | null = null;
  #outlet: Outlet | null = null;
  #hasEnded = false;

  constructor(settings: ProcessSettings, surroundings: SessionSurroundings) {
    this.settings = settings;
    this.#surroundings = surroundings;
  }

  get directory(): ProcessDirectory {
    return this.#surroundings.directory;
  }

  get processes(): ProcessManager {
    return this.#open().manager;
  }

  get shells(): SessionShells {
    return this.#open().shells;
  }

  /** Running ones, or closed ones that can still be read. */
  get hasProcesses(): boolean {
    return this.#opened !== null && this.#opened.manager.size > 0;
  }

  #open(): SessionProcesses {
    if (this.#opened === null) {
      this.#opened = openProcesses(this.settings, this.#surroundings);
      if (this.#outlet !== null) this.#opened.setOutlet(this.#outlet);
      // For a request that came before the end and runs after it.
      if (this.#hasEnded) this.#opened.beginEnded();
    }
    return this.#opened;
  }

  setOutlet(outlet: Outlet | null): void {
    // What outlived the session is the directory's, and goes on without this connection.
    if (this.#hasEnded) return;
    this.#outlet = outlet;
    this.#opened?.setOutlet(outlet);
    this.directory.noteClient(this, outlet?.audience ?? null);
  }

  outputHasRoom(): void {
    this.#opened?.outputHasRoom();
  }

  // ---- what requests may reach

  findProcess(ref: ProcessRef): ManagedProcess | null {
    return ref.uid === undefined ? this.processes.find(ref.processId) : this.directory.find(ref.uid, this.processes);
  }

  /** Throws when there is none, or none that this session may reach. */
  getProcess(ref: ProcessRef): ManagedProcess {
    return ref.uid === undefined ? this.processes.get(ref.processId) : this.directory.get(ref.uid, this.processes);
  }

  /** Whether this session started it. Others who reach it only look on: output is held for this session alone. */
  owns(process: ManagedProcess): boolean {
    return this.processes.find(process.processId) === process;
  }

  processKey(ref: ProcessRef): string {
    if (ref.uid === undefined) return `id ${ref.processId}`;
    const process = this.directory.find(ref.uid, this.processes);
    return process !== null && this.owns(process) ? `id ${process.processId}` : `uid ${ref.uid}`;
  }

  async end(reason: SessionEndReason, graceMs: number): Promise<void> {
    // Without processes the session ends in this turn, so no start can come in between.
    if (this.#opened !== null) await this.#opened.end(reason, graceMs);
    this.#hasEnded = true;
    this.#outlet = null;
    this.directory.noteClient(this, null);
    if (this.#opened !== null) this.directory.adopt(this.#opened.manager);
  }
}
