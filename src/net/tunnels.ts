/**
 * The tunnels of one client by their ids: to loopback addresses of this machine and to nowhere else.
 *
 * Owns which ids are taken and how many there may be; a place is taken before anything is connected.
 */

import { internalError, invalidParams, invalidRequest, messageOf } from "../errors.ts";
import { isLoopbackAddress } from "../transport/listen/ip_address.ts";
import { MAX_TUNNELS, MAX_TUNNELS_OF_ALL, TUNNEL_CONNECT_MS } from "./limits.ts";
import { Tunnel } from "./tunnel.ts";

/** Tunnels of all clients of a server. */
export class TunnelCount {
  #open = 0;

  take(): boolean {
    if (this.#open >= MAX_TUNNELS_OF_ALL) return false;
    this.#open++;
    return true;
  }

  give(): void {
    this.#open--;
  }
}

export interface TunnelEvents {
  data(tunnelId: string, bytes: Uint8Array<ArrayBuffer>): void;
  ended(tunnelId: string): void;
  closed(tunnelId: string, error: string | null): void;
  readonly hasRoom: boolean;
}

export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

export class Tunnels {
  readonly #events: TunnelEvents;
  readonly #count: TunnelCount;
  /** Null while it is being connected. */
  readonly #tunnels = new Map<string, Tunnel | null>();
  /** What is being connected, to be given up when the client goes. */
  readonly #connecting = new Map<string, AbortController>();
  #isClosed = false;

  constructor(events: TunnelEvents, count: TunnelCount) {
    this.#events = events;
    this.#count = count;
  }

  /** Connects. Nothing is told before `begin` is called. */
  async connect(tunnelId: string, target: TunnelTarget): Promise<{ begin(): void }> {
    const addresses = addressesOf(target.host);
    if (this.#tunnels.has(tunnelId)) throw invalidRequest(`tunnel ${tunnelId} is open already`);
    if (this.#tunnels.size >= MAX_TUNNELS) {
      throw invalidRequest(`this connection may not have more than ${MAX_TUNNELS} tunnels at once`);
    }
    if (!this.#count.take()) throw invalidRequest(`this server may not have more than ${MAX_TUNNELS_OF_ALL} tunnels`);
    this.#tunnels.set(tunnelId, null);
    const abort = new AbortController();
    this.#connecting.set(tunnelId, abort);
    try {
      const conn = await connectToOne(addresses, target.port, abort.signal);
      conn.setNoDelay(true);
      const tunnel = this.#made(tunnelId, conn);
      this.#tunnels.set(tunnelId, tunnel);
      return { begin: () => void tunnel.run() };
    } catch (error) {
      this.#forget(tunnelId);
      throw error;
    } finally {
      this.#connecting.delete(tunnelId);
    }
  }

  async write(tunnelId: string, bytes: Uint8Array): Promise<void> {
    const tunnel = this.#get(tunnelId);
    try {
      await tunnel.write(bytes);
    } catch (error) {
      throw internalError(`Cannot write to tunnel ${tunnelId}: ${messageOf(error)}`, error);
    }
  }

  async closeWrite(tunnelId: string): Promise<void> {
    await this.#get(tunnelId).closeWrite();
  }

  acknowledge(tunnelId: string, bytes: number): void {
    const tunnel = this.#tunnels.get(tunnelId) ?? null;
    if (tunnel === null) return;
    if (bytes > tunnel.sentBytes) {
      throw invalidParams(`${bytes} bytes were never sent: tunnel ${tunnelId} has sent ${tunnel.sentBytes}`);
    }
    tunnel.acknowledge(bytes);
  }

  /** One that is not open is no error: it may have been closed by the other end. */
  close(tunnelId: string): void {
    this.#connecting.get(tunnelId)?.abort(new Error("it was closed before it was open"));
    const tunnel = this.#tunnels.get(tunnelId) ?? null;
    if (tunnel === null) return;
    tunnel.close();
    this.#forget(tunnelId);
  }

  roomAgain(): void {
    for (const tunnel of this.#tunnels.values()) tunnel?.roomAgain();
  }

  closeAll(): void {
    this.#isClosed = true;
    for (const tunnelId of [...this.#tunnels.keys()]) this.close(tunnelId);
  }

  #get(tunnelId: string): Tunnel {
    const tunnel = this.#tunnels.get(tunnelId) ?? null;
    if (tunnel === null) throw invalidRequest(`unknown tunnel ${tunnelId}: it was never opened, or has been closed`);
    return tunnel;
  }

  #made(tunnelId: string, conn: Deno.TcpConn): Tunnel {
    const events = this.#events;
    return new Tunnel(conn, {
      data: (bytes) => events.data(tunnelId, bytes),
      ended: () => events.ended(tunnelId),
      closed: (error) => {
        this.#forget(tunnelId);
        events.closed(tunnelId, error);
      },
      get hasRoom() {
        return events.hasRoom;
      },
    });
  }

  #forget(tunnelId: string): void {
    if (this.#tunnels.delete(tunnelId)) this.#count.give();
  }
}

/** `localhost` is both of its addresses, whatever a resolver says: a server may listen on either. */
function addressesOf(host: string): readonly string[] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  if (isLoopbackAddress(host)) return [host];
  throw invalidParams(`host must be localhost or a loopback address of the server's machine, not ${host}`);
}

async function connectToOne(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Deno.TcpConn> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TUNNEL_CONNECT_MS)]);
  let failure: unknown;
  for (const hostname of addresses) {
    try {
      return await connectUntil(limit, hostname, port);
    } catch (error) {
      failure ??= error;
      if (limit.aborted) break;
    }
  }
  throw internalError(`Cannot connect to port ${port} of this machine: ${messageOf(failure)}`, failure);
}

/** A connection that comes too late is closed. Older runtimes cannot be told to stop connecting. */
async function connectUntil(signal: AbortSignal, hostname: string, port: number): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const connecting = Deno.connect({ hostname, port });
  try {
    return await Promise.race([connecting, stopped.promise]);
  } catch (error) {
    connecting.then((late) => late.close(), () => {/* It has failed by itself. */});
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
