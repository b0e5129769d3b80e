/**
 * Sends messages on one link, in order. While a write is under way, further messages are gathered and then leave
 * together: many small writes become one.
 */

import type { TransportLink } from "../link/transport.ts";

/** See the head of the module. */
export class Outbox {
  readonly #link: Pick<TransportLink, "send">;
  readonly #onFailure: (error: unknown) => void;
  #waiting: string[] = [];
  #isSending = false;

  /** `onFailure` is called when something could not be sent. Nothing is sent after that. */
  constructor(link: Pick<TransportLink, "send">, onFailure: (error: unknown) => void) {
    this.#link = link;
    this.#onFailure = onFailure;
  }

  /** Sends it at once, or after what is under way. */
  send(text: string): void {
    if (this.#isSending) this.#waiting.push(text);
    else this.#sendAll([text]);
  }

  #sendAll(texts: readonly string[]): void {
    this.#isSending = true;
    this.#link.send(texts).then(() => {
      this.#isSending = false;
      if (this.#waiting.length === 0) return;
      const waiting = this.#waiting;
      this.#waiting = [];
      this.#sendAll(waiting);
    }, this.#onFailure);
  }
}
