/**
 * Places for the commands of those who count as one client. A place is taken before anything of a command is begun, and
 * given back when nothing of it runs any more.
 */

import { MAX_HOLDER_COMMANDS } from "./limits.ts";

export class CommandPlaces {
  readonly #max: number;
  #taken = 0;

  constructor(max: number = MAX_HOLDER_COMMANDS) {
    this.#max = max;
  }

  get max(): number {
    return this.#max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** The returned function gives the place back; more than once does no harm. Null: there is none. */
  tryTake(): (() => void) | null {
    if (this.#taken >= this.#max) return null;
    this.#taken++;
    let isTaken = true;
    return () => {
      if (isTaken) this.#taken--;
      isTaken = false;
    };
  }
}
