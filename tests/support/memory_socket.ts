/** Two websockets of raw messages, joined in memory. A side that is held does not take what the other sends. */

import type { LinkEnd } from "../../src/rpc/link.ts";
import type { RawSocket } from "../../src/remote/relay/relay_socket.ts";

interface Raw {
  readonly isText: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export class MemorySocket implements RawSocket {
  #inbox: Raw[] = [];
  #other: MemorySocket | null = null;
  #wake: () => void = () => {};
  #end: LinkEnd | null = null;
  #held: PromiseWithResolvers<void> | null = null;

  static pair(): [MemorySocket, MemorySocket] {
    const [one, other] = [new MemorySocket(), new MemorySocket()];
    [one.#other, other.#other] = [other, one];
    return [one, other];
  }

  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  async receive(receiver: (message: Raw) => void | Promise<void>): Promise<LinkEnd> {
    for (;;) {
      const next = this.#inbox.shift();
      if (next !== undefined) await receiver(next);
      else if (this.#end !== null) return this.#end;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async send(messages: readonly Raw[]): Promise<void> {
    await this.#other!.#held?.promise;
    if (this.#end !== null) throw new Error("connection is closed");
    this.#other!.#inbox.push(...messages);
    this.#other!.#wake();
  }

  probe(): void {}

  close(): void {
    this.#finish({ type: "closedByUs" });
    this.#other!.#finish({ type: "peerClosed" });
  }

  #finish(end: LinkEnd): void {
    this.#end ??= end;
    this.release();
    this.#wake();
  }
}
