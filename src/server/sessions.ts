/**
 * Sessions: what survives a lost connection. A session is attached to one connection or detached with a deadline; when
 * the deadline passes it is destroyed together with everything it owns, and its id is never valid again. Detached sessions
 * are bounded in number: for one too many another one expires early. An attached session never does.
 *
 * Knows no processes: what a session owns is made and ended by the functions it is given.
 */

import type { Clock } from "../clock.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { LogFields, Logger } from "../log.ts";
import { MAX_DETACHED_SESSIONS } from "../protocol/limits.ts";

/** The connection that holds a session. */
export interface SessionHolder {
  /** The connection is ending and only sends its last answers. Another connection may take the session. */
  readonly isLeaving: boolean;
  /** Another connection wants the session: make sure the peer of this one still lives. */
  probe(): void;
  /**
   * Another connection has the session from now on. When this returns, nothing from this connection may reach the session
   * any more. The peer is told and dropped.
   */
  displace(): void;
}

/** `sessionEnded`: its client asked for it. */
export type SessionEndReason = "sessionEnded" | "sessionExpired" | "serverShutdown";

export interface Session<Resources> {
  readonly id: string;
  readonly resources: Resources;
  /** How long it waits for its client when that is gone. */
  readonly detachTtlMs: number;
}

export interface SessionRegistryOptions<Resources> {
  clock: Clock;
  log: Logger;
  /** How long a detached session waits for its client. 0: destroyed at once. */
  detachedTtlMs: number;
  /** The longest time that a client may ask for instead. Default: `detachedTtlMs`. */
  maxDetachTtlMs?: number;
  /** How many may wait at a time. */
  maxDetached?: number;
  createResources(sessionId: string): Resources;
  /** Whether processes would be lost with these: running ones, or closed ones that can still be read. Default: none. */
  hasProcesses?(resources: Resources): boolean;
  /** Ends all a session owns. Resolves when nothing of it is left. */
  endResources(resources: Resources, reason: SessionEndReason): Promise<void>;
}

interface Entry<Resources> extends Session<Resources> {
  detachTtlMs: number;
  holder: SessionHolder | null;
  cancelExpiry: () => void;
}

export class SessionRegistry<Resources> {
  readonly #options: SessionRegistryOptions<Resources>;
  readonly #sessions = new Map<string, Entry<Resources>>();
  /** Those that wait, the one that has waited longest first. */
  readonly #detached = new Set<Entry<Resources>>();
  /** Those being destroyed, by their ids. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: SessionRegistryOptions<Resources>) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A new session, held by this connection. `detachTtlMs` is how long the client wants it to wait; it is capped. */
  open(holder: SessionHolder, { detachTtlMs }: { detachTtlMs?: number } = {}): Session<Resources> {
    const id = crypto.randomUUID();
    const entry: Entry<Resources> = {
      id,
      detachTtlMs: this.#allowedTtl(detachTtlMs ?? this.#options.detachedTtlMs),
      resources: this.#options.createResources(id),
      holder,
      cancelExpiry: () => {},
    };
    this.#sessions.set(id, entry);
    return entry;
  }

  /**
   * Resumes a session. If it is attached, its holder is only probed and the call fails, unless `takeover` is set: anyone
   * who knows the id is the client, and has given up on the old connection.
   */
  resume(
    id: string,
    holder: SessionHolder,
    { takeover = false, detachTtlMs }: { takeover?: boolean; detachTtlMs?: number } = {},
  ): Session<Resources> {
    const entry = this.#sessions.get(id);
    if (entry === undefined) throw invalidRequest(`unknown session id ${id}`);
    const previous = entry.holder;
    if (previous !== null && !previous.isLeaving && !takeover) {
      previous.probe();
      throw new DomainError("sessionAttached", `session ${id} is already attached to another connection`);
    }
    entry.cancelExpiry();
    this.#detached.delete(entry);
    if (detachTtlMs !== undefined) entry.detachTtlMs = this.#allowedTtl(detachTtlMs);
    entry.holder = holder;
    previous?.displace();
    return entry;
  }

  /** The connection is gone: the session waits for the next one. */
  detach(session: Session<Resources>, holder: SessionHolder): void {
    const entry = this.#sessions.get(session.id);
    if (entry === undefined || entry.holder !== holder) return;
    entry.holder = null;
    if (entry.detachTtlMs === 0) {
      this.#destroy(entry, "sessionExpired");
      return;
    }
    entry.cancelExpiry = this.#options.clock.setTimer(entry.detachTtlMs, () => this.#destroy(entry, "sessionExpired"));
    this.#detached.add(entry);
    this.#makeRoom();
  }

  /**
   * Ends a session because its client wants it. Resolves when nothing of it is left, also for a second caller. Its id is
   * not valid any more.
   */
  async end({ id }: Session<Resources>): Promise<void> {
    const entry = this.#sessions.get(id);
    await (entry === undefined ? this.#ending.get(id) : this.#destroy(entry, "sessionEnded"));
  }

  /** Destroys all sessions; resolves when nothing of them is left, including those that were being destroyed already. */
  async endAll(reason: SessionEndReason): Promise<void> {
    for (const entry of [...this.#sessions.values()]) this.#destroy(entry, reason);
    while (this.#ending.size > 0) await Promise.all(this.#ending.values());
  }

  /** One without processes goes first: its client loses nothing but the id. */
  #makeRoom(): void {
    const { maxDetached = MAX_DETACHED_SESSIONS } = this.#options;
    if (this.#detached.size <= maxDetached) return;
    const waiting = [...this.#detached];
    const early = waiting.find(({ resources }) => this.#options.hasProcesses?.(resources) !== true) ?? waiting[0]!;
    this.#destroy(early, "sessionExpired", { bound: `${maxDetached} detached sessions` });
  }

  #allowedTtl(askedMs: number): number {
    const { detachedTtlMs, maxDetachTtlMs = 0 } = this.#options;
    return Math.min(askedMs, Math.max(detachedTtlMs, maxDetachTtlMs));
  }

  #destroy(entry: Entry<Resources>, reason: SessionEndReason, details: LogFields = {}): Promise<void> {
    entry.cancelExpiry();
    this.#detached.delete(entry);
    entry.holder = null;
    this.#sessions.delete(entry.id);
    const { log, endResources } = this.#options;
    log.info("session ended", { session: entry.id.slice(0, 8), reason, ...details });
    const ending = endResources(entry.resources, reason)
      .catch((error) =>
        log.error("session could not be ended cleanly", { session: entry.id.slice(0, 8), error: String(error) })
      )
      .finally(() => this.#ending.delete(entry.id));
    this.#ending.set(entry.id, ending);
    return ending;
  }
}
