/**
 * Opens a websocket as a client over TCP, TLS or a unix socket, through the environment's proxy where there is one.
 * Returns the bare connection after the upgrade. `WebSocketLink` and `MessageSocket` turn it into one of messages, with
 * real back-pressure.
 *
 * Like the reference, this does not follow redirects. URLs are credentials here, so no message contains one.
 */

import type { Clock } from "../../clock.ts";
import { ByteReader } from "../../http/byte_reader.ts";
import type { Dialer } from "../../http/dialer.ts";
import { parseResponseHead, type ResponseHead } from "../../http/response_head.ts";
import { Socket } from "../../http/socket.ts";
import type { ByteStream } from "../../transport/byte_stream.ts";
import { endTransport } from "../../transport/end_transport.ts";
import { websocketAccept } from "../../transport/door/upgrade.ts";

export interface DialOptions {
  readonly dialer: Dialer;
  readonly clock: Clock;
  /** For everything together: the connection, TLS, and the answer to the upgrade. */
  readonly timeoutMs: number;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  /** Gives up before the websocket is open. Afterwards it has no effect. */
  readonly signal?: AbortSignal;
}

export interface DialedWebSocket {
  readonly stream: ByteStream;
  /** Bytes that came directly after the answer. */
  readonly initialBytes: Uint8Array;
}

/** The server answered with something other than a websocket. */
export class UpgradeRefused extends Error {
  override readonly name = "UpgradeRefused";
  readonly status: number;

  constructor(status: number) {
    super(`the websocket was refused with status ${status}`);
    this.status = status;
  }
}

/** `ws://`, `wss://`, or `unix:/PATH`. Rejects with `UpgradeRefused`, or with what kept the connection from being made. */
export async function dialWebSocket(url: string, options: DialOptions): Promise<DialedWebSocket> {
  const target = parseTarget(url);
  const life = new AbortController();
  const cancel = options.clock.setTimer(
    options.timeoutMs,
    () => life.abort(new Error(`no websocket within ${options.timeoutMs} ms`)),
  );
  const giveUp = () => life.abort(options.signal!.reason);
  options.signal?.addEventListener("abort", giveUp);
  if (options.signal?.aborted) giveUp();
  try {
    const socket = target.type === "unix"
      ? await Socket.connectUnix(target.path, life.signal)
      : await options.dialer.dialThrough(target.url, life.signal);
    try {
      return await upgrade(socket, target, options.headers ?? []);
    } catch (error) {
      socket.close();
      throw error;
    }
  } catch (error) {
    // The pending operation failed because we closed the socket. The actual reason is another.
    if (life.signal.aborted) throw life.signal.reason;
    throw error;
  } finally {
    cancel();
    options.signal?.removeEventListener("abort", giveUp);
  }
}

type Target =
  | { readonly type: "unix"; readonly path: string }
  /** With `http:` or `https:`. */
  | { readonly type: "network"; readonly url: URL };

function parseTarget(text: string): Target {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\//, "");
    if (!path.startsWith("/")) throw new Error("the path of a unix socket must be absolute");
    return { type: "unix", path };
  }
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "ws:" && url.protocol !== "wss:")) {
    throw new Error("the websocket URL is not a ws:// or wss:// URL");
  }
  return { type: "network", url: new URL(url.href.replace(/^ws/, "http")) };
}

async function upgrade(
  socket: Socket,
  target: Target,
  headers: readonly { readonly name: string; readonly value: string }[],
): Promise<DialedWebSocket> {
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  const path = target.type === "unix" ? "/" : target.url.pathname + target.url.search;
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${target.type === "unix" ? "localhost" : target.url.host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${key}`,
    ...headers.map(({ name, value }) => `${name}: ${value}`),
  ];
  await socket.write(new TextEncoder().encode(lines.join("\r\n") + "\r\n\r\n"));
  const reader = new ByteReader((into) => socket.read(into));
  const bytes = await reader.readHead();
  if (bytes === null) throw new Error("the connection ended before the upgrade was answered");
  const head = parseResponseHead(bytes);
  if (head.status !== 101) throw new UpgradeRefused(head.status);
  checkAnswer(head, key);
  return { stream: new SocketStream(socket), initialBytes: reader.arrived.slice() };
}

/** Something that is not a websocket server may answer 101, too. */
function checkAnswer(head: ResponseHead, key: string): void {
  const values = (wanted: string) => head.headers.filter(({ name }) => name === wanted).map(({ value }) => value);
  const isUpgrade = values("upgrade").some((value) => value.toLowerCase() === "websocket");
  const [accept, ...more] = values("sec-websocket-accept");
  if (!isUpgrade || more.length > 0 || accept !== websocketAccept(key)) {
    throw new Error("the answer to the upgrade is not a websocket's");
  }
  if (values("sec-websocket-extensions").length > 0 || values("sec-websocket-protocol").length > 0) {
    throw new Error("the server chose a websocket extension that was not offered");
  }
}

/** The socket as a stream for a websocket. */
class SocketStream implements ByteStream {
  readonly #socket: Socket;
  readonly #local: Deno.Addr;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#local = socket.addresses.local;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#socket.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#socket.writeSome(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#socket.closeWrite();
  }

  close(): void {
    // A TLS connection would wait until the peer has read everything, which a silent peer never does.
    if (this.#socket.isTls) endTransport(this.#local);
    this.#socket.close();
  }
}
