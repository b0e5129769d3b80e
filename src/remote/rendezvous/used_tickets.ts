/** Tickets that may be used once: used ones are remembered until they expire. */

import type { Ticket } from "./tickets.ts";

export class UsedTickets {
  /** Nonce -> when the ticket expires. In the order of use, which is nearly that of expiry. */
  readonly #used = new Map<string, number>();

  /** Uses a ticket that has not expired. False: it was used before. */
  use({ nonce, expiresAtMs }: Ticket, nowMs = Date.now()): boolean {
    for (const [old, oldExpiresAtMs] of this.#used) {
      if (oldExpiresAtMs > nowMs) break;
      this.#used.delete(old);
    }
    if (this.#used.has(nonce)) return false;
    this.#used.set(nonce, expiresAtMs);
    return true;
  }

  get size(): number {
    return this.#used.size;
  }
}
