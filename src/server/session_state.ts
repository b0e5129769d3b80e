/** What one session owns: its processes, the shell states they start from, and the way of their events to the connection that holds it. */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { ProcessManager } from "../process/manager.ts";
import type { Outlet, SessionResources } from "./connection.ts";
import type { KeptProcesses } from "./kept_processes.ts";
import { ProcessOutlet } from "./process_outlet.ts";
import type { Sandboxing } from "./sandboxing.ts";
import { SessionShells } from "./session_shells.ts";
import type { SessionEndReason } from "./sessions.ts";

/** How processes may be run, the same for all sessions of a server. */
export interface ProcessSettings {
  readonly backend: ProcessBackend;
  /** What children inherit from, by their request's policy. */
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly shutdownGracePeriodMs: number;
  /** Null: unlimited. */
  readonly maxProcesses: number | null;
  readonly retainedOutputBytes: number;
  readonly allowDirect: boolean;
  readonly allowPrepared: boolean;
  /** For starts that do not say: whether the process outlives its session. */
  readonly keepOnSessionEnd: boolean;
  /** How requests with a sandbox object are honoured; loaded with the first of them. */
  readonly sandboxing: () => Promise<Sandboxing>;
}

export class SessionState implements SessionResources {
  readonly processes: ProcessManager;
  readonly shells: SessionShells;
  readonly settings: ProcessSettings;
  readonly kept: KeptProcesses;

  constructor(settings: ProcessSettings, surroundings: { clock: Clock; log: Logger; kept: KeptProcesses }) {
    const { clock, log, kept } = surroundings;
    this.settings = settings;
    this.kept = kept;
    this.processes = new ProcessManager({
      backend: settings.backend,
      log,
      clock,
      retainedOutputBytes: settings.retainedOutputBytes,
      maxProcesses: settings.maxProcesses ?? Infinity,
      allowDirect: settings.allowDirect,
      allowPrepared: settings.allowPrepared,
    });
    this.shells = new SessionShells({ children: this.processes.children, clock, log });
  }

  setOutlet(outlet: Outlet | null): void {
    if (outlet === null) this.processes.detach();
    else this.processes.attach(new ProcessOutlet(outlet));
  }

  outputHasRoom(): void {
    this.processes.resumeOutput();
  }

  /** Where this process is managed: in this session, or among those that outlived theirs. */
  managerOf(processId: string): ProcessManager {
    if (this.processes.has(processId)) return this.processes;
    return this.kept.find(processId) ?? this.processes;
  }

  async end(reason: SessionEndReason, graceMs: number): Promise<void> {
    await this.shells.close();
    const { kept } = await this.processes.endAll(reason, graceMs);
    if (kept.length > 0) this.kept.add(this.processes);
  }
}
