/**
 * Websockets of another program's `Deno.serve` that were let in and are not open yet.
 *
 * They are counted like connections, and each holds what its client was let in with. The runtime says that a client has
 * gone meanwhile by an error alone, and nothing at all where the program answers with something else than the response
 * it was given: so nobody waits for a websocket without end.
 */

import type { Clock } from "../clock.ts";

/** A client completes its upgrade in the time of one answer. This is for one behind a very slow line. */
const UPGRADE_LIMIT_MS = 30_000;

export class UpgradesUnderWay {
  readonly #clock: Clock;
  readonly #ends = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#ends.size;
  }

  /**
   * Waits for a websocket to open. `opened` is called then, and `givenUp` if it has failed or takes too long: one of the
   * two, once.
   */
  add(socket: EventTarget, { opened, givenUp }: { opened: () => void; givenUp: () => void }): void {
    const end = (then: () => void) => () => {
      if (!this.#ends.delete(giveUp)) return;
      cancel();
      then();
    };
    const giveUp = end(givenUp);
    const cancel = this.#clock.setTimer(UPGRADE_LIMIT_MS, giveUp);
    this.#ends.add(giveUp);
    socket.addEventListener("open", end(opened));
    for (const event of ["error", "close"]) socket.addEventListener(event, giveUp);
  }

  /** Waits for none of them any more. */
  giveUpAll(): void {
    for (const giveUp of this.#ends) giveUp();
  }
}
