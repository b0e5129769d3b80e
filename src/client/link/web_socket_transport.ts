/**
 * Opens websockets. The token is sent in a header, or, in browsers, among the subprotocols. A `WebSocket` does not say
 * why an upgrade was refused, so this asks `GET /session-check`.
 */

import { messageOf } from "../../errors.ts";
import type { Link } from "../../rpc/link.ts";
import { encodeBase64 } from "../base64.ts";
import { abortedBy, ConnectionRefusedError, UnauthorisedError } from "../errors.ts";
import { StandardSocketLink, type WebSocketLike } from "./standard_socket_link.ts";
import type { OpenOptions, Transport } from "./transport.ts";
import { withoutToken } from "./url_token.ts";

/**
 * Makes a socket: `WebSocket` itself, or one of a package with the same interface.
 *
 * ```ts
 * class OwnWebSocket extends WebSocket {} // Or the one of a package.
 * const constructor: WebSocketConstructor = OwnWebSocket;
 * await using own = await connect("ws://127.0.0.1:9000", { WebSocket: constructor });
 * ```
 */
export type WebSocketConstructor = new (url: string, options?: never) => WebSocketLike;

/** How sockets are made. */
export interface WebSocketOptions {
  /** Sent with the upgrade. Not in browsers, which send none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** In place of the runtime's own. Called as `new WebSocket(url, { headers })` where there are headers to send. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /**
   * Where the token is sent. `subprotocol` is for runtimes that send no headers, and the default in browsers. The
   * server must be started with `--allow-origin` for it.
   */
  readonly tokenIn?: "header" | "subprotocol" | undefined;
}

/** The subprotocol of this server. It is offered if the token is sent among the subprotocols. */
const PROTOCOL = "exec-server.v1";
const BEARER_PROTOCOL = "exec-server.bearer.";

/** How long finding out why a connection failed may take. */
const CHECK_LIMIT_MS = 5_000;

/** See the head of the module. */
export class WebSocketTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #url: URL;
  readonly #options: WebSocketOptions;
  readonly #tokenIn: "header" | "subprotocol";

  /** The URL may hold the token as the server printed it: `?token=…`. */
  constructor(url: URL, options: WebSocketOptions = {}) {
    this.#url = url;
    this.name = withoutToken(url.href);
    this.#options = options;
    this.#tokenIn = options.tokenIn ?? (isBrowser() ? "subprotocol" : "header");
  }

  /** See {@linkcode Transport.open}. */
  async open({ token, signal }: OpenOptions): Promise<Link> {
    if (signal.aborted) throw abortedBy(signal, `cannot connect to ${this.name}`);
    let socket: WebSocketLike;
    try {
      socket = this.#socket(token);
    } catch (error) {
      throw new ConnectionRefusedError(`cannot connect to ${this.name}: ${messageOf(error)}`, { cause: error });
    }
    socket.binaryType = "arraybuffer";
    const failure = await opened(socket, signal);
    if (failure === null) return new StandardSocketLink(socket);
    if (signal.aborted) throw abortedBy(signal, `cannot connect to ${this.name}`);
    throw await this.#whyRefused(token, withoutToken(failure));
  }

  #socket(token: string | null): WebSocketLike {
    const WebSocket = this.#options.WebSocket ?? globalThis.WebSocket as unknown as WebSocketConstructor | undefined;
    if (WebSocket === undefined) throw new Error("this runtime has no WebSocket; give one as the option `WebSocket`");
    if (this.#tokenIn === "subprotocol") {
      const protocols = token === null ? [] : [PROTOCOL, BEARER_PROTOCOL + base64Url(token)];
      return protocols.length === 0 ? new WebSocket(this.#url.href) : new WebSocket(this.#url.href, protocols as never);
    }
    const headers = this.#headers(token);
    if (Object.keys(headers).length === 0) return new WebSocket(this.#url.href);
    return new WebSocket(this.#url.href, { headers } as never);
  }

  #headers(token: string | null): Record<string, string> {
    return { ...this.#options.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
  }

  /** Why the server refused, as it says over plain HTTP, or else what the socket said. */
  async #whyRefused(token: string | null, failure: string): Promise<Error> {
    const attempted = `cannot connect to ${this.name}`;
    const url = new URL(this.#url);
    url.protocol = url.protocol === "wss:" ? "https:" : "http:";
    url.pathname = "/session-check";
    try {
      const answer = await fetch(url, { headers: this.#headers(token), signal: AbortSignal.timeout(CHECK_LIMIT_MS) });
      const text = (await answer.text()).trim();
      if (answer.status === 401) return new UnauthorisedError(`${attempted}: ${text || "401 Unauthorized"}`);
      if (answer.status === 403) {
        return new ConnectionRefusedError(
          `${attempted}: ${text || "the server does not take requests from this origin"}`,
        );
      }
    } catch {
      // The server cannot be asked, so only the socket's words are left.
    }
    if (/\b401\b/.test(failure)) return new UnauthorisedError(`${attempted}: ${failure}`);
    return new ConnectionRefusedError(`${attempted}: ${failure}`);
  }
}

/** Null once it is open, or else why it is not. */
function opened(socket: WebSocketLike, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    let failure = "the server cannot be reached, or refused the connection";
    const abort = () => {
      resolve("aborted");
      try {
        socket.close();
      } catch {
        // Some implementations cannot close a socket that is not open yet.
      }
    };
    const settle = (outcome: string | null) => {
      signal.removeEventListener("abort", abort);
      resolve(outcome);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.onopen = () => settle(null);
    socket.onerror = (event: Event) => {
      const { message, error } = event as Event & { message?: string; error?: unknown };
      if (message) failure = message;
      else if (error) failure = messageOf(error);
    };
    socket.onclose = ({ reason }: CloseEvent) => settle(reason || failure);
  });
}

function isBrowser(): boolean {
  const { document, WorkerGlobalScope, process, Deno } = globalThis as unknown as Record<string, unknown>;
  return (document !== undefined || WorkerGlobalScope !== undefined) && process === undefined && Deno === undefined;
}

function base64Url(text: string): string {
  return encodeBase64(new TextEncoder().encode(text)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
