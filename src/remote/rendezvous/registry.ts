/**
 * All executors, and the clients that wait for one. Only in memory: after a restart executors register again.
 *
 * Promises: one executor per id. While it is alive, another process that wants its id is refused for good, since
 * otherwise the two would displace each other forever. If it gives no sign of life, its id is free.
 */

import type { Clock } from "../../clock.ts";
import { type Executor, type ExecutorListing, listingOf, type Registration } from "./executor.ts";
import { MAX_EXECUTORS, MAX_HELD_PER_EXECUTOR, PROBE_MS, TICKET_TTL_MS } from "./limits.ts";
import { PlainExecutor } from "./plain_executor.ts";
import { RelayExecutor } from "./relay_executor.ts";

export type AnyExecutor = PlainExecutor | RelayExecutor;

export type Registered = "registered" | "taken" | "full";

/** An executor, and what only the registry needs. */
interface Entry {
  readonly executor: AnyExecutor;
  /** Cancels the timer that forgets an executor without a websocket. */
  cancelForgetting: () => void;
}

export class Registry {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** Called when something has changed about the executor of this id. */
  readonly #waiters = new Map<string, Set<() => void>>();
  /** Registrations of one id are handled one after another. */
  readonly #judging = new Map<string, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(id: string): AnyExecutor | null {
    return this.#entries.get(id)?.executor ?? null;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** All executors whose id passes the test. */
  list(isShown: (id: string) => boolean): ExecutorListing[] {
    const nowMs = Date.now();
    return [...this.#entries].filter(([id]) => isShown(id)).map(([, { executor }]) => listingOf(executor, nowMs))
      .sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** Adds a registration. May take some time, while the executor that has the id is asked for a sign of life. */
  async register(registration: Registration): Promise<Registered> {
    const { executorId: id } = registration;
    const judged = (this.#judging.get(id) ?? Promise.resolve()).then(() => this.#judge(registration));
    this.#judging.set(id, judged);
    try {
      return await judged;
    } finally {
      if (this.#judging.get(id) === judged) this.#judging.delete(id);
    }
  }

  async #judge(registration: Registration): Promise<Registered> {
    const { executorId: id } = registration;
    const present = this.#entries.get(id);
    if (present === undefined) {
      if (this.#entries.size >= MAX_EXECUTORS) return "full";
      this.#add(registration);
      return "registered";
    }
    const { executor } = present;
    if (isSame(executor.registration, registration)) {
      executor.registration = registration;
      this.#forgetLater(id, present);
      return "registered";
    }
    if (executor.isConnected && await executor.isAlive(PROBE_MS)) return "taken";
    executor.close("another executor has taken the place of this one, which gave no sign of life");
    this.#add(registration);
    return "registered";
  }

  #add(registration: Registration): void {
    const { executorId: id } = registration;
    this.#entries.get(id)?.cancelForgetting();
    const onChange = () => this.#changed(id, entry);
    const executor = registration.kind === "plain"
      ? new PlainExecutor(registration, onChange)
      : new RelayExecutor(registration, { clock: this.#clock, onChange });
    const entry: Entry = { executor, cancelForgetting: () => {} };
    this.#entries.set(id, entry);
    this.#forgetLater(id, entry);
  }

  /** An executor that does not come, or come back, while its URL is valid is forgotten. */
  #forgetLater(id: string, entry: Entry): void {
    entry.cancelForgetting();
    if (this.#entries.get(id) !== entry) return;
    entry.cancelForgetting = this.#clock.setTimer(TICKET_TTL_MS, () => {
      if (!entry.executor.isConnected && this.#entries.get(id) === entry) this.#entries.delete(id);
    });
  }

  #changed(id: string, entry: Entry): void {
    if (entry.executor.isConnected) entry.cancelForgetting();
    else this.#forgetLater(id, entry);
    // A copy, because waiting clients may wait again.
    for (const wake of [...this.#waiters.get(id) ?? []]) wake();
  }

  /**
   * Repeats `attempt` whenever something changes about the id, until it finds something. Null: it found nothing in
   * time, the caller has gone, or too many wait.
   */
  async waitFor<Found>(
    id: string,
    attempt: () => Found | null,
    { withinMs, gone }: { withinMs: number; gone: Promise<void> },
  ): Promise<Found | null> {
    const found = attempt();
    if (found !== null) return found;
    const waiters = this.#waiters.get(id) ?? new Set();
    if (waiters.size >= MAX_HELD_PER_EXECUTOR) return null;
    this.#waiters.set(id, waiters);
    return await new Promise<Found | null>((resolve) => {
      const finish = (result: Found | null) => {
        cancel();
        waiters.delete(wake);
        if (waiters.size === 0 && this.#waiters.get(id) === waiters) this.#waiters.delete(id);
        resolve(result);
      };
      const wake = () => {
        const result = attempt();
        if (result !== null) finish(result);
      };
      const cancel = this.#clock.setTimer(withinMs, () => finish(null));
      waiters.add(wake);
      gone.then(() => finish(null));
    });
  }

  /** Drops every executor. */
  close(reason: string): void {
    for (const { executor, cancelForgetting } of this.#entries.values()) {
      cancelForgetting();
      executor.close(reason);
    }
    this.#entries.clear();
  }
}

/** Whether a registration comes from the process, or the key, that has the id already. */
function isSame(present: Executor["registration"], other: Registration): boolean {
  return present.kind === other.kind && present.identity !== null && present.identity === other.identity;
}
