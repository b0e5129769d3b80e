/**
 * Every child that a session has started, as long as a descendant of it may be running.
 *
 * A command that closed long ago may have left a daemon behind. When the session ends the backend can still find it,
 * but only with the handle of the child that started it. So handles outlive their processes here, up to a limit.
 */

import type { EndReport, ProcessBackend, SpawnedProcess, SpawnRequest } from "../backend.ts";
import { MAX_REMEMBERED_CHILDREN } from "../limits.ts";

interface Remembered {
  readonly child: SpawnedProcess;
  readonly keepOnSessionEnd: boolean;
  /** It has closed, and only stands for what it may have left behind. */
  isClosed: boolean;
}

export class SessionChildren {
  readonly #backend: ProcessBackend;
  readonly #maxRemembered: number;
  /** In the order of their start. */
  readonly #children = new Map<SpawnedProcess, Remembered>();

  constructor(backend: ProcessBackend, maxRemembered: number = MAX_REMEMBERED_CHILDREN) {
    this.#backend = backend;
    this.#maxRemembered = maxRemembered;
  }

  /** Starts a child, of which nothing is heard before `begin`. */
  async spawn(request: SpawnRequest, options: { readonly keepOnSessionEnd: boolean }): Promise<SpawnedProcess> {
    const child = await this.#backend.spawn(request);
    this.#children.set(child, { child, keepOnSessionEnd: options.keepOnSessionEnd, isClosed: false });
    return child;
  }

  /** The child has closed and is disposed of: from now on it only stands for what it may have left behind. */
  closed(child: SpawnedProcess): void {
    const remembered = this.#children.get(child);
    if (remembered !== undefined) remembered.isClosed = true;
    if (this.#children.size <= this.#maxRemembered) return;
    for (const [oldest, { isClosed }] of this.#children) {
      if (!isClosed) continue;
      this.#children.delete(oldest);
      return;
    }
  }

  /** Ends one child with all its descendants: at once, unless a grace time is given. */
  async endOne(child: SpawnedProcess, options: { readonly graceMs: number } = { graceMs: 0 }): Promise<EndReport> {
    return await this.#backend.endTrees([child], options);
  }

  /** Ends children with all their descendants; those to be kept only if everything is to end. */
  async end(options: { readonly graceMs: number; readonly sparesKept: boolean }): Promise<EndReport> {
    const ending = [...this.#children.values()].filter((child) => !(options.sparesKept && child.keepOnSessionEnd));
    // Without children the backend may not even be loaded.
    if (ending.length === 0) return { endedCount: 0, survivors: [] };
    const report = await this.#backend.endTrees(ending.map(({ child }) => child), { graceMs: options.graceMs });
    for (const { child, isClosed } of ending) if (isClosed) this.#children.delete(child);
    return report;
  }
}
