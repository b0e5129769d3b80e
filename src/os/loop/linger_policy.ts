/**
 * The rules for how long the reactor waits on the program's own thread before it waits on another one. They have no
 * clock or descriptor of their own.
 *
 * Waiting on another thread costs two changes of thread each time, which is more than most of what is waited for takes.
 * Waiting here uses the processor, and makes the runtime's timers late. `reactor.ts` asks before every wait and reports
 * how it went. `linger_place.ts` does the waiting.
 */

import type { LingerOutcome } from "./linger_place.ts";

/** How long this thread itself waits for what comes next. The runtime's timers are late by this much. */
export const LINGER_US = 250;

/**
 * For how much of that time the processor is kept awake at most. It is enough for a client's next request and for the
 * echo of a program. It is halved whenever nothing came, so that something that happens every millisecond does not cost
 * a tenth of a core.
 */
export const MAX_AWAKE_US = 100;
const MIN_AWAKE_US = 10;

/**
 * For this long after somebody else wanted the processor, we do not keep it awake: others keep it awake meanwhile. The
 * time doubles each time, since finding out may cost a whole turn of theirs. It goes back to the minimum once we have
 * had the processor for a while: a compiler's thread or the host's other machines are soon gone, a build is not.
 */
export const MIN_CROWDED_REST_MS = 2;
export const MAX_CROWDED_REST_MS = 64;
/** After this many events that came while the processor was kept awake, it counts as calm again. */
export const CALM_EVENTS = 32;

/** Whatever comes this soon after the last would have been worth staying awake for. */
export const SOON_MS = 0.3;

/**
 * Lingering goes on as long as it finds something, but a wait on another thread must come this often: while immediates
 * are pending the runtime attends to its own sockets and timers only every 61st turn.
 */
export const MAX_LINGERING_MS = 10;

/** The two parts of a wait on this thread. */
export interface LingerSpan {
  readonly awakeUs: number;
  readonly asleepUs: number;
}

/** What came of the waits so far. */
export interface LingerCounters {
  /** Something of ours came while this thread waited: the change of thread was spared. */
  readonly found: number;
  /** How many of these were found while the processor was kept awake. */
  readonly foundAwake: number;
  /** Something of the runtime's came. */
  readonly foundRuntime: number;
  readonly inVain: number;
  /** Somebody else wanted the processor. */
  readonly crowded: number;
  /** Waits on another thread. */
  readonly elsewhere: number;
}

export class LingerPolicy {
  /** False: never waits on this thread. */
  isOn = true;
  readonly #counters = { found: 0, foundAwake: 0, foundRuntime: 0, inVain: 0, crowded: 0, elsewhere: 0 };
  #waitedElsewhereAtMs: number;
  #awakeUs = MAX_AWAKE_US;
  #crowdedUntilMs = 0;
  #crowdedRestMs = MIN_CROWDED_REST_MS;
  #calmEvents = 0;
  #deliveredAtMs = -Infinity;

  constructor(nowMs: number) {
    this.#waitedElsewhereAtMs = nowMs;
  }

  get counters(): LingerCounters {
    return { ...this.#counters };
  }

  /** Whether to look on this thread at all before waiting on another. */
  mayLinger(nowMs: number): boolean {
    return this.isOn && nowMs - this.#waitedElsewhereAtMs < MAX_LINGERING_MS;
  }

  /** How to wait on this thread now. */
  span(nowMs: number): LingerSpan {
    const awakeUs = nowMs < this.#crowdedUntilMs ? 0 : this.#awakeUs;
    return { awakeUs, asleepUs: LINGER_US - awakeUs };
  }

  /** Records how a wait on this thread with this plan has ended. True: there is something of ours to deliver. */
  lingered({ awakeUs }: LingerSpan, { found, wasAwake, isCrowded }: LingerOutcome, nowMs: number): boolean {
    if (isCrowded) {
      this.#counters.crowded++;
      this.#crowdedUntilMs = nowMs + this.#crowdedRestMs;
      this.#crowdedRestMs = Math.min(2 * this.#crowdedRestMs, MAX_CROWDED_REST_MS);
      this.#calmEvents = 0;
    } else if (wasAwake && ++this.#calmEvents >= CALM_EVENTS) this.#crowdedRestMs = MIN_CROWDED_REST_MS;
    if (wasAwake) this.#awakeUs = MAX_AWAKE_US;
    else if (awakeUs > 0) this.#awakeUs = awakeUs > MIN_AWAKE_US ? awakeUs >> 1 : 0;
    if (found === "ours") {
      this.#counters.found++;
      if (wasAwake) this.#counters.foundAwake++;
    } else if (found === "runtime") this.#counters.foundRuntime++;
    else this.#counters.inVain++;
    return found === "ours";
  }

  /** Waiting begins again after a time in which there was nothing to wait for. */
  resume(nowMs: number): void {
    this.#waitedElsewhereAtMs = nowMs;
  }

  /** A wait on another thread has ended. */
  waitedElsewhere(nowMs: number): void {
    this.#counters.elsewhere++;
    this.#waitedElsewhereAtMs = nowMs;
  }

  /** Something is about to be delivered. */
  delivers(nowMs: number): void {
    if (nowMs - this.#deliveredAtMs < SOON_MS) this.#awakeUs = MAX_AWAKE_US;
  }

  /** All of it has been delivered. */
  delivered(nowMs: number): void {
    this.#deliveredAtMs = nowMs;
  }
}
