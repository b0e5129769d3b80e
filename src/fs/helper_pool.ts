/**
 * The lives of confined file helpers: started when first needed, kept while they are used, few at a time.
 *
 * A helper belongs to one connection and one policy, and the policy's key changes with every path it names being another
 * thing than before: a helper is bound to what those paths were when it was started. One that has been idle for a while
 * ends; when there are too many, the one that was idle longest ends first. One that is gone is never asked again.
 */

import type { Clock } from "../clock.ts";
import { invalidRequest } from "../errors.ts";
import { type FilePolicy, policyKey } from "../launch/policy.ts";
import { HelperClient, type HelperEvents, type HelperPort } from "./helper_client.ts";

/** A connection, as far as the pool is concerned. */
export type HelperOwner = object;

export interface HelperPoolOptions {
  /** Starts a helper that is confined by the policy from its first instruction on. */
  start(files: FilePolicy, events: HelperEvents): Promise<HelperPort>;
  readonly clock: Clock;
  /** Of all connections together. */
  readonly maxHelpers?: number;
  readonly idleMs?: number;
  readonly briefIdleMs?: number;
}

/** Some 20 MB each. An agent uses two or three policies at a time. */
const MAX_HELPERS = 16;

/** Starting one anew takes some 35 ms, so it need not be kept for long. */
const IDLE_MS = 30_000;

/**
 * For a policy that protects paths which do not exist: as long as its helper lives there are placeholders on the disk,
 * which others can see. Long enough for a burst of operations.
 */
const BRIEF_IDLE_MS = 1_000;

class Helper {
  readonly key: string;
  readonly owner: HelperOwner;
  readonly idleMs: number;
  readonly client: HelperClient;
  /** Resolves when it takes requests. */
  started: Promise<unknown> = Promise.resolve();
  /** Whoever has been handed the helper and is not done with it. */
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

  /** Hands out the helper of a policy, starting it if need be, for as long as `work` takes. */
  async use<Value>(
    owner: HelperOwner,
    files: FilePolicy,
    work: (client: HelperClient) => Promise<Value>,
  ): Promise<Value> {
    const key = this.#keyOf(files);
    const helper = this.#find(owner, key) ?? await this.#create(owner, key, files);
    helper.users++;
    helper.cancelIdle();
    try {
      await helper.started;
      return await work(helper.client);
    } finally {
      helper.users--;
      helper.lastUsedAtMs = this.#options.clock.now();
      this.#rest(helper);
    }
  }

  /** Ends the helpers of a connection that is gone. What they have begun to write they finish. */
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
    const { maxHelpers = MAX_HELPERS, idleMs = IDLE_MS, briefIdleMs = BRIEF_IDLE_MS, clock } = this.#options;
    while (!this.#isClosed && this.#helpers.size >= maxHelpers) {
      if (this.#evictOne()) continue;
      if ([...this.#helpers].every(({ client }) => client.holdsFiles)) {
        throw invalidRequest(`at most ${maxHelpers} sandboxes may hold files open at once`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      // Somebody else may have started it meanwhile.
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

  /** Ends the helper that has been idle longest. False when none is idle. */
  #evictOne(): boolean {
    const idle = [...this.#helpers].filter((helper) => helper.isIdle);
    if (idle.length === 0) return false;
    this.#retire(idle.reduce((oldest, helper) => helper.lastUsedAtMs < oldest.lastUsedAtMs ? helper : oldest));
    return true;
  }

  #changed(helper: Helper): void {
    if (helper.client.endReason !== null) this.#forget(helper);
    else this.#rest(helper);
  }

  /** Begins the time after which an idle helper ends. */
  #rest(helper: Helper): void {
    if (!this.#helpers.has(helper) || !helper.isIdle) return;
    helper.cancelIdle();
    helper.cancelIdle = this.#options.clock.setTimer(helper.idleMs, () => this.#retire(helper));
    this.#wake();
  }

  #retire(helper: Helper): void {
    this.#forget(helper);
    // One that is still being started ends as soon as it can.
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
