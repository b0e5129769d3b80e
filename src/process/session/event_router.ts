/**
 * Where a session's events go now, and the processes that wait for room there.
 *
 * The sink changes when the session changes its connection; nothing ever waits on a sink that is gone.
 */

import type { Clock } from "../../clock.ts";
import type { ProcessEventSink } from "./events.ts";
import { RESUME_BATCH, RESUME_INTERVAL_MS } from "../limits.ts";

/** A source of output that has been paused for lack of room. */
export interface StalledSource {
  resumeOutput(): void;
}

export class EventRouter {
  readonly #clock: Clock;
  /** In the order they stalled: the longest wait ends first. */
  readonly #stalled = new Set<StalledSource>();
  #sink: ProcessEventSink | null = null;
  #cancelNextBatch: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get sink(): ProcessEventSink | null {
    return this.#sink;
  }

  /** Sends all later events there. What has stalled on the old sink goes on. */
  setSink(sink: ProcessEventSink | null): void {
    this.#sink = sink;
    this.resumeStalled();
  }

  /** Remembers a source that has paused itself, to be resumed when there is room. */
  addStalled(source: StalledSource): void {
    this.#stalled.add(source);
  }

  removeStalled(source: StalledSource): void {
    this.#stalled.delete(source);
  }

  /** To be called when the sink has room again. Resumes a batch at a time, for as long as the room lasts. */
  resumeStalled(): void {
    this.#cancelNextBatch?.();
    this.#cancelNextBatch = null;
    let budget = this.#sink === null ? Infinity : RESUME_BATCH;
    for (const source of this.#stalled) {
      // Without room the owner of the sink calls again.
      if (this.#sink !== null && !this.#sink.hasRoom) return;
      if (budget-- === 0) {
        this.#cancelNextBatch = this.#clock.setTimer(RESUME_INTERVAL_MS, () => this.resumeStalled());
        return;
      }
      this.#stalled.delete(source);
      source.resumeOutput();
    }
  }
}
