/**
 * Websockets over a unix socket, by the runtime's own sockets: the library's way for all runtimes loads `node:net`, which
 * a command that ends in a few milliseconds would pay for.
 */

import { systemClock } from "../../../clock.ts";
import { abortedBy, ConnectionRefusedError } from "../../../client/errors.ts";
import type { OpenOptions, Transport, TransportLink } from "../../../client/link/transport.ts";
import { upgradeToWebSocket } from "../../../client/link/web_socket_upgrade.ts";
import { WebSocketLink } from "../../../transport/websocket_link.ts";

/** The server pings as well; the session's heartbeat is quicker than both. */
const PING_INTERVAL_MS = 30_000;

/** See the head of the module. */
export class UnixTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.name = `unix:${path}`;
  }

  /** See {@linkcode Transport.open}. */
  async open({ token, signal }: OpenOptions): Promise<TransportLink> {
    const attempted = `cannot connect to ${this.name}`;
    if (signal.aborted) throw abortedBy(signal, attempted);
    let socket: Deno.UnixConn;
    try {
      socket = await Deno.connect({ transport: "unix", path: this.#path });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ConnectionRefusedError(`${attempted}: ${reason}`, { cause: error });
    }
    const abort = () => socket.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const place = { name: this.name, host: "localhost", path: "/", headers: {}, token };
      const initialBytes = await upgradeToWebSocket(socket, place);
      return new WebSocketLink(socket, {
        clock: systemClock,
        pingIntervalMs: PING_INTERVAL_MS,
        role: "client",
        initialBytes,
      });
    } catch (error) {
      if (signal.aborted) throw abortedBy(signal, attempted);
      socket.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
