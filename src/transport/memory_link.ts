/** Two links joined in memory, for tests of everything above the socket. Carries back-pressure like a real one. */

import type { InboundMessage, Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import { wholeText } from "../rpc/whole_text.ts";

/** One end of a `memoryLinkPair`. */
export class MemoryLink implements Link {
  #inbox: InboundMessage[] = [];
  #other: MemoryLink | null = null;
  #ended: LinkEnd | null = null;
  #wake: () => void = () => {};
  #isHeld = false;
  #heldSends: (() => void)[] = [];
  /** Probes asked for, so that tests can see them. */
  probes = 0;

  static pair(): [MemoryLink, MemoryLink] {
    const a = new MemoryLink();
    const b = new MemoryLink();
    a.#other = b;
    b.#other = a;
    return [a, b];
  }

  async receive(receiver: (message: InboundMessage) => void | Promise<void>): Promise<LinkEnd> {
    for (;;) {
      if (this.#inbox.length > 0) await receiver(this.#inbox.shift()!);
      else if (this.#ended !== null) return this.#ended;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async send(messages: readonly OutboundMessage[]): Promise<void> {
    const other = this.#other!;
    if (this.#ended !== null || other.#ended !== null) throw new Error("connection is closed");
    while (other.#isHeld && this.#ended === null) await new Promise<void>((resolve) => other.#heldSends.push(resolve));
    if (this.#ended !== null) throw new Error("connection is closed");
    for (const message of messages) other.#inbox.push(await wholeText(message));
    other.#wake();
  }

  /** Stops taking what the other side sends, like a peer that does not read. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const resume of this.#heldSends.splice(0)) resume();
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
    for (const resume of this.#other!.#heldSends.splice(0)) resume();
  }
}
