/**
 * Failed accepts, mostly for lack of descriptors: logged when they begin, and then once a minute, however often they
 * happen.
 */

import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";

const TELL_INTERVAL_MS = 60_000;

export class AcceptFailures {
  readonly #log: Logger;
  readonly #clock: Clock;
  #toldAtMs = -Infinity;
  #untold = 0;

  constructor({ log, clock }: { log: Logger; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  add(error: unknown): void {
    this.#untold++;
    if (this.#clock.now() - this.#toldAtMs < TELL_INTERVAL_MS) return;
    this.#toldAtMs = this.#clock.now();
    const reason = messageOf(error);
    this.#log.error("cannot accept connections: those that are open go on", { reason, times: this.#untold });
    this.#untold = 0;
  }
}
