/**
 * The seed form: plain JSON-RPC, and a websocket for each client. Each websocket has its own registration.
 *
 * If the rendezvous says `spareConnections`, that many unused websockets are kept open. Otherwise there is one
 * websocket at a time, as in the reference.
 */

import type { InboundMessage, Link, LinkEnd } from "../../rpc/link.ts";
import { WebSocketLink } from "../../transport/websocket/websocket_link.ts";
import { DEFAULT_NAME } from "../registry/registry_client.ts";
import { originOf } from "../registry/registry_url.ts";
import type { Backoff } from "./backoff.ts";
import { idempotencyId } from "./idempotency_id.ts";
import { RemoteSource, type RemoteSourceOptions } from "./remote_source.ts";

export interface PlainSourceOptions extends RemoteSourceOptions {
  readonly name?: string;
}

/** How many clients and waiting websockets there may be. Each takes a descriptor, and a session with processes. */
const MAX_WEBSOCKETS = 256;

export class PlainSource extends RemoteSource {
  readonly #name: string;
  readonly #idempotencyId: Promise<string>;
  readonly #links = new Set<WebSocketLink>();
  /** Slots that have a websocket or are getting one, and those of them whose websocket has a client. */
  readonly #slots = new Set<Promise<void>>();
  #usedSlots = 0;
  #slotCount = 0;
  /** Null until the rendezvous has said how many it wants. Until then there is one websocket. */
  #spareConnections: number | null = null;
  readonly #failed = Promise.withResolvers<never>();

  constructor(options: PlainSourceOptions) {
    super("executor", options);
    this.#name = options.name ?? DEFAULT_NAME;
    this.#idempotencyId = idempotencyId(this.id, this.#name);
  }

  protected override async serveAll(): Promise<void> {
    this.#fillUp();
    await Promise.race([this.#allSlots(), this.#failed.promise]);
  }

  async #allSlots(): Promise<void> {
    while (this.#slots.size > 0) await Promise.all(this.#slots);
  }

  protected override dropSockets(): void {
    for (const link of this.#links) link.close({ cause: "done", reason: "the server is shutting down" });
  }

  /** Opens as many slots as are missing. */
  #fillUp(): void {
    while (this.#isSlotMissing()) {
      this.#slotCount++;
      const slot = this.#runSlot().catch(this.#failed.reject).finally(() => {
        this.#slotCount--;
        this.#slots.delete(slot);
      });
      this.#slots.add(slot);
    }
  }

  #isSlotMissing(): boolean {
    if (this.closing.signal.aborted || this.#slotCount >= MAX_WEBSOCKETS) return false;
    const wanted = this.#spareConnections === null ? 1 : this.#usedSlots + this.#spareConnections;
    return this.#slotCount < wanted;
  }

  #isSlotSuperfluous(): boolean {
    return this.#slotCount > (this.#spareConnections === null ? 1 : this.#usedSlots + this.#spareConnections);
  }

  /** One websocket after another. */
  async #runSlot(): Promise<void> {
    const backoff = this.newBackoff();
    while (!this.closing.signal.aborted && !this.#isSlotSuperfluous()) {
      let wasUsed = false;
      try {
        wasUsed = await this.#serveOne(backoff);
      } catch (error) {
        this.noteFailure(error);
      }
      // The next client may be waiting already.
      if (!wasUsed) await this.pause(backoff);
    }
  }

  /** Registers, dials, and serves clients. Returns whether one came. */
  async #serveOne(backoff: Backoff): Promise<boolean> {
    const { signal } = this.closing;
    const registration = await this.registry.registerPlain(await this.#idempotencyId, this.#name, signal);
    this.#spareConnections = registration.spareConnections;
    this.#fillUp();
    const { stream, initialBytes } = await this.dial(registration.url);
    const link = new WebSocketLink(stream, this.socketOptions(initialBytes));
    this.#links.add(link);
    this.states.connected({
      rendezvous: originOf(registration.url),
      executor: this.id,
      registration: registration.registrationId,
    });
    const cancel = this.countSuccess(backoff);
    let isUsed = false;
    const announced = new FirstMessageLink(link, () => {
      isUsed = true;
      backoff.reset();
      this.#usedSlots++;
      this.#fillUp();
    });
    try {
      await this.serve(announced, { remote: originOf(registration.url), requestId: null });
      // A websocket ends with its client, so nothing is lost.
      if (!isUsed && !signal.aborted) this.states.lost("it ended the connection");
      return isUsed;
    } finally {
      if (isUsed) this.#usedSlots--;
      cancel();
      this.#links.delete(link);
    }
  }
}

/** A link that reports its first message: then it has a client. */
class FirstMessageLink implements Link {
  readonly #link: Link;
  readonly #onFirstMessage: () => void;

  constructor(link: Link, onFirstMessage: () => void) {
    this.#link = link;
    this.#onFirstMessage = onFirstMessage;
  }

  receive(
    receiver: (message: InboundMessage) => void | Promise<void>,
    onEnd?: () => void,
    onPeerClosing?: () => void | Promise<void>,
  ): Promise<LinkEnd> {
    let isFirst = true;
    return this.#link.receive(
      (message) => {
        if (isFirst) this.#onFirstMessage();
        isFirst = false;
        return receiver(message);
      },
      onEnd,
      onPeerClosing,
    );
  }

  send(...args: Parameters<Link["send"]>): Promise<void> {
    return this.#link.send(...args);
  }

  probe(withinMs: number): void {
    this.#link.probe(withinMs);
  }

  close(...args: Parameters<Link["close"]>): void {
    this.#link.close(...args);
  }
}
