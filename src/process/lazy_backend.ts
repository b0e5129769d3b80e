/** The backend of this platform, loaded with the first process, so that start-up does not pay for it. */

import type { Logger } from "../log.ts";
import { joinChildCgroup, leaveChildCgroup } from "../os/children/child_cgroup.ts";
import { whyNoLibc } from "../os/libc_access.ts";
import type { EndReport, ProcessBackend, ProcessUsage, SpawnedProcess, SpawnRequest } from "./backend.ts";

const NOTHING_TO_END: EndReport = { endedCount: 0, survivors: [] };

export class LazyBackend implements ProcessBackend {
  readonly #log: Logger;
  #backend: Promise<ProcessBackend> | null = null;
  #isInGroup = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  get name(): ProcessBackend["name"] {
    return whyNoLibc() === null ? "posix" : "command";
  }

  /**
   * Begins to move this program into the control group of its children, long before the first of them. It takes the
   * kernel 5 to 20 ms, on another thread, and needs nothing of the backend.
   */
  joinGroup(): void {
    if (this.#isInGroup || whyNoLibc() !== null) return;
    this.#isInGroup = true;
    // The backend waits for it too, and reports what went wrong to callers that ask for a process.
    joinChildCgroup().catch(() => {});
  }

  /** Loads the backend before anything asks for it. */
  load(): Promise<ProcessBackend> {
    return this.#backend ??= loadBackend(this.#log);
  }

  async prepare(): Promise<void> {
    await (await this.load()).prepare?.();
  }

  async prepareRest(): Promise<void> {
    await (await this.load()).prepareRest?.();
  }

  async spawn(request: SpawnRequest): Promise<SpawnedProcess> {
    return await (await this.load()).spawn(request);
  }

  async usage(processes: readonly SpawnedProcess[]): Promise<(ProcessUsage | null)[]> {
    return await (await this.#backend)?.usage(processes) ?? processes.map(() => null);
  }

  async endTrees(processes: readonly SpawnedProcess[], options: { graceMs: number }): Promise<EndReport> {
    return await (await this.#backend)?.endTrees(processes, options) ?? NOTHING_TO_END;
  }

  async close(options: { graceMs: number }): Promise<EndReport> {
    const report = await (await this.#backend)?.close(options) ?? NOTHING_TO_END;
    // Survivors keep the group, like the backend: the guard ends them by it.
    if (this.#isInGroup && report.survivors.length === 0) {
      this.#isInGroup = false;
      await leaveChildCgroup();
    }
    return report;
  }
}

async function loadBackend(log: Logger): Promise<ProcessBackend> {
  const reason = whyNoLibc();
  if (reason === null) {
    const { PosixBackend } = await import("./posix/posix_backend.ts");
    return new PosixBackend({ logger: log });
  }
  const { CommandBackend } = await import("./command_backend.ts");
  log.warn("processes have pipes only, and their descendants cannot be found", { reason });
  return new CommandBackend();
}
