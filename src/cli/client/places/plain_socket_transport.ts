/**
 * Websockets over a unix socket, or over TCP to an address, with Deno's sockets. The library's own way, which works in
 * all runtimes, loads `node:net`, and that takes long for a command of a few milliseconds. Deno's `WebSocket` joins
 * small packets, so that a request waits 40 ms behind another, and does not show why an upgrade was refused.
 */

import { systemClock } from "../../../clock.ts";
import { abortedBy, ConnectionRefusedError } from "../../../client/errors.ts";
import {
  MAX_INBOUND_BYTES,
  type OpenOptions,
  type Transport,
  type TransportLink,
} from "../../../client/link/transport.ts";
import { withoutToken } from "../../../client/link/url_token.ts";
import { upgradeToWebSocket } from "../../../client/link/web_socket_upgrade.ts";
import { messageOf } from "../../../errors.ts";
import { parseIpAddress } from "../../../transport/listen/ip_address.ts";
import { WebSocketLink } from "../../../transport/websocket/websocket_link.ts";

/** The server pings, too, and the session's heartbeat is quicker than both. */
const PING_INTERVAL_MS = 30_000;

/** Where a socket leads, and the request that opens the websocket. */
interface Endpoint {
  readonly name: string;
  readonly host: string;
  readonly path: string;
  dial(): Promise<Deno.Conn>;
}

/** See the head of the module. */
export class PlainSocketTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #endpoint: Endpoint;

  private constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
    this.name = endpoint.name;
  }

  static toUnixSocket(path: string): PlainSocketTransport {
    const dial = () => Deno.connect({ transport: "unix", path });
    return new PlainSocketTransport({ name: `unix:${path}`, host: "localhost", path: "/", dial });
  }

  /** Null if it takes more than a socket: TLS, or a name with several addresses, which have to be tried. */
  static toUrl(url: URL): PlainSocketTransport | null {
    const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (url.protocol !== "ws:" || parseIpAddress(hostname) === null) return null;
    const dial = async () => {
      const socket = await Deno.connect({ hostname, port: url.port === "" ? 80 : Number(url.port) });
      socket.setNoDelay(true);
      return socket;
    };
    return new PlainSocketTransport({
      name: withoutToken(url.href),
      host: url.host,
      path: `${url.pathname}${url.search}`,
      dial,
    });
  }

  /** See {@linkcode Transport.open}. */
  async open({ token, signal }: OpenOptions): Promise<TransportLink> {
    const attempted = `cannot connect to ${this.name}`;
    if (signal.aborted) throw abortedBy(signal, attempted);
    const { name, host, path, dial } = this.#endpoint;
    let socket: Deno.Conn;
    try {
      socket = await dial();
    } catch (error) {
      const reason = messageOf(error);
      throw new ConnectionRefusedError(`${attempted}: ${reason}`, { cause: error });
    }
    if (signal.aborted) {
      socket.close();
      throw abortedBy(signal, attempted);
    }
    const abort = () => socket.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const initialBytes = await upgradeToWebSocket(socket, { name, host, path, headers: {}, token });
      return new WebSocketLink(socket, {
        clock: systemClock,
        pingIntervalMs: PING_INTERVAL_MS,
        role: "client",
        initialBytes,
        maxFrameBytes: MAX_INBOUND_BYTES,
        maxMessageBytes: MAX_INBOUND_BYTES,
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
