/**
 * Runs the requests of one connection so that results are as if they had run in arrival order, while nothing waits that
 * need not.
 *
 * A request claims what it touches. A resource is a first-come-first-served lock: an *exclusive* claim waits for all
 * earlier claims and holds back all later ones; a *shared* claim waits only for earlier exclusive ones and holds back
 * later exclusive ones; a *pass* claim waits like a shared one and holds back nothing. All claims of a request join
 * their lines at the moment it arrives, so a request only ever waits for earlier ones and no cycle can form.
 *
 * Knows no methods, no messages and no sockets: jobs in, jobs run.
 */

import { Fifo } from "./fifo.ts";

/**
 * - `control`: never bounded; must get through whatever else is going on.
 * - `waiting`: may stay open for long (long polls); holds up nobody and is bounded by refusal.
 * - `ordinary`: the rest; bounded by `maxConcurrent` when that is set.
 */
export type Lane = "control" | "waiting" | "ordinary";

export type ClaimMode = "pass" | "shared" | "exclusive";

export interface Claim {
  readonly resource: string;
  readonly mode: ClaimMode;
}

export interface Job {
  readonly lane: Lane;
  readonly claims: readonly Claim[];
  /** Weight in the in-flight accounting: bytes of the request. */
  readonly bytes: number;
  /** Does the work. Must not throw or reject: answering failures is the job's own business. */
  run(): void | Promise<void>;
}

export interface SchedulerOptions {
  /** Ordinary jobs running at once, or null for no bound but the claims'. */
  maxConcurrent: number | null;
  maxInFlight: number;
  maxInFlightBytes: number;
  maxWaiting: number;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #lines = new Map<string, Line>();
  #inFlight = 0;
  #inFlightBytes = 0;
  #waiting = 0;
  #running = 0;
  /** Entries with all claims granted, in that order. */
  readonly #ready = new Fifo<Entry>();
  /** Ready ordinary entries beyond `maxConcurrent`. */
  readonly #overBound = new Fifo<Entry>();
  #isDraining = false;
  #roomWaiters: (() => void)[] = [];
  #idleWaiters: (() => void)[] = [];
  #isClosed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Jobs accepted and not finished, long polls included. */
  get pending(): number {
    return this.#inFlight + this.#waiting;
  }

  /** Whether the connection should stop reading. Long polls do not count: they are refused beyond their bound. */
  get isFull(): boolean {
    return this.#inFlight >= this.#options.maxInFlight || this.#inFlightBytes >= this.#options.maxInFlightBytes;
  }

  /** Resolves when there is room again, or the scheduler was closed. */
  whenRoom(): Promise<void> {
    if (!this.isFull || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#roomWaiters.push(resolve));
  }

  /** Resolves when every job that can finish without the peer's help has: all but long polls. */
  whenIdle(): Promise<void> {
    if (this.#inFlight === 0 || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Takes a job; it runs at once, before this returns, if nothing earlier is in its way. False: too many long polls. */
  submit(job: Job): boolean {
    if (this.#isClosed) return true;
    if (job.lane === "waiting") {
      if (this.#waiting >= this.#options.maxWaiting) return false;
      this.#waiting++;
    } else {
      this.#inFlight++;
      this.#inFlightBytes += job.bytes;
    }
    const entry: Entry = { job, missing: 1 };
    for (const claim of job.claims) {
      if (!this.#line(claim.resource).join(entry, claim.mode)) entry.missing++;
    }
    this.#granted(entry);
    this.#drain();
    return true;
  }

  /** Forgets every job that has not begun; running ones finish on their own. */
  close(): void {
    this.#isClosed = true;
    this.#lines.clear();
    this.#ready.clear();
    this.#overBound.clear();
    wake(this.#roomWaiters);
    wake(this.#idleWaiters);
  }

  #line(resource: string): Line {
    let line = this.#lines.get(resource);
    if (line === undefined) this.#lines.set(resource, line = new Line());
    return line;
  }

  /** One thing the entry was missing has arrived. */
  #granted(entry: Entry): void {
    if (--entry.missing === 0) this.#ready.push(entry);
  }

  /** Runs what is ready. A loop and not a recursion: thousands of requests may wait for one. */
  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      const running = entry;
      if (running.job.lane === "ordinary") this.#running++;
      const done = running.job.run();
      if (done === undefined) this.#finish(running);
      else {
        done.then(() => {
          this.#finish(running);
          this.#drain();
        });
      }
    }
    this.#isDraining = false;
  }

  #next(): Entry | undefined {
    const { maxConcurrent } = this.#options;
    const isBoundReached = maxConcurrent !== null && this.#running >= maxConcurrent;
    if (!isBoundReached && this.#overBound.length > 0) return this.#overBound.shift();
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      if (entry.job.lane !== "ordinary" || !isBoundReached) return entry;
      this.#overBound.push(entry);
    }
    return undefined;
  }

  #finish({ job }: Entry): void {
    if (job.lane === "waiting") this.#waiting--;
    else {
      this.#inFlight--;
      this.#inFlightBytes -= job.bytes;
    }
    if (job.lane === "ordinary") this.#running--;
    if (this.#isClosed) return;
    for (const claim of job.claims) this.#leave(claim);
    if (!this.isFull) wake(this.#roomWaiters);
    if (this.#inFlight === 0) wake(this.#idleWaiters);
  }

  #leave(claim: Claim): void {
    const line = this.#lines.get(claim.resource);
    if (line === undefined) return;
    const granted = line.leave(claim.mode);
    if (line.isEmpty) this.#lines.delete(claim.resource);
    for (const entry of granted) this.#granted(entry);
  }
}

interface Entry {
  readonly job: Job;
  /** Claims not granted yet, plus one while the job is being submitted. */
  missing: number;
}

/** The holders of one resource and the line of those who wait for it. */
class Line {
  #shared = 0;
  #exclusive = false;
  readonly #waiters = new Fifo<{ entry: Entry; mode: ClaimMode }>();

  get isEmpty(): boolean {
    return this.#shared === 0 && !this.#exclusive && this.#waiters.length === 0;
  }

  /** True when granted at once. */
  join(entry: Entry, mode: ClaimMode): boolean {
    if (this.#waiters.length === 0 && this.#admits(mode)) {
      this.#hold(mode);
      return true;
    }
    this.#waiters.push({ entry, mode });
    return false;
  }

  /** Ends a granted claim; returns those whose turn has come. */
  leave(mode: ClaimMode): Entry[] {
    if (mode === "shared") this.#shared--;
    else if (mode === "exclusive") this.#exclusive = false;
    const granted: Entry[] = [];
    for (let next = this.#waiters.peek(); next !== undefined; next = this.#waiters.peek()) {
      if (!this.#admits(next.mode)) break;
      this.#waiters.shift();
      this.#hold(next.mode);
      granted.push(next.entry);
    }
    return granted;
  }

  #admits(mode: ClaimMode): boolean {
    return !this.#exclusive && (mode !== "exclusive" || this.#shared === 0);
  }

  #hold(mode: ClaimMode): void {
    if (mode === "shared") this.#shared++;
    else if (mode === "exclusive") this.#exclusive = true;
  }
}

function wake(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
