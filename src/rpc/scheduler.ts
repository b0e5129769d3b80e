/**
 * Runs the requests of one connection so that results are as if they had run in arrival order, but no request waits
 * without need.
 *
 * A request claims what it touches. A resource is a first-come-first-served lock: an *exclusive* claim waits for all
 * earlier claims and holds back all later ones; a *shared* claim waits only for earlier exclusive ones and holds back
 * later exclusive ones; a *pass* claim waits like a shared one and holds back nothing. All claims of a request join
 * their lines when it arrives, so a request only ever waits for earlier ones and no cycle can form.
 *
 * A job whose answer may be long begins when the answer's bytes were taken from the connection's budget. It waits for
 * them in line, with all its claims; jobs with short answers and control work overtake it. Ready jobs run for a few
 * milliseconds at a time, then everything else has a turn.
 *
 * Knows no methods, no messages and no sockets: jobs in, jobs run.
 */

import type { AnswerBudget } from "./answer_budget.ts";
import { ClaimLine, type ClaimMode } from "./claim_line.ts";
import { Fifo } from "./fifo.ts";

/**
 * - `control`: never bounded; must get through whatever else is going on.
 * - `waiting`: may stay open for long (long polls); holds up nothing, and is refused beyond its bound.
 * - `ordinary`: the rest; bounded by `maxConcurrent` when that is set.
 */
export type Lane = "control" | "waiting" | "ordinary";

export interface Claim {
  readonly resource: string;
  readonly mode: ClaimMode;
}

export interface Job {
  readonly lane: Lane;
  readonly claims: readonly Claim[];
  /** Weight in the in-flight accounting: bytes of the request. */
  readonly bytes: number;
  /**
   * Bytes its answer may need, taken from the budget before it runs and released by the sender of the answer. None: it
   * is short. Ignored for control work, and for waiting jobs, which take their bytes when they know them.
   */
  readonly answerBytes?: number;
  /** Does the work. Must not throw or reject: the job answers its own failures. */
  run(): void | Promise<void>;
}

export interface SchedulerOptions {
  /** Ordinary jobs running at once. Null: only the claims bound them. */
  maxConcurrent: number | null;
  maxInFlight: number;
  maxInFlightBytes: number;
  maxWaiting: number;
  /** For answers that may be long. Without it they are not bounded. */
  answers?: AnswerBudget;
  /** Resolves when everything else has had a turn. Without it jobs run as long as there are any. */
  turn?: () => Promise<void>;
}

/** How long jobs are run before others get a turn. */
const DRAIN_MS = 2;
/** The clock is read once for this many jobs: a single one, the usual case, costs nothing. */
const JOBS_PER_LOOK = 4;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #lines = new Map<string, ClaimLine<Entry>>();
  #inFlight = 0;
  #inFlightBytes = 0;
  #waiting = 0;
  /** Jobs of the waiting lane that wait for what may never come. */
  #parked = 0;
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

  /**
   * Whether the connection should stop reading. Of long polls only the bytes count: they are few, except for the bodies
   * of HTTP requests. The number of long polls has its own bound.
   */
  get isFull(): boolean {
    return this.#inFlight >= this.#options.maxInFlight || this.#inFlightBytes >= this.#options.maxInFlightBytes;
  }

  /** Resolves when there is room again, or the scheduler was closed. */
  whenRoom(): Promise<void> {
    if (!this.isFull || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#roomWaiters.push(resolve));
  }

  /** Resolves when every job that ends by itself has finished: all but those that are parked. */
  whenIdle(): Promise<void> {
    if (this.#isIdle || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** For a job of the waiting lane that waits for what may never come: nobody waits for it meanwhile. */
  async parked<Value>(waiting: Promise<Value>): Promise<Value> {
    this.#parked++;
    if (this.#isIdle) wake(this.#idleWaiters);
    try {
      return await waiting;
    } finally {
      this.#parked--;
    }
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && this.#waiting === this.#parked;
  }

  /**
   * Takes a job. It runs at once, before this returns, if nothing earlier is in its way. False: too many long polls.
   */
  submit(job: Job): boolean {
    if (this.#isClosed) return true;
    if (job.lane === "waiting") {
      if (this.#waiting >= this.#options.maxWaiting) return false;
      this.#waiting++;
    } else this.#inFlight++;
    this.#inFlightBytes += job.bytes;
    const hasBytes = job.lane !== "ordinary" || (job.answerBytes ?? 0) === 0;
    const entry: Entry = { job, missing: 1, hasBytes, isCounted: false };
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

  #line(resource: string): ClaimLine<Entry> {
    let line = this.#lines.get(resource);
    if (line === undefined) this.#lines.set(resource, line = new ClaimLine());
    return line;
  }

  /** One thing the entry was waiting for has arrived. */
  #granted(entry: Entry): void {
    if (--entry.missing === 0) this.#ready.push(entry);
  }

  /** Runs what is ready. A loop instead of recursion: thousands of requests may wait for one. */
  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    let begunAtMs = 0;
    for (let entry = this.#next(), jobs = 1; entry !== undefined; entry = this.#next(), jobs++) {
      const running = entry;
      const done = running.job.run();
      if (done === undefined) this.#finish(running);
      else {
        done.then(() => {
          this.#finish(running);
          this.#drain();
        });
      }
      if (this.#options.turn === undefined || jobs % JOBS_PER_LOOK !== 0) continue;
      const nowMs = performance.now();
      if (begunAtMs === 0) begunAtMs = nowMs;
      else if (nowMs - begunAtMs >= DRAIN_MS) return this.#rest(this.#options.turn);
    }
    this.#isDraining = false;
  }

  /** Continues when others have had their turn. Until then nothing overtakes what is ready. */
  #rest(turn: () => Promise<void>): void {
    turn().then(() => {
      this.#isDraining = false;
      this.#drain();
    });
  }

  #next(): Entry | undefined {
    const { maxConcurrent } = this.#options;
    for (;;) {
      const isBoundReached = maxConcurrent !== null && this.#running >= maxConcurrent;
      const entry = isBoundReached ? this.#ready.shift() : this.#overBound.shift() ?? this.#ready.shift();
      if (entry === undefined || entry.job.lane !== "ordinary") return entry;
      if (entry.hasBytes && entry.isCounted) return entry;
      if (isBoundReached) {
        this.#overBound.push(entry);
        continue;
      }
      this.#running++;
      entry.isCounted = true;
      if (this.#hasBytes(entry)) return entry;
    }
  }

  /** False: the entry waits for its answer's bytes, and is ready again when it has them. */
  #hasBytes(entry: Entry): boolean {
    const { answers } = this.#options;
    const { answerBytes = 0 } = entry.job;
    if (entry.hasBytes || answers === undefined || answers.tryTake(answerBytes)) return true;
    answers.wait(answerBytes, () => {
      entry.hasBytes = true;
      this.#ready.push(entry);
      this.#drain();
    });
    return false;
  }

  #finish({ job }: Entry): void {
    if (job.lane === "waiting") this.#waiting--;
    else this.#inFlight--;
    this.#inFlightBytes -= job.bytes;
    if (job.lane === "ordinary") this.#running--;
    if (this.#isClosed) return;
    for (const claim of job.claims) this.#leave(claim);
    if (!this.isFull) wake(this.#roomWaiters);
    if (this.#isIdle) wake(this.#idleWaiters);
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
  /** It needs no bytes for its answer, or has taken them. */
  hasBytes: boolean;
  /** Counted as running from when only its answer's bytes are missing. */
  isCounted: boolean;
}

function wake(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
