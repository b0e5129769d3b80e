/**
 * Sessions: what survives a lost connection. A session is attached to one connection or detached with a deadline; when
 * the deadline passes it is destroyed together with everything it owns, and its id is never valid again.
 *
 * Knows no processes: what a session owns is made and ended by the functions it is given.
 */

import type { Clock } from "../clock.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Logger } from "../log.ts";

/** The connection that holds a session. */
export interface SessionHolder {
  /** Another connection wants the session: make sure the peer of this one still lives. */
  probe(): void;
}

export type SessionEndReason = "sessionExpired" | "serverShutdown";

export interface Session<Resources> {
  readonly id: string;
  readonly resources: Resources;
}

export interface SessionRegistryOptions<Resources> {
  clock: Clock;
  log: Logger;
  /** How long a detached session waits for its client. 0: destroyed at once. */
  detachedTtlMs: number;
  createResources(sessionId: string): Resources;
  /** Ends all a session owns. Resolves when nothing of it is left. */
  endResources(resources: Resources, reason: SessionEndReason): Promise<void>;
}

interface Entry<Resources> extends Session<Resources> {
  holder: SessionHolder | null;
  cancelExpiry: () => void;
}

export class SessionRegistry<Resources> {
  readonly #options: SessionRegistryOptions<Resources>;
  readonly #sessions = new Map<string, Entry<Resources>>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: SessionRegistryOptions<Resources>) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A new session, held by this connection. */
  open(holder: SessionHolder): Session<Resources> {
    const id = crypto.randomUUID();
    const entry: Entry<Resources> = {
      id,
      resources: this.#options.createResources(id),
      holder,
      cancelExpiry: () => {},
    };
    this.#sessions.set(id, entry);
    return entry;
  }

  /** Takes up a detached session. There is no takeover of an attached one; its holder is only asked for a sign of life. */
  resume(id: string, holder: SessionHolder): Session<Resources> {
    const entry = this.#sessions.get(id);
    if (entry === undefined) throw invalidRequest(`unknown session id ${id}`);
    if (entry.holder !== null) {
      entry.holder.probe();
      throw new DomainError("sessionAttached", `session ${id} is already attached to another connection`);
    }
    entry.cancelExpiry();
    entry.holder = holder;
    return entry;
  }

  /** The connection is gone: the session waits for the next one. */
  detach(session: Session<Resources>, holder: SessionHolder): void {
    const entry = this.#sessions.get(session.id);
    if (entry === undefined || entry.holder !== holder) return;
    entry.holder = null;
    const { detachedTtlMs, clock } = this.#options;
    if (detachedTtlMs === 0) {
      this.#destroy(entry, "sessionExpired");
      return;
    }
    entry.cancelExpiry = clock.setTimer(detachedTtlMs, () => this.#destroy(entry, "sessionExpired"));
  }

  /** Destroys all sessions; resolves when nothing of them is left, including those that were being destroyed already. */
  async endAll(reason: SessionEndReason): Promise<void> {
    for (const entry of [...this.#sessions.values()]) this.#destroy(entry, reason);
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  #destroy(entry: Entry<Resources>, reason: SessionEndReason): void {
    entry.cancelExpiry();
    entry.holder = null;
    this.#sessions.delete(entry.id);
    const { log, endResources } = this.#options;
    log.info("session ended", { session: entry.id.slice(0, 8), reason });
    const ending = endResources(entry.resources, reason)
      .catch((error) =>
        log.error("session could not be ended cleanly", { session: entry.id.slice(0, 8), error: String(error) })
      )
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
