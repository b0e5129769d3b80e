/**
 * What the shell states of all sessions hold in memory, and the bound on it. Beyond it the state that was not used for
 * longest goes, of any session: its next command runs the profile, and captures it again.
 */

import { MAX_SHELL_STATES_BYTES } from "../limits.ts";

/** One kept state, or the room for one that is being captured. */
export interface KeptState {
  /** Changed by `resize` alone. */
  bytes: number;
  /** It must be forgotten now. It has already left the ledger. */
  readonly forget: () => void;
}

export class ShellStateLedger {
  readonly #maxBytes: number;
  /** The least recently used first. */
  readonly #states = new Set<KeptState>();
  #bytes = 0;

  constructor(maxBytes: number = MAX_SHELL_STATES_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Makes room for it. */
  add(state: KeptState): void {
    this.#states.add(state);
    this.#bytes += state.bytes;
    for (const oldest of this.#states) {
      if (this.#bytes <= this.#maxBytes || oldest === state) return;
      this.remove(oldest);
      oldest.forget();
    }
  }

  used(state: KeptState): void {
    if (this.#states.delete(state)) this.#states.add(state);
  }

  /** It takes less than was reserved for it. */
  resize(state: KeptState, bytes: number): void {
    if (this.#states.has(state)) this.#bytes += bytes - state.bytes;
    state.bytes = bytes;
  }

  /** It is forgotten for another reason. */
  remove(state: KeptState): void {
    if (this.#states.delete(state)) this.#bytes -= state.bytes;
  }
}
