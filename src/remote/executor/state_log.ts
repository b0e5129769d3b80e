/** Logs every change of the connection to the rendezvous once. A failure that repeats is not logged again. */

import type { LogFields, Logger } from "../../log.ts";

export class StateLog {
  readonly #log: Logger;
  #state = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  connected(fields: LogFields): void {
    this.#enter("connected", () => this.#log.info("connected to the rendezvous", fields));
  }

  /** The open websocket was lost. */
  lost(reason: string): void {
    this.#enter(`lost ${reason}`, () => this.#log.warn("the rendezvous is lost: connecting again", { reason }));
  }

  /** Not connected yet, and still trying. */
  failing(reason: string): void {
    this.#enter(`failing ${reason}`, () => this.#log.warn("cannot reach the rendezvous: trying again", { reason }));
  }

  #enter(state: string, tell: () => void): void {
    if (this.#state === state) return;
    this.#state = state;
    tell();
  }
}
