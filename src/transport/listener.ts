/**
 * The exec port: turns the websocket upgrades of a door into links.
 *
 * The rules (routes, Origin, Host, authentication) are in `upgrade.ts`, the door itself in `door.ts`.
 */

import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { sharedPacer } from "../os/loop/pacer.ts";
import type { Authenticator } from "./door/auth.ts";
import { Door, type DoorRequest, type UpgradedStream } from "./door/door.ts";
import type { HttpResponse } from "./door/http_response.ts";
import { isLoopbackAddress, parseIpAddress } from "./listen/ip_address.ts";
import { type LinkSource, serveAdmitted, type ServeLink } from "./link_source.ts";
import type { ListenerAddress } from "./listen/listen_bind.ts";
import { LocalUsers } from "./door/local_users.ts";
import type { SecureLayer } from "./tls/secure_layer.ts";
import type { AcceptedStream } from "./listen/stream_source.ts";
import { type AcceptedUpgrade, decideUpgrade } from "./door/upgrade.ts";
import { WebSocketLink } from "./websocket/websocket_link.ts";

export type { ListenerAddress };

export interface ListenerOptions {
  address: ListenerAddress;
  clock: Clock;
  log: Logger;
  /** Null lets everybody in. */
  authenticator: Authenticator | null;
  /**
   * Whether every user of this machine is served if there is no authenticator. Otherwise only the server's own user and
   * root are.
   */
  allowOtherUsers: boolean;
  /** Web pages of these origins may connect. Default: none. */
  allowedOrigins?: readonly string[];
  /** Null: connections are not encrypted. */
  tls: SecureLayer | null;
  pingIntervalMs: number;
}

/** Why the peer is not one of the served users; null when it is one, or that does not matter. */
type ForeignPeer = string | null;

export class Listener implements LinkSource {
  readonly #options: ListenerOptions;
  readonly #door: Door<ForeignPeer, AcceptedUpgrade>;
  /** Undefined until the first connection, or `warmUp`. */
  #localUsers: LocalUsers | null | undefined;

  private constructor(door: Door<ForeignPeer, AcceptedUpgrade>, options: ListenerOptions) {
    this.#door = door;
    this.#options = options;
  }

  /** Binds the address; rejects with a `ListenError` when that is not possible. */
  static async open(options: ListenerOptions): Promise<Listener> {
    return new Listener(await Door.open(options), options);
  }

  get url(): string {
    return this.#door.url;
  }

  /** Accepts until `close`. */
  run(onLink: ServeLink): Promise<void> {
    return this.#door.run({
      // Must be asked now: see `local_users.ts`.
      inspect: (stream: AcceptedStream) => this.#users()?.refuse(stream) ?? null,
      answer: (request) => this.#decide(request),
      serve: (upgraded) => this.#serve(upgraded, onLink),
      abandon: (upgrade) => upgrade.admission?.release(),
    });
  }

  /** Prepares what the first connection would otherwise wait for. */
  warmUp(): void {
    if (!this.#door.isClosed) this.#users();
  }

  /** Stops accepting. Open connections stay until they end or `dropAll`. */
  close(): void {
    this.#door.close();
  }

  /** Drops every open socket and waits until all connections have ended. */
  async dropAll(): Promise<void> {
    await this.#door.dropAll();
    this.#localUsers?.close();
  }

  #users(): LocalUsers | null {
    return this.#localUsers === undefined ? this.#localUsers = openLocalUsers(this.#options) : this.#localUsers;
  }

  #decide({ head, inspection }: DoorRequest<ForeignPeer>): Promise<HttpResponse | AcceptedUpgrade> {
    const { authenticator, address, allowedOrigins = [] } = this.#options;
    const isLoopbackListener = address.type === "tcp" && isLoopbackAddress(address.hostname);
    return decideUpgrade(head, { authenticator, isLoopbackListener, foreignPeer: inspection, allowedOrigins });
  }

  #serve(
    { id, stream, upgrade, initialBytes, remote }: UpgradedStream<AcceptedUpgrade>,
    onLink: ServeLink,
  ): Promise<void> {
    const { clock, pingIntervalMs } = this.#options;
    const turn = () => sharedPacer().turn();
    const link = new WebSocketLink(stream, { clock, pingIntervalMs, initialBytes, turn });
    return serveAdmitted(link, { id, remote, requestId: upgrade.requestId }, { admission: upgrade.admission, onLink });
  }
}

/** Null: users are not checked, because all may connect, all need a token, or peers are on other machines. */
export function openLocalUsers(
  { address, authenticator, allowOtherUsers, log }: Pick<
    ListenerOptions,
    "address" | "authenticator" | "allowOtherUsers" | "log"
  >,
): LocalUsers | null {
  if (address.type !== "tcp" || authenticator !== null || allowOtherUsers) return null;
  if (!isLoopbackAddress(address.hostname)) return null;
  try {
    return LocalUsers.open(parseIpAddress(address.hostname)!);
  } catch (error) {
    const reason = messageOf(error);
    log.warn("cannot tell which user connects: every user of this machine is served; use --ws-auth", { reason });
    return null;
  }
}
