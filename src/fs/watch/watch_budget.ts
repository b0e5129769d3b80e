/** How many more directories one connection may watch. */

import { MAX_WATCHED_DIRECTORIES } from "../limits.ts";

export class WatchBudget {
  readonly limit: number;
  #taken = 0;

  constructor(limit: number = MAX_WATCHED_DIRECTORIES) {
    this.limit = limit;
  }

  /** False when none is left. */
  take(): boolean {
    if (this.#taken >= this.limit) return false;
    this.#taken++;
    return true;
  }

  release(): void {
    this.#taken--;
  }
}
