/**
 * The processes of all sessions of a server by their uids, and who may reach them.
 *
 * A session reaches its own processes. A process that asked to be kept (`keepOnSessionEnd`) is reached by every session,
 * from its start on and after its own session has ended, unless sharing is off. Nothing else is ever reached across
 * sessions. The manager of its session names a process and decides what happens to it. When the server ends, the
 * directory ends the processes that outlived their sessions.
 */

import { invalidRequest } from "../errors.ts";
import { MAX_REMEMBERED_EVICTIONS } from "../process/limits.ts";
import type { Audience } from "../process/session/audience.ts";
import type { ManagedProcess } from "../process/session/managed_process.ts";
import type { ProcessManager, ProcessRegistry } from "../process/session/manager.ts";
import { randomUid } from "../process/session/process_uid.ts";
import { RememberedReasons } from "../process/session/remembered_reasons.ts";

export interface DirectoryEntry {
  readonly process: ManagedProcess;
  /** The manager of the session that started it, even if that has ended. */
  readonly manager: ProcessManager;
}

export interface ProcessDirectoryOptions {
  /** Whether sessions reach each other's kept processes. */
  readonly isShared: boolean;
}

export class ProcessDirectory implements ProcessRegistry {
  readonly isShared: boolean;
  /** In the order of their start. */
  readonly #entries = new Map<string, DirectoryEntry>();
  readonly #evictions = new RememberedReasons(MAX_REMEMBERED_EVICTIONS);
  /** Managers of ended sessions that still have processes. */
  readonly #orphaned = new Set<ProcessManager>();
  /** The clients of all sessions: while there is one, what has closed in ended sessions could be read. */
  readonly #clients = new Clients();

  constructor(options: ProcessDirectoryOptions) {
    this.isShared = options.isShared;
  }

  // ---- for managers

  newUid(): string {
    for (;;) {
      const uid = randomUid();
      if (!this.#entries.has(uid) && this.#evictions.get(uid) === null) return uid;
    }
  }

  /** Names hold where processes are shared: in the whole server, or else in each session. */
  isNameTaken(name: string, manager: ProcessManager): boolean {
    for (const entry of this.#entries.values()) {
      if (entry.process.name !== name || entry.process.isClosed) continue;
      if (this.isShared || entry.manager === manager) return true;
    }
    return false;
  }

  add(process: ManagedProcess, manager: ProcessManager): void {
    this.#entries.set(process.uid, { process, manager });
  }

  remove(process: ManagedProcess, eviction: string | null): void {
    const manager = this.#entries.get(process.uid)?.manager;
    this.#entries.delete(process.uid);
    if (eviction !== null) this.#evictions.add(process.uid, eviction);
    if (manager?.size === 0) this.#orphaned.delete(manager);
  }

  // ---- for sessions

  /** The process of this name, if this session may reach it. */
  find(uid: string, from: ProcessManager): ManagedProcess | null {
    const entry = this.#entries.get(uid);
    return entry !== undefined && this.#mayReach(entry, from) ? entry.process : null;
  }

  /** The same, but throws when there is none. The error says why, if this session may know. */
  get(uid: string, from: ProcessManager): ManagedProcess {
    const process = this.find(uid, from);
    if (process !== null) return process;
    const reason = this.#evictions.get(uid);
    throw invalidRequest(`unknown process uid ${uid}${reason === null ? "" : `: ${reason}`}`);
  }

  /** The process with this name: the one that is running, or else the one that was started last. */
  getNamed(name: string, from: ProcessManager): ManagedProcess {
    let last: ManagedProcess | null = null;
    for (const entry of this.#entries.values()) {
      if (entry.process.name !== name || !this.#mayReach(entry, from)) continue;
      if (!entry.process.isClosed) return entry.process;
      last = entry.process;
    }
    if (last === null) throw invalidRequest(`unknown process name ${name}`);
    return last;
  }

  /** Processes of other sessions that this session can reach, in the order of their start. */
  othersOf(from: ProcessManager): DirectoryEntry[] {
    return [...this.#entries.values()].filter((entry) => entry.manager !== from && this.#mayReach(entry, from));
  }

  /** A session has got a client, or lost it (null). */
  noteClient(session: object, client: Audience | null): void {
    // The time until now is that of those who were there until now.
    for (const orphaned of this.#orphaned) orphaned.countRetention(null);
    this.#clients.set(session, client);
    for (const orphaned of this.#orphaned) orphaned.countRetention(this.#clients.orNobody);
  }

  /** A session has ended: from now on the directory looks after the processes it left. */
  adopt(manager: ProcessManager): void {
    if (manager.size === 0) return;
    this.#orphaned.add(manager);
    manager.countRetention(this.#clients.orNobody);
  }

  // ---- for the server

  /** Whether a process of any session has not closed yet. */
  get hasRunning(): boolean {
    return this.#entries.values().some(({ process }) => !process.isClosed);
  }

  /** Ends what outlived its session. */
  async endOrphans(graceMs: number): Promise<void> {
    await Promise.all([...this.#orphaned].map((manager) => manager.endAll("serverShutdown", graceMs)));
  }

  #mayReach({ process, manager }: DirectoryEntry, from: ProcessManager): boolean {
    return manager === from || (this.isShared && process.keepOnSessionEnd);
  }
}

/** Any of them could read: it takes one that shows it is there. */
class Clients implements Audience {
  readonly #bySession = new Map<object, Audience>();

  get orNobody(): Audience | null {
    return this.#bySession.size === 0 ? null : this;
  }

  set(session: object, client: Audience | null): void {
    if (client === null) this.#bySession.delete(session);
    else this.#bySession.set(session, client);
  }

  get heardAtMs(): number {
    return this.#bySession.values().reduce((latest, { heardAtMs }) => Math.max(latest, heardAtMs), -Infinity);
  }

  ask(onHeard: () => void): () => void {
    const cancels: (() => void)[] = [];
    const cancelAll = () => cancels.forEach((cancel) => cancel());
    for (const client of [...this.#bySession.values()]) {
      cancels.push(client.ask(() => {
        cancelAll();
        onHeard();
      }));
    }
    return cancelAll;
  }
}
