/** The way of notifications and output to a connection's peer, as methods and a session's resources see it. */

import type { Audience } from "../process/session/audience.ts";
import type { InitializeParams } from "../protocol/handshake.ts";
import type { NotificationName, NotificationTypes } from "../protocol/method_types.ts";
import { encodeNotification } from "../rpc/envelope.ts";
import type { OutboundMessage } from "../rpc/link.ts";
import type { OutboundQueue } from "../rpc/outbound_queue.ts";
import type { Outlet } from "./call_context.ts";

/** A class, since every connection has one: an object of closures takes four times the memory. */
export class ConnectionOutlet implements Outlet {
  readonly #outbound: OutboundQueue;
  readonly wants: ReadonlySet<string>;
  readonly audience: Audience;

  constructor(outbound: OutboundQueue, { wants, audience }: Pick<Outlet, "wants" | "audience">) {
    this.#outbound = outbound;
    this.wants = wants;
    this.audience = audience;
  }

  notify<Name extends NotificationName>(method: Name, params: NotificationTypes[Name]): void {
    this.#outbound.pushReply(encodeNotification(method, params));
  }

  output(message: OutboundMessage): void {
    this.#outbound.pushOutput(message);
  }

  get hasRoom(): boolean {
    return this.#outbound.hasRoom;
  }
}

const NO_WISHES: ReadonlySet<string> = new Set();

/** What a client asked for beyond what every client gets. */
export function wishesOf({ notifications, optionalFields }: InitializeParams): ReadonlySet<string> {
  const wishes = [...notifications ?? [], ...optionalFields ?? []];
  return wishes.length === 0 ? NO_WISHES : new Set(wishes);
}
