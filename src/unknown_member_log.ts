/** Warns the operator of ignored members in sandbox objects: once for each, up to a bounded number. */

import { type Logger, shortened } from "./log.ts";

/** A newer client has one or two. Clients choose the names, so there must be an end to what is remembered. */
const MAX_WARNED_MEMBERS = 32;

/** How much of a member's place is logged. The longest that exists has 42 characters. */
const MAX_PLACE_CHARS = 128;

export class UnknownMemberLog {
  readonly #log: Logger;
  readonly #warned = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** To be called with the members of every sandbox object that was accepted. Takes no more of them than it logs. */
  tell(places: Iterable<string>): void {
    // The list is full, so nothing more would be logged: do not walk the object.
    if (this.#warned.size >= MAX_WARNED_MEMBERS) return;
    for (const place of places) {
      const member = shortened(place, MAX_PLACE_CHARS);
      if (this.#warned.has(member)) continue;
      this.#warned.add(member);
      const isLast = this.#warned.size === MAX_WARNED_MEMBERS;
      this.#log.warn("an unknown member of a sandbox object is ignored", {
        member,
        ...(isLast ? { note: "no more of them are logged" } : {}),
      });
      if (isLast) return;
    }
  }
}
