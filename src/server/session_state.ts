/** What one session owns: its processes, and the way of their events to the connection that holds it. */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { ProcessManager } from "../process/manager.ts";
import type { Outlet, SessionResources } from "./connection.ts";
import { ProcessOutlet } from "./process_outlet.ts";
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
}

export class SessionState implements SessionResources {
  readonly processes: ProcessManager;
  readonly settings: ProcessSettings;

  constructor(settings: ProcessSettings, clock: Clock, log: Logger) {
    this.settings = settings;
    this.processes = new ProcessManager({
      backend: settings.backend,
      log,
      clock,
      retainedOutputBytes: settings.retainedOutputBytes,
      maxProcesses: settings.maxProcesses ?? Infinity,
      allowDirect: settings.allowDirect,
      allowPrepared: settings.allowPrepared,
    });
  }

  setOutlet(outlet: Outlet | null): void {
    if (outlet === null) this.processes.detach();
    else this.processes.attach(new ProcessOutlet(outlet));
  }

  outputHasRoom(): void {
    this.processes.resumeOutput();
  }

  async end(reason: SessionEndReason, graceMs: number): Promise<void> {
    await this.processes.endAll(reason, graceMs);
  }
}
