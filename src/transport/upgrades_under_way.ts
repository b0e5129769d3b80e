/**
 * Websockets of another program's `Deno.serve` that were let in but are not open yet.
 *
 * They are counted like connections, and each holds its client's login. If a client has gone meanwhile, the runtime
 * only reports an error. If the program answers with something other than the response it was given, the runtime
 * reports nothing at all. So the wait for a websocket is limited.
 */

import type { Clock } from "../clock.ts";

/** A client completes its upgrade in one round trip. This allows for a very slow line. */
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
   * Waits for a websocket to open. Calls `opened` then, or `givenUp` if it fails or takes too long: one of the two,
   * once.
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

  /** Gives up all of them. */
  giveUpAll(): void {
    for (const giveUp of this.#ends) giveUp();
  }
}
