/**
 * The source of connections: the reactor, or without it the runtime's own sockets.
 *
 * The reactor's connections answer in a fraction of the time. A request that comes shortly after another is read before
 * the thread sleeps, and so is the output of a child that the request started.
 */

import { libc } from "../../os/libc.ts";
import { sharedReactor } from "../../os/loop/reactor.ts";
import { SocketAcceptor } from "../../os/loop/socket_acceptor.ts";
import type { Endpoints } from "../../os/loop/socket_owner.ts";
import { parseIpAddress } from "./ip_address.ts";
import type { ByteStream } from "../websocket/websocket_link.ts";

/** An accepted connection, before its request is read. Small writes leave at once. */
export interface AcceptedStream extends ByteStream {
  /** The peer's address, for people. */
  describePeer(): string;
  /** Both ends of a TCP connection. Null for other sockets, and when the peer has gone. */
  endpoints(): Endpoints | null;
}

export interface StreamSource {
  readonly addr: Deno.Addr;
  /** The next connection. Rejects when none can be accepted now, and after `close`. */
  accept(): Promise<AcceptedStream>;
  close(): void;
  /** Resolves when no operation is under way any more. Close this and all its connections before. */
  idle(): Promise<void>;
}

/** Binds. Uses the reactor if possible. */
export function openStreamSource(bind: () => Deno.Listener): StreamSource {
  if (!hasReactor()) return new RuntimeStreamSource(bind());
  const adopted = SocketAcceptor.adopt(bind, sharedReactor());
  return adopted instanceof SocketAcceptor ? adopted : new RuntimeStreamSource(adopted);
}

/** Accepts on a listening socket that was handed over: its descriptor, and where it listens. */
export function takeOverStreamSource(fd: number, addr: Deno.Addr): StreamSource {
  return SocketAcceptor.takeOver(fd, addr, sharedReactor());
}

function hasReactor(): boolean {
  try {
    libc();
    return true;
  } catch {
    // Another system, or calls of libraries are not permitted.
    return false;
  }
}

/** The runtime's own sockets. */
export class RuntimeStreamSource implements StreamSource {
  readonly #listener: Deno.Listener;

  constructor(listener: Deno.Listener) {
    this.#listener = listener;
  }

  get addr(): Deno.Addr {
    return this.#listener.addr;
  }

  async accept(): Promise<AcceptedStream> {
    return new RuntimeStream(await this.#listener.accept());
  }

  close(): void {
    this.#listener.close();
  }

  idle(): Promise<void> {
    return Promise.resolve();
  }
}

class RuntimeStream implements AcceptedStream {
  readonly #conn: Deno.Conn;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
    if ("setNoDelay" in conn) (conn as Deno.TcpConn).setNoDelay(true);
  }

  describePeer(): string {
    const address = this.#conn.remoteAddr;
    if (!("hostname" in address)) return "unix";
    const { hostname, port } = address;
    return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
  }

  endpoints(): Endpoints | null {
    const [local, peer] = [endpointOf(this.#conn.localAddr), endpointOf(this.#conn.remoteAddr)];
    return local === null || peer === null ? null : { local, peer };
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#conn.read(into);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  close(): void {
    this.#conn.close();
  }
}

function endpointOf(addr: Deno.Addr): Endpoints["peer"] | null {
  const address = "hostname" in addr ? parseIpAddress(addr.hostname) : null;
  return address === null ? null : { address, port: (addr as Deno.NetAddr).port };
}
