/** Checks what a user says about the connection, connects, and opens a session. */

import { Devbox } from "./devbox.ts";
import { type Duration, milliseconds } from "./duration.ts";
import { ConnectionRefusedError } from "./errors.ts";
import type { CommandAddress } from "./link/command_transport.ts";
import type { RendezvousAddress } from "./link/rendezvous_transport.ts";
import type { Transport } from "./link/transport.ts";
import { type WebSocketConstructor, WebSocketTransport } from "./link/web_socket_transport.ts";
import type { ConnectionState } from "./session/connection_state.ts";
import { Session } from "./session/session.ts";

/**
 * Where a server is: a URL, a command that leads to it, an executor behind a rendezvous, or a transport of one's own.
 *
 * ```ts
 * const places: Address[] = ["ws://127.0.0.1:9000", "unix:/run/exec-server.sock", { command: ["ssh", "host", "exec-server", "--listen", "stdio"] }];
 * await using first = await connect(places[0]!);
 * ```
 */
export type Address = string | URL | CommandAddress | RendezvousAddress | Transport;

/**
 * A token, or a function that gives one; it is asked again for every connection.
 *
 * ```ts
 * const token: TokenSource = async () => (await box.fs.readTextFile("/run/token")).trim();
 * await using other = await connect("wss://other.example.com", { token });
 * ```
 */
export type TokenSource = string | (() => string | Promise<string>);

/**
 * How to connect, and what to do when the connection is lost.
 *
 * ```ts
 * const options: ConnectOptions = { token: "…", detachTtl: "1h", onConnectionChange: (state) => console.log(state) };
 * await using own = await connect("wss://box.example.com", options);
 * ```
 */
export interface ConnectOptions {
  /** The name of this client in the server's log. */
  readonly clientName?: string | undefined;
  /** The bearer token, where the server asks for one. It may also be in the URL, as the server prints it. */
  readonly token?: TokenSource | undefined;
  /** Sent with the upgrade to a websocket. Browsers send none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gives up connecting. A box that is connected is closed with `close`. */
  readonly signal?: AbortSignal | undefined;
  /** In place of the runtime's own. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /**
   * Where the token is sent: in a header, or among the subprotocols. The latter is the default in browsers, which send
   * no headers.
   */
  readonly tokenIn?: "header" | "subprotocol" | undefined;
  /** Resumes a session whose client was lost, such as an earlier run of this program. */
  readonly resumeSessionId?: string | undefined;
  /**
   * How long the session and its processes wait for this client when the connection is lost: `"1h"`. The server has a
   * largest value; without this it has its own, usually 30 s.
   */
  readonly detachTtl?: Duration | undefined;
  /** How long one attempt to connect may take. 10 s unless given. */
  readonly attemptTimeout?: Duration | undefined;
  /** How long the server may be silent before it is asked for a sign of life. 15 s unless given. */
  readonly heartbeat?: Duration | undefined;
  /** How long the server may take to answer that before the connection counts as lost. 15 s unless given. */
  readonly heartbeatTimeout?: Duration | undefined;
  /** The longest wait between two attempts to connect again. 5 s unless given. */
  readonly maxBackOff?: Duration | undefined;
  /** Called when the connection is lost, is back, or is over. */
  readonly onConnectionChange?: ((state: ConnectionState) => void) | undefined;
}

const DEFAULT_ATTEMPT_MS = 10_000;
const DEFAULT_HEARTBEAT_MS = 15_000;
const DEFAULT_MAX_BACK_OFF_MS = 5_000;
const FIRST_BACK_OFF_MS = 100;

/**
 * Connects to a server and opens a session.
 *
 * ```ts
 * import { connect } from "exec-server/client";
 *
 * await using box = await connect("ws://127.0.0.1:9000");
 * console.log(await box.$`uname -a`.text());
 * ```
 *
 * The address is a URL (`ws:`, `wss:`, or `unix:` and the path of a socket), a command that leads to a server over its
 * standard input and output, `{ rendezvous, executor }` for one that dials out, or a transport of one's own.
 *
 * @throws {ConnectionRefusedError} when the server cannot be reached or does not let this client in
 * @throws {UnauthorisedError} when it asks for another token
 */
export async function connect(address: Address, options: ConnectOptions = {}): Promise<Devbox> {
  return new Devbox(await openSession(address, options));
}

/** For this library: the session for a box that is about to be made. */
export async function openSession(address: Address, options: ConnectOptions): Promise<Session> {
  const transport = await transportOf(address, options);
  const session = await Session.open(
    {
      transport,
      clientName: options.clientName ?? "exec-server-client",
      token: tokenReader(options.token),
      resumeSessionId: options.resumeSessionId ?? null,
      detachTtlMs: optional(options.detachTtl, "detachTtl"),
      attemptTimeoutMs: optional(options.attemptTimeout, "attemptTimeout") ?? DEFAULT_ATTEMPT_MS,
      heartbeatMs: optional(options.heartbeat, "heartbeat") ?? DEFAULT_HEARTBEAT_MS,
      heartbeatTimeoutMs: optional(options.heartbeatTimeout, "heartbeatTimeout") ?? DEFAULT_HEARTBEAT_MS,
      backOff: {
        firstMs: FIRST_BACK_OFF_MS,
        maxMs: optional(options.maxBackOff, "maxBackOff") ?? DEFAULT_MAX_BACK_OFF_MS,
      },
    },
    options.signal,
  );
  if (options.onConnectionChange !== undefined) session.onStateChange(options.onConnectionChange);
  return session;
}

async function transportOf(address: Address, options: ConnectOptions): Promise<Transport> {
  if (typeof address === "object" && "open" in address) return address;
  if (typeof address === "object" && "command" in address) {
    const { CommandTransport } = await import("./link/command_transport.ts");
    return new CommandTransport(address);
  }
  if (typeof address === "object" && "rendezvous" in address) {
    const { RendezvousTransport } = await import("./link/rendezvous_transport.ts");
    return new RendezvousTransport(address, { WebSocket: options.WebSocket });
  }
  const text = String(address);
  if (text.startsWith("unix:")) {
    const { NodeSocketTransport } = await import("./link/node_socket_transport.ts");
    return new NodeSocketTransport(text, options.headers);
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new ConnectionRefusedError(`cannot connect to ${JSON.stringify(text)}: it is not a URL`, { cause: error });
  }
  if (url.protocol === "http:") url.protocol = "ws:";
  if (url.protocol === "https:") url.protocol = "wss:";
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new ConnectionRefusedError(`cannot connect to ${url.protocol}//…: the URL must be ws:, wss: or unix:`);
  }
  if (options.WebSocket === undefined && options.tokenIn !== "subprotocol" && hasOwnSocket(url)) {
    const { NodeSocketTransport } = await import("./link/node_socket_transport.ts");
    return new NodeSocketTransport(url, options.headers);
  }
  return new WebSocketTransport(url, {
    headers: options.headers,
    WebSocket: options.WebSocket,
    tokenIn: options.tokenIn,
  });
}

/**
 * Whether to use our own websocket. In Node always. In Deno only without TLS, because its `node:tls` does not know the
 * authorities that Deno was told to trust. Bun's own is fast, and browsers allow no other.
 */
function hasOwnSocket(url: URL): boolean {
  const { process } = globalThis as { process?: { versions?: Record<string, string | undefined> } };
  const { node, bun, deno } = process?.versions ?? {};
  return node !== undefined && bun === undefined && (deno === undefined || url.protocol === "ws:");
}

function tokenReader(token: TokenSource | undefined): () => string | null | Promise<string | null> {
  if (typeof token === "function") return token;
  return () => token ?? null;
}

function optional(duration: Duration | undefined, what: string): number | null {
  return duration === undefined ? null : milliseconds(duration, what);
}
