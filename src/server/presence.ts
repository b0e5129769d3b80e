/**
 * Whether the client of a connection is still there: when it was last heard of, and the way to ask.
 *
 * Every message shows it. What else does, the link knows: a pong, or that it would have seen the end. Where the link
 * knows nothing, as when another machine passes the messages on, a client that says nothing is waited for.
 */

import type { Clock } from "../clock.ts";
import type { Audience } from "../process/session/audience.ts";
import type { Link } from "../rpc/link.ts";

/** A client that is at work shows itself within this time, and need not be asked. */
export const OWN_SIGN_MS = 1000;

export class Presence implements Audience {
  readonly #link: Link;
  readonly #clock: Clock;
  #messageAtMs: number;
  readonly #listeners = new Set<() => void>();
  #cancelQuestion = () => {};

  constructor(link: Link, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    this.#messageAtMs = clock.now();
  }

  get heardAtMs(): number {
    const { silentMs } = this.#link;
    return silentMs === undefined ? this.#messageAtMs : Math.max(this.#messageAtMs, this.#clock.now() - silentMs);
  }

  ask(onHeard: () => void): () => void {
    this.#listeners.add(onHeard);
    if (this.#listeners.size === 1) this.#askSoon();
    return () => {
      this.#listeners.delete(onHeard);
      if (this.#listeners.size === 0) this.#cancelQuestion();
    };
  }

  #askSoon(): void {
    const sinceMs = this.#clock.now();
    this.#cancelQuestion = this.#clock.setTimer(OWN_SIGN_MS, () => {
      if (this.heardAtMs > sinceMs) this.#tell();
      else this.#link.askForSign?.(() => this.#tell());
    });
  }

  /** To be called with each message, before anything is done about it: what it asks for may be what is due. */
  heard(): void {
    // A link that tells how long it has been silent is asked when somebody wants to know.
    if (this.#listeners.size === 0 && this.#link.silentMs !== undefined) return;
    this.#messageAtMs = this.#clock.now();
    this.#tell();
  }

  /** A sign of life by itself says nothing of its time: the link knows how old it may be. */
  #tell(): void {
    this.#cancelQuestion();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const onHeard of listeners) onHeard();
  }
}
