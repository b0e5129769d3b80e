/**
 * Websockets over sockets of `node:net` and `node:tls`, with the same code for frames as the server. They are used for
 * unix sockets, which no runtime's own `WebSocket` reaches. They are also used in Node and Deno, because they are
 * faster: Node's own takes four times as long to send, Deno's a tenth longer to receive, and neither shows why an
 * upgrade was refused. Loaded only when it is needed.
 */

import { connect as connectSocket, isIP, type Socket } from "node:net";
import { systemClock } from "../../clock.ts";
import type { Link } from "../../rpc/link.ts";
import { abortedBy, ConnectionRefusedError } from "../errors.ts";
import { NodeByteStream, READ_BYTES } from "./node_byte_stream.ts";
import { NodeWebSocketLink } from "./node_web_socket_link.ts";
import type { OpenOptions, Transport } from "./transport.ts";
import { withoutToken } from "./url_token.ts";
import { upgradeToWebSocket } from "./web_socket_upgrade.ts";

/** The server pings, too, and the session's heartbeat is quicker than both. */
const PING_INTERVAL_MS = 30_000;

type ReadOptions = NodeByteStream["readOptions"];

/** Where a socket leads, and the request that opens the websocket. */
interface Place {
  readonly name: string;
  readonly host: string;
  readonly path: string;
  /** Begins to connect; `event` is emitted when that has succeeded. */
  dial(options: ReadOptions): Promise<{ socket: Socket; event: "connect" | "secureConnect" }>;
}

/** See the head of the module. */
export class NodeSocketTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #place: Place;
  readonly #headers: Readonly<Record<string, string>>;

  /** The address is a URL of a websocket, or `unix:` and a path. */
  constructor(address: URL | string, headers: Readonly<Record<string, string>> = {}) {
    this.#place = typeof address === "string" ? unixPlace(address) : tcpPlace(address);
    this.name = this.#place.name;
    this.#headers = headers;
  }

  /** See {@linkcode Transport.open}. */
  async open({ token, signal }: OpenOptions): Promise<Link> {
    const attempted = `cannot connect to ${this.name}`;
    const stream = new NodeByteStream();
    stream.attach(await this.#dial(stream.readOptions, signal));
    const abort = () => stream.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const { name, host, path } = this.#place;
      const initialBytes = await upgradeToWebSocket(stream, { name, host, path, headers: this.#headers, token });
      signal.throwIfAborted();
      return new NodeWebSocketLink(stream, {
        clock: systemClock,
        pingIntervalMs: PING_INTERVAL_MS,
        role: "client",
        initialBytes,
        streamReadBytes: READ_BYTES,
      });
    } catch (error) {
      stream.close();
      if (signal.aborted) throw abortedBy(signal, attempted);
      if (error instanceof ConnectionRefusedError || !isSystemError(error)) throw error;
      throw new ConnectionRefusedError(`${attempted}: ${error.message}`, { cause: error });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async #dial(options: ReadOptions, signal: AbortSignal): Promise<Socket> {
    const attempted = `cannot connect to ${this.name}`;
    if (signal.aborted) throw abortedBy(signal, attempted);
    const { socket, event } = await this.#place.dial(options);
    return await new Promise((resolve, reject) => {
      const settle = () => {
        signal.removeEventListener("abort", abort);
        socket.removeListener(event, done);
        socket.removeListener("error", fail);
      };
      const abort = () => {
        settle();
        // A socket that was destroyed may still report an error.
        socket.on("error", () => {});
        socket.destroy();
        reject(abortedBy(signal, attempted));
      };
      const done = () => {
        settle();
        socket.setNoDelay(true);
        resolve(socket);
      };
      const fail = (error: Error) => {
        settle();
        reject(new ConnectionRefusedError(`${attempted}: ${error.message || String(error)}`, { cause: error }));
      };
      signal.addEventListener("abort", abort, { once: true });
      socket.once(event, done);
      socket.once("error", fail);
      if (signal.aborted) abort();
    });
  }
}

function unixPlace(address: string): Place {
  const path = address.replace(/^unix:(?:\/\/(?=\/))?/, "");
  const name = `unix:${path}`;
  if (!path.startsWith("/")) {
    throw new ConnectionRefusedError(`cannot connect to ${name}: the path of a unix socket must be absolute`);
  }
  const dial = (options: ReadOptions) => {
    return Promise.resolve({ socket: connectSocket({ path, ...options }), event: "connect" } as const);
  };
  return { name, host: "localhost", path: "/", dial };
}

function tcpPlace(url: URL): Place {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isSecure = url.protocol === "wss:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  const dial = async (options: ReadOptions) => {
    if (!isSecure) return { socket: connectSocket({ host, port, ...options }), event: "connect" } as const;
    const { connect: connectSecurely } = await import("node:tls");
    const servername = isIP(host) === 0 ? { servername: host } : {};
    // The types leave out that it takes `onread` as well.
    const secureOptions = { host, port, ...options, ALPNProtocols: ["http/1.1"], ...servername };
    return { socket: connectSecurely(secureOptions), event: "secureConnect" } as const;
  };
  return { name: withoutToken(url.href), host: url.host, path: `${url.pathname}${url.search}`, dial };
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
