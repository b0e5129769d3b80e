/**
 * When a server loads what its start-up has left out: while it is idle, or else between the greeting of its first client
 * and that client's first request.
 *
 * It has two steps: first what a process needs, because nearly every client starts one first, and a moment later the
 * rest. So a request that waits for the first step does not wait for the second. Before both, while the first client
 * reads the address, it starts what the kernel takes long for and costs us nothing. Nobody waits for the warm-up: code
 * that needs something sooner loads it itself.
 */

import type { Clock } from "../clock.ts";
import { errorFields, type Logger } from "../log.ts";

export interface WarmUpOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Starts what the kernel takes a while for. May itself take a millisecond: the first client may be there already. */
  early(): void;
  /** What a first process needs. */
  first(): Promise<unknown>;
  /** Everything else. */
  rest(): Promise<unknown>;
}

/** Long enough for a client that waits for the server to come first. */
export const IDLE_DELAY_MS = 100;

/** Enough time to answer a process start that waited for the first step: on an idle machine that takes 5 ms. */
export const REST_DELAY_MS = 20;

export class WarmUp {
  readonly #options: WarmUpOptions;
  #cancelTimer: () => void = () => {};
  #hasBegun = false;
  #isClosed = false;

  constructor(options: WarmUpOptions) {
    this.#options = options;
  }

  /** Begins once the server has been idle for a while. */
  beginWhenIdle(): void {
    if (this.#hasBegun || this.#isClosed) return;
    this.#cancelTimer = this.#options.clock.setTimer(IDLE_DELAY_MS, () => this.begin());
    // After this turn, in which the address is printed.
    setImmediate(() => {
      if (!this.#isClosed) this.#options.early();
    });
  }

  /** Begins after this turn, in which a client may have been answered. */
  begin(): void {
    if (this.#hasBegun || this.#isClosed) return;
    this.#hasBegun = true;
    this.#cancelTimer();
    setImmediate(() => void this.#run());
  }

  /** Begins nothing more. What is being loaded is not waited for. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  async #run(): Promise<void> {
    const { clock, first, rest } = this.#options;
    const scheduleRest = (): void => {
      if (this.#isClosed) return;
      this.#cancelTimer = clock.setTimer(REST_DELAY_MS, () => void this.#load(rest, "ready for every request"));
    };
    await this.#load(first, "ready for the first process", scheduleRest);
  }

  /** `next` runs before the outcome is logged, so that a reader of the log finds it done. */
  async #load(step: () => Promise<unknown>, outcome: string, next = (): void => {}): Promise<void> {
    const { log } = this.#options;
    try {
      if (!this.#isClosed) await step();
      next();
      log.debug(outcome);
    } catch (error) {
      if (!this.#isClosed) log.warn("cannot load methods ahead of time", errorFields(error));
    }
  }
}
