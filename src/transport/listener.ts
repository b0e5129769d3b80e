/**
 * Accepts sockets, answers plain HTTP, and turns websocket upgrades into links.
 *
 * The rules (routes, Origin, Host, authentication) are `upgrade.ts`; this file moves bytes and keeps the bounds: a head
 * that comes too slowly or too long, too many connections, an accept that fails for lack of descriptors.
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { MAX_CONNECTIONS } from "../protocol/limits.ts";
import type { Link } from "../rpc/link.ts";
import type { Authenticator } from "./auth.ts";
import { MAX_HEAD_BYTES, parseHead, type RequestHead } from "./http_head.ts";
import { httpResponse, serializeResponse, serializeUpgrade } from "./http_response.ts";
import { isLoopbackAddress } from "./ip_address.ts";
import { type AcceptedStream, openStreamSource, type StreamSource } from "./stream_source.ts";
import { answerMalformed, decideUpgrade } from "./upgrade.ts";
import { type ByteStream, WebSocketLink } from "./websocket_link.ts";

export type ListenerAddress =
  | { readonly type: "tcp"; readonly hostname: string; readonly port: number }
  | { readonly type: "unix"; readonly path: string };

/** Who connected. */
export interface Peer {
  /** Counts the connections of this server. */
  readonly id: number;
  readonly remote: string;
  /** What the peer calls its connection, in `x-request-id`. */
  readonly requestId: string | null;
}

export interface ListenerOptions {
  address: ListenerAddress;
  clock: Clock;
  log: Logger;
  /** Null lets everybody in. */
  authenticator: Authenticator | null;
  pingIntervalMs: number;
  /** Called for every upgraded socket; the returned promise is its life. */
  onLink(link: Link, peer: Peer): Promise<void>;
}

/** How long a client may take to send its request head: a person with telnet can, a stuck socket is not kept. */
const HEAD_TIMEOUT_MS = 10_000;
/** Pause after an accept that failed (no descriptors left): connections end meanwhile and free some. */
const ACCEPT_RETRY_MS = 100;

export class Listener {
  readonly url: string;
  readonly #options: ListenerOptions;
  readonly #source: StreamSource;
  readonly #sockets = new Set<AcceptedStream>();
  readonly #lives = new Set<Promise<void>>();
  #nextId = 1;
  #isClosed = false;

  private constructor(source: StreamSource, url: string, options: ListenerOptions) {
    this.#source = source;
    this.url = url;
    this.#options = options;
  }

  /** Binds the address; rejects when it cannot be had. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const { address } = options;
    if (address.type === "unix") return new Listener(await bindUnix(address.path), `unix:${address.path}`, options);
    const { hostname } = address;
    const source = openStreamSource(() => Deno.listen({ hostname, port: address.port }));
    const { port } = source.addr as Deno.NetAddr;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    return new Listener(source, `ws://${host}:${port}`, options);
  }

  /** Accepts until `close`. */
  async run(): Promise<void> {
    while (!this.#isClosed) {
      let socket: AcceptedStream;
      try {
        socket = await this.#source.accept();
      } catch (error) {
        if (this.#isClosed) return;
        this.#options.log.error("cannot accept a connection", { error: String(error) });
        await new Promise<void>((resolve) => this.#options.clock.setTimer(ACCEPT_RETRY_MS, resolve));
        continue;
      }
      const life = this.#serve(socket, this.#nextId++)
        .catch((error) => this.#options.log.warn("connection failed", { error: String(error) }))
        .finally(() => this.#lives.delete(life));
      this.#lives.add(life);
    }
  }

  /** Stops accepting. Connections that are open stay until they end or `dropAll`. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.close(); // For a unix socket this removes its file too.
  }

  /** Drops every open socket and waits until all is over. */
  async dropAll(): Promise<void> {
    for (const socket of this.#sockets) closeQuietly(socket);
    await Promise.all(this.#lives);
    await this.#source.idle();
  }

  async #serve(socket: AcceptedStream, id: number): Promise<void> {
    this.#sockets.add(socket);
    try {
      const upgraded = await this.#handshake(socket);
      if (upgraded === null) return;
      const { link, requestId } = upgraded;
      await this.#options.onLink(link, { id, remote: socket.describePeer(), requestId });
    } finally {
      this.#sockets.delete(socket);
      closeQuietly(socket);
    }
  }

  /** Reads the request head and answers it; a link when the answer was an upgrade. */
  async #handshake(socket: AcceptedStream): Promise<{ link: Link; requestId: string | null } | null> {
    const { clock, pingIntervalMs } = this.#options;
    const cancel = clock.setTimer(HEAD_TIMEOUT_MS, () => closeQuietly(socket));
    try {
      const buffer = new Uint8Array(MAX_HEAD_BYTES + 1);
      let end = 0;
      for (;;) {
        const read = await socket.read(buffer.subarray(end));
        if (read === null) return null;
        end += read;
        const head = parseHead(buffer.subarray(0, end));
        if (head.type === "incomplete") continue;
        const answer = head.type === "malformed" ? answerMalformed(head) : await this.#decide(head);
        if (answer.type === "upgrade") {
          await writeAll(socket, serializeUpgrade(answer));
          const initialBytes = buffer.slice((head as RequestHead).headBytes, end);
          const link = new WebSocketLink(socket, { clock, pingIntervalMs, initialBytes });
          return { link, requestId: answer.requestId };
        }
        this.#options.log.debug("HTTP request answered", { status: answer.status });
        await writeAll(socket, serializeResponse(answer));
        await discardUntilClosed(socket, buffer);
        return null;
      }
    } catch (error) {
      this.#options.log.debug("HTTP request abandoned", { error: String(error) });
      return null;
    } finally {
      cancel();
    }
  }

  #decide(head: RequestHead): ReturnType<typeof decideUpgrade> {
    if (this.#sockets.size > MAX_CONNECTIONS) return Promise.resolve(httpResponse(503, "too many connections"));
    const { authenticator, address } = this.#options;
    const isLoopbackListener = address.type === "tcp" && isLoopbackAddress(address.hostname);
    return decideUpgrade(head, { authenticator, isLoopbackListener });
  }
}

/** Binds a unix socket. A file left behind by a server that is gone is replaced; a live one, or any other file, is not. */
async function bindUnix(path: string): Promise<StreamSource> {
  try {
    return openStreamSource(() => listenPrivately(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse) || !await isDeadSocket(path)) throw error;
    Deno.removeSync(path);
    return openStreamSource(() => listenPrivately(path));
  }
}

/** Only the owner can connect, from the first moment on: the file's mode follows the umask. */
function listenPrivately(path: string): Deno.Listener {
  const previousMask = Deno.umask(0o177);
  try {
    return Deno.listen({ transport: "unix", path });
  } finally {
    Deno.umask(previousMask);
  }
}

async function isDeadSocket(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return false;
  } catch (error) {
    return error instanceof Deno.errors.ConnectionRefused && Deno.lstatSync(path).isSocket === true;
  }
}

async function writeAll(socket: ByteStream, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await socket.write(bytes.subarray(written));
}

/** Lets the peer read the answer before the socket goes: closing with unread bytes would reset it. */
async function discardUntilClosed(socket: ByteStream, scratch: Uint8Array): Promise<void> {
  await socket.closeWrite();
  while (await socket.read(scratch) !== null) { /* dropped */ }
}

function closeQuietly(socket: ByteStream): void {
  try {
    socket.close();
  } catch {
    // Closed already, by its link or by its peer's failure.
  }
}
