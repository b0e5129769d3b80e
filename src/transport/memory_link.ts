/**
 * Two links joined in memory: for a client and a server in one program, and for tests of what is above the socket.
 *
 * As with a socket, a sender waits while the other side does not read, so its processes are paused.
 */

import type { InboundMessage, Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import { Fifo } from "../rpc/fifo.ts";
import { wholeText } from "../rpc/whole_text.ts";

/** How much may be sent and not read before senders wait: about as much as the buffers of a socket hold. */
const INBOX_CHARACTERS = 1024 * 1024;

export class MemoryLink implements Link {
  readonly #inbox = new Fifo<string>();
  #inboxCharacters = 0;
  #other: MemoryLink | null = null;
  #ended: LinkEnd | null = null;
  #wake: () => void = () => {};
  #isHeld = false;
  #waitingSends: (() => void)[] = [];
  /** Probes asked for, so that tests can see them. */
  probes = 0;
  /** The other side is in the same program. */
  readonly silentMs = 0;

  static pair(): [MemoryLink, MemoryLink] {
    const a = new MemoryLink();
    const b = new MemoryLink();
    a.#other = b;
    b.#other = a;
    return [a, b];
  }

  async receive(receiver: (message: InboundMessage) => void | Promise<void>): Promise<LinkEnd> {
    for (;;) {
      const message = this.#inbox.shift();
      if (message !== undefined) {
        this.#inboxCharacters -= message.length;
        if (!this.#isFull) this.#resumeSends();
        await receiver(message);
      } else if (this.#ended !== null) return this.#ended;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async send(messages: readonly OutboundMessage[]): Promise<void> {
    const other = this.#other!;
    if (this.#ended !== null || other.#ended !== null) throw new Error("connection is closed");
    while (other.#isFull && this.#ended === null) {
      await new Promise<void>((resolve) => other.#waitingSends.push(resolve));
    }
    if (this.#ended !== null) throw new Error("connection is closed");
    for (const message of messages) {
      const text = await wholeText(message);
      other.#inbox.push(text);
      other.#inboxCharacters += text.length;
    }
    other.#wake();
  }

  /** Stops reading, like a peer that hangs. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#resumeSends();
  }

  probe(): void {
    this.probes++;
  }

  close(): void {
    this.#end({ type: "closedByUs" });
    this.#other!.#end({ type: "peerClosed" });
  }

  #end(end: LinkEnd): void {
    this.#ended ??= end;
    this.#wake();
    this.release();
    this.#other!.#resumeSends();
  }

  get #isFull(): boolean {
    return this.#isHeld || this.#inboxCharacters >= INBOX_CHARACTERS;
  }

  #resumeSends(): void {
    for (const resume of this.#waitingSends.splice(0)) resume();
  }
}
