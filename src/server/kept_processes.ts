/**
 * Processes that outlived their session on purpose (`keepOnSessionEnd`): a dev server put into the background.
 *
 * They belong to no session any more. Every client of the server can list, read, signal and end them by their old id,
 * unless a process of its own has that id. They end with the server.
 */

import type { ProcessManager } from "../process/manager.ts";
import type { ProcessInfo } from "../process/process_views.ts";

export class KeptProcesses {
  /** Managers of ended sessions that still have processes, oldest first. */
  readonly #managers = new Set<ProcessManager>();

  /** Takes over what an ended session left running. */
  add(manager: ProcessManager): void {
    this.#managers.add(manager);
  }

  /** Where this process is managed; with several of one id the one kept last. */
  find(processId: string): ProcessManager | null {
    this.#forgetEmpty();
    return [...this.#managers].findLast((manager) => manager.has(processId)) ?? null;
  }

  list(): ProcessInfo[] {
    this.#forgetEmpty();
    return [...this.#managers].flatMap((manager) => manager.list());
  }

  async endAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#managers].map((manager) => manager.endAll("serverShutdown", graceMs)));
  }

  #forgetEmpty(): void {
    for (const manager of this.#managers) if (manager.size === 0) this.#managers.delete(manager);
  }
}
