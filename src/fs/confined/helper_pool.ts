/**
 * The lives of confined file helpers: started when first needed, kept while in use, few at a time.
 *
 * A helper belongs to one connection and one policy. The policy's key changes whenever a path it names becomes another
 * file or directory, because a helper is bound to what those paths were when it started. A helper that has been idle
 * for a while ends. When there are too many, the one that was idle longest ends first. A helper that is gone is never
 * asked again.
 *
 * No connection can take all helpers from the others. Each may always have one; beyond its bound it waits for one of
 * its own. Helpers that hold files open, or watch, may do so for hours. They have a separate bound per connection and
 * count nowhere else.
 */

import type { Clock } from "../../clock.ts";
import { invalidRequest } from "../../errors.ts";
import { type FilePolicy, policyKey } from "../../launch/policy/policy.ts";
import { HelperClient, type HelperEvents, type HelperPort } from "./helper_client.ts";

/** A connection, as far as the pool is concerned. */
export type HelperOwner = object;

export interface HelperPoolOptions {
  /** Starts a helper that is confined by the policy from its first instruction. */
  start(files: FilePolicy, events: HelperEvents): Promise<HelperPort>;
  readonly clock: Clock;
  /** For all connections together. A connection's first helper is allowed even beyond this. */
  readonly maxHelpers?: number;
  /** For one connection. */
  readonly maxOfOwner?: number;
  /** For one connection, in addition: helpers that hold files open or watch. */
  readonly maxHolding?: number;
  readonly idleMs?: number;
  readonly briefIdleMs?: number;
}

/** Some 20 MB each. An agent uses two or three policies at a time. */
const MAX_HELPERS = 16;
const MAX_HELPERS_OF_OWNER = 8;
const MAX_HOLDING_HELPERS = 8;

/** Starting a new one takes some 35 ms, so it need not be kept for long. */
const IDLE_MS = 30_000;

/**
 * For a policy that protects missing paths: while its helper lives there are placeholders on the disk, which other
 * programs can see. Long enough for a burst of operations.
 */
const BRIEF_IDLE_MS = 1_000;

class Helper {
  readonly key: string;
  readonly owner: HelperOwner;
  readonly idleMs: number;
  readonly client: HelperClient;
  /** Resolves when it accepts requests. */
  started: Promise<unknown> = Promise.resolve();
  /** Callers that were given the helper and are not done with it. */
  users = 0;
  lastUsedAtMs = 0;
  cancelIdle: () => void = () => {};

  constructor(identity: { key: string; owner: HelperOwner; idleMs: number }, onChange: (helper: Helper) => void) {
    this.key = identity.key;
    this.owner = identity.owner;
    this.idleMs = identity.idleMs;
    this.client = new HelperClient(() => onChange(this));
  }

  get isIdle(): boolean {
    return this.users === 0 && this.client.isIdle;
  }
}

export class HelperPool {
  readonly #options: HelperPoolOptions;
  readonly #helpers = new Set<Helper>();
  /** The same policy often comes as the same object. */
  readonly #keys = new WeakMap<FilePolicy, string>();
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(options: HelperPoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#helpers.size;
  }

  /** Lends the helper of a policy for as long as `work` takes, and starts it if needed. */
  use<Value>(
    owner: HelperOwner,
    files: FilePolicy,
    work: (client: HelperClient) => Promise<Value>,
  ): Promise<Value> {
    return this.#use(owner, files, (helper) => work(helper.client));
  }

  /** The same for work that opens a file or a watch. The first step of the work must be to count it (`fileOpened`). */
  hold<Value>(
    owner: HelperOwner,
    files: FilePolicy,
    work: (client: HelperClient) => Promise<Value>,
  ): Promise<Value> {
    const { maxHolding = MAX_HOLDING_HELPERS } = this.#options;
    return this.#use(owner, files, (helper) => {
      if (!helper.client.holdsFiles && this.#count(owner, { holding: true }) >= maxHolding) {
        throw invalidRequest(`at most ${maxHolding} sandboxes of one connection may hold files open or watch at once`);
      }
      return work(helper.client);
    });
  }

  async #use<Value>(
    owner: HelperOwner,
    files: FilePolicy,
    work: (helper: Helper) => Promise<Value>,
  ): Promise<Value> {
    const key = this.#keyOf(files);
    const helper = this.#find(owner, key) ?? await this.#create(owner, key, files);
    helper.users++;
    helper.cancelIdle();
    try {
      await helper.started;
      return await work(helper);
    } finally {
      helper.users--;
      helper.lastUsedAtMs = this.#options.clock.now();
      this.#rest(helper);
      // A helper that holds files from now on no longer counts here, which makes room for another.
      if (helper.client.holdsFiles) this.#wake();
    }
  }

  /** Ends the helpers of a connection that is gone. Writes they have begun are finished. */
  closeOwner(owner: HelperOwner): void {
    for (const helper of [...this.#helpers]) if (helper.owner === owner) this.#retire(helper);
  }

  close(): void {
    this.#isClosed = true;
    for (const helper of [...this.#helpers]) this.#retire(helper);
    this.#wake();
  }

  #keyOf(files: FilePolicy): string {
    const known = this.#keys.get(files);
    if (known !== undefined) return known;
    const key = policyKey({ files, network: "restricted" });
    this.#keys.set(files, key);
    return key;
  }

  #find(owner: HelperOwner, key: string): Helper | undefined {
    for (const helper of this.#helpers) if (helper.owner === owner && helper.key === key) return helper;
    return undefined;
  }

  async #create(owner: HelperOwner, key: string, files: FilePolicy): Promise<Helper> {
    const { idleMs = IDLE_MS, briefIdleMs = BRIEF_IDLE_MS, clock } = this.#options;
    while (!this.#isClosed && !this.#makeRoom(owner)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      // Another caller may have started it meanwhile.
      const found = this.#find(owner, key);
      if (found !== undefined) return found;
    }
    if (this.#isClosed) throw invalidRequest("the server is shutting down");
    const identity = { key, owner, idleMs: files.missing.length > 0 ? briefIdleMs : idleMs };
    const helper = new Helper(identity, (changed) => this.#changed(changed));
    helper.lastUsedAtMs = clock.now();
    this.#helpers.add(helper);
    helper.started = this.#start(helper.client, files);
    helper.started.catch(() => this.#forget(helper));
    return helper;
  }

  async #start(client: HelperClient, files: FilePolicy): Promise<void> {
    await client.connect(await this.#options.start(files, client));
  }

  /** Whether a connection may have one more. An idle one may have to end for it. */
  #makeRoom(owner: HelperOwner): boolean {
    const { maxHelpers = MAX_HELPERS, maxOfOwner = MAX_HELPERS_OF_OWNER } = this.#options;
    const own = this.#count(owner, { holding: false });
    if (own >= maxOfOwner) return this.#evictOne(owner);
    return this.#count(null, { holding: false }) < maxHelpers || this.#evictOne(null) || own === 0;
  }

  /** For one connection, or for all. */
  #count(owner: HelperOwner | null, { holding }: { holding: boolean }): number {
    let count = 0;
    for (const helper of this.#helpers) {
      if ((owner === null || helper.owner === owner) && helper.client.holdsFiles === holding) count++;
    }
    return count;
  }

  /** Ends the helper that has been idle longest, of one connection or of all. False when none is idle. */
  #evictOne(owner: HelperOwner | null): boolean {
    const idle = [...this.#helpers].filter((helper) => helper.isIdle && (owner === null || helper.owner === owner));
    if (idle.length === 0) return false;
    this.#retire(idle.reduce((oldest, helper) => helper.lastUsedAtMs < oldest.lastUsedAtMs ? helper : oldest));
    return true;
  }

  #changed(helper: Helper): void {
    if (helper.client.endReason !== null) this.#forget(helper);
    else this.#rest(helper);
  }

  /** Starts the time after which an idle helper ends. */
  #rest(helper: Helper): void {
    if (!this.#helpers.has(helper) || !helper.isIdle) return;
    helper.cancelIdle();
    helper.cancelIdle = this.#options.clock.setTimer(helper.idleMs, () => this.#retire(helper));
    this.#wake();
  }

  #retire(helper: Helper): void {
    this.#forget(helper);
    // A helper that is still starting ends as soon as it can.
    helper.started.then(() => helper.client.close(), () => {});
  }

  #forget(helper: Helper): void {
    helper.cancelIdle();
    this.#helpers.delete(helper);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
