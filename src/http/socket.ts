/** One TCP, TLS or unix connection that can be ended at any time, whatever it is waiting for. */

import { writeFully } from "../bytes.ts";

export class Socket {
  #conn: Deno.Conn;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.close();
  #isTls = false;
  #isClosed = false;

  private constructor(conn: Deno.Conn, signal: AbortSignal) {
    this.#conn = conn;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  static async connect(address: { hostname: string; port: number }, signal: AbortSignal): Promise<Socket> {
    signal.throwIfAborted();
    const hostname = withoutBrackets(address.hostname);
    const conn = await Deno.connect({ hostname, port: address.port, signal });
    conn.setNoDelay(true);
    const socket = new Socket(conn, signal);
    if (signal.aborted) socket.close();
    return socket;
  }

  static async connectUnix(path: string, signal: AbortSignal): Promise<Socket> {
    signal.throwIfAborted();
    const socket = new Socket(await Deno.connect({ transport: "unix", path }), signal);
    if (signal.aborted) socket.close();
    return socket;
  }

  get isTls(): boolean {
    return this.#isTls;
  }

  /** Both ends, for connections of the network. */
  get addresses(): { readonly local: Deno.Addr; readonly remote: Deno.Addr } {
    return { local: this.#conn.localAddr, remote: this.#conn.remoteAddr };
  }

  /** Speaks TLS from here on. */
  async startTls(hostname: string, caCerts: readonly string[]): Promise<void> {
    const options = { hostname: withoutBrackets(hostname), caCerts: [...caCerts], alpnProtocols: ["http/1.1"] };
    const conn = await Deno.startTls(this.#conn as Deno.TcpConn, options);
    this.#conn = conn;
    this.#isTls = true;
    // Told to end during the change to TLS: the old socket was closed, and the new one must be too.
    if (this.#isClosed) closeQuietly(conn);
    await conn.handshake();
  }

  async read(into: Uint8Array): Promise<number | null> {
    return await this.#conn.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return writeFully(this.#conn, bytes);
  }

  /** Bytes taken, at least one. */
  writeSome(bytes: Uint8Array): Promise<number> {
    return this.#conn.write(bytes);
  }

  /** Ends our side. */
  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  /** Idempotent. Waiting calls are rejected. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal.removeEventListener("abort", this.#onAbort);
    closeQuietly(this.#conn);
  }
}

/** URLs write IPv6 addresses in brackets, sockets do not. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // It was handed over to TLS, or the other side was faster: closed is closed.
  }
}
