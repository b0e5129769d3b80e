/**
 * The processes of one session, the shell states they start from, and the way of their events to the session's
 * connection. Made with the first request that is about a process: most of what a session costs is here, and a client
 * that only works on files never needs it. Loaded late for the same reason (`late_processes.ts`).
 */

import { SessionShells } from "../environment/shell_snapshot/session_shells.ts";
import { ProcessManager } from "../process/session/manager.ts";
import type { Outlet } from "./call_context.ts";
import { ProcessOutlet } from "./process_outlet.ts";
import type { SessionEndReason } from "./sessions.ts";
import type { ProcessSettings, SessionSurroundings } from "./session_state.ts";

export class SessionProcesses {
  readonly manager: ProcessManager;
  readonly shells: SessionShells;
  #outlet: ProcessOutlet | null = null;

  constructor(settings: ProcessSettings, surroundings: SessionSurroundings) {
    const { clock, log, directory, closedLedger, outputReserve, shellStates } = surroundings;
    this.manager = new ProcessManager({
      backend: settings.backend,
      log,
      clock,
      retainedOutputBytes: settings.retainedOutputBytes,
      closedRetentionMs: settings.closedRetentionMs,
      closedLedger,
      outputReserve,
      detachedOutputBytes: settings.detachedOutputBytes,
      registry: directory,
      sharesKept: directory.isShared,
      maxProcesses: settings.maxProcesses ?? Infinity,
      allowDirect: settings.allowDirect,
      allowPrepared: settings.allowPrepared,
    });
    this.shells = new SessionShells({ children: this.manager.children, clock, log, ledger: shellStates });
  }

  setOutlet(outlet: Outlet | null): void {
    this.#outlet = outlet === null ? null : new ProcessOutlet(outlet);
    if (outlet === null || this.#outlet === null) this.manager.detach();
    else this.manager.attach(this.#outlet, outlet.audience);
  }

  outputHasRoom(): void {
    this.#outlet?.tellResized();
    this.manager.resumeOutput();
  }

  /** For a session that has ended already: nothing is found here, and nothing can be started from now on. */
  beginEnded(): void {
    void this.manager.endAll("sessionEnded", 0);
    void this.shells.close();
  }

  async end(reason: SessionEndReason, graceMs: number): Promise<void> {
    await this.shells.close();
    await this.manager.endAll(reason, graceMs);
  }
}
