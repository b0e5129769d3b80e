/**
 * The line of one resource: a first-come-first-served lock that is shared, exclusive or passed.
 *
 * See `scheduler.ts` for what the three ways of claiming mean.
 */

import { Fifo } from "./fifo.ts";

export type ClaimMode = "pass" | "shared" | "exclusive";

/** The holders of one resource and the line of those that wait for it. */
export class ClaimLine<Holder> {
  #shared = 0;
  #exclusive = false;
  readonly #waiters = new Fifo<{ holder: Holder; mode: ClaimMode }>();

  get isEmpty(): boolean {
    return this.#shared === 0 && !this.#exclusive && this.#waiters.length === 0;
  }

  /** True when granted at once. */
  join(holder: Holder, mode: ClaimMode): boolean {
    if (this.#waiters.length === 0 && this.#admits(mode)) {
      this.#hold(mode);
      return true;
    }
    this.#waiters.push({ holder, mode });
    return false;
  }

  /** Ends a granted claim; returns those whose turn has come. */
  leave(mode: ClaimMode): Holder[] {
    if (mode === "shared") this.#shared--;
    else if (mode === "exclusive") this.#exclusive = false;
    const granted: Holder[] = [];
    for (let next = this.#waiters.peek(); next !== undefined; next = this.#waiters.peek()) {
      if (!this.#admits(next.mode)) break;
      this.#waiters.shift();
      this.#hold(next.mode);
      granted.push(next.holder);
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
