/**
 * Every child a session has started, for as long as something that descends from it may be running.
 *
 * A command that has closed long ago may have left a daemon behind. When the session ends the backend can still find
 * it, but only with the handle of the child that started it. So handles outlive their processes here, up to a number, and
 * without the output of the process: an observer that is not needed any more is let go.
 */

import type {
  EndReport,
  ExitStatus,
  OutputStream,
  ProcessBackend,
  ProcessObserver,
  SpawnedProcess,
  SpawnRequest,
} from "./backend.ts";
import { MAX_REMEMBERED_CHILDREN } from "./limits.ts";

export interface ChildObserver extends ProcessObserver {
  started(child: SpawnedProcess): void;
}

interface Remembered {
  readonly child: SpawnedProcess;
  readonly relay: ObserverRelay;
  readonly keepOnSessionEnd: boolean;
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

  /** Starts a child and hands it to its observer, which hears of everything else only after that. */
  async spawn(
    request: SpawnRequest,
    observer: ChildObserver,
    options: { readonly keepOnSessionEnd: boolean },
  ): Promise<SpawnedProcess> {
    const relay = new ObserverRelay(observer);
    const child = await this.#backend.spawn(request, relay);
    this.#children.set(child, { child, relay, keepOnSessionEnd: options.keepOnSessionEnd });
    observer.started(child);
    relay.open();
    return child;
  }

  /** The child has closed and is disposed of: from now on it only stands for what it may have left behind. */
  closed(child: SpawnedProcess): void {
    this.#children.get(child)?.relay.letGo();
    if (this.#children.size <= this.#maxRemembered) return;
    for (const [oldest, { relay }] of this.#children) {
      if (relay.isObserved) continue;
      this.#children.delete(oldest);
      return;
    }
  }

  /** Ends one child at once, with all its descendants. */
  async endOne(child: SpawnedProcess): Promise<void> {
    await this.#backend.endTrees([child], { graceMs: 0 });
  }

  /** Ends children with all their descendants; those to be kept only if nothing is to be spared. */
  async end(options: { readonly graceMs: number; readonly sparesKept: boolean }): Promise<EndReport> {
    const ending = [...this.#children.values()].filter((child) => !(options.sparesKept && child.keepOnSessionEnd));
    // Without children the backend may not even be loaded.
    if (ending.length === 0) return { endedCount: 0, survivors: [] };
    const report = await this.#backend.endTrees(ending.map(({ child }) => child), { graceMs: options.graceMs });
    for (const { child, relay } of ending) if (!relay.isObserved) this.#children.delete(child);
    return report;
  }
}

/**
 * Stands between a child's handle, which is kept, and its observer, which is not. Holds reports back until the observer
 * has been given the child: a backend promises that only to its direct caller, and there may be others in between.
 */
class ObserverRelay implements ProcessObserver {
  #observer: ProcessObserver | null;
  /** Null once open. */
  #early: ((observer: ProcessObserver) => void)[] | null = [];

  constructor(observer: ProcessObserver) {
    this.#observer = observer;
  }

  get isObserved(): boolean {
    return this.#observer !== null;
  }

  open(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const report of early) this.#report(report);
  }

  letGo(): void {
    this.#observer = null;
  }

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#early === null) this.#observer?.output(stream, bytes);
    else this.#report((observer) => observer.output(stream, bytes));
  }

  exited(status: ExitStatus): void {
    this.#report((observer) => observer.exited(status));
  }

  outputEnded(): void {
    this.#report((observer) => observer.outputEnded());
  }

  #report(report: (observer: ProcessObserver) => void): void {
    if (this.#early !== null) this.#early.push(report);
    else if (this.#observer !== null) report(this.#observer);
  }
}
