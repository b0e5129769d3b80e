/**
 * A connection to a port of the box's machine, as a pair of web streams. Each direction waits for its own reader and
 * ends on its own.
 *
 * The server ends tunnels with their connection. So a tunnel fails when its connection is lost. It is not opened again,
 * because the program at the other end has seen the end.
 */

import { ERROR_CODES } from "../../protocol/error_codes.ts";
import { decodeBase64, encodeBase64 } from "../base64.ts";
import { ConnectionLostError, ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";

/**
 * Where to connect to, and how long to try.
 *
 * ```ts
 * const options: TunnelOptions = { host: "127.0.0.1", signal: AbortSignal.timeout(5000) };
 * await box.tunnel(8080, options);
 * ```
 */
export interface TunnelOptions {
  /** `localhost` unless given, or a loopback address of the box's machine. */
  readonly host?: string | undefined;
  /** Gives up connecting. */
  readonly signal?: AbortSignal | undefined;
}

/** Acknowledged after this much. The server stops at 256 KiB that are not acknowledged. */
const ACK_BYTES = 64 * 1024;
/** One write: as base64 it is well below the largest frame. */
const MAX_WRITE_BYTES = 256 * 1024;

/**
 * A connection to a port of the box's machine. Each direction waits for its own reader and ends on its own. The tunnel
 * fails when the connection to the box is lost.
 *
 * ```ts
 * const tunnel: Tunnel = await box.tunnel(5432);
 * const writer = tunnel.writable.getWriter();
 * await writer.write(new TextEncoder().encode("hello"));
 * for await (const bytes of tunnel.readable) console.log(bytes.length);
 * ```
 */
export class Tunnel {
  /** What the other end sends. Errors when the tunnel fails. */
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** What is sent to it. Closing it ends this direction; the other may go on. */
  readonly writable: WritableStream<Uint8Array>;
  readonly #session: Session;
  readonly #tunnelId: string;
  readonly #stopListening: () => void;
  readonly #received: Uint8Array<ArrayBuffer>[] = [];
  #wake: (() => void) | null = null;
  #hasEnded = false;
  #failure: Error | null = null;
  #isClosed = false;
  #takenBytes = 0;
  #acknowledgedBytes = 0;

  private constructor(session: Session, tunnelId: string) {
    this.#session = session;
    this.#tunnelId = tunnelId;
    this.#stopListening = session.listen({
      notification: (method, params) => {
        if (params.tunnelId === tunnelId) this.#told(method, params);
      },
      resumed: () => this.#fail(new ConnectionLostError("the tunnel has ended: the connection to the box was lost")),
      ended: (error) => this.#fail(error),
    });
    this.readable = new ReadableStream({ pull: (controller) => this.#pull(controller), cancel: () => this.close() }, {
      highWaterMark: 0,
    });
    this.writable = new WritableStream<Uint8Array>({
      write: (chunk) => this.#write(chunk),
      close: () => this.#closeWrite(),
      abort: () => this.close(),
    });
  }

  /** Connects. Throws a `ServerError` when nobody listens there, or the server opens no tunnels. */
  static async open(session: Session, port: number, { host, signal }: TunnelOptions): Promise<Tunnel> {
    if (!session.has("netConnect")) {
      throw new ServerError(
        "net/connect",
        ERROR_CODES.methodNotFound,
        "cannot open a tunnel: the server must be started with --allow-tunnel",
      );
    }
    const tunnelId = crypto.randomUUID();
    const tunnel = new Tunnel(session, tunnelId);
    try {
      await session.call("net/connect", { tunnelId, port, ...(host === undefined ? {} : { host }) }, { signal });
      return tunnel;
    } catch (error) {
      tunnel.close();
      throw error;
    }
  }

  /** Ends both directions at once. */
  close(): void {
    if (this.#isClosed) return;
    this.#fail(new ConnectionLostError("the tunnel was closed"));
    this.#session.call("net/close", { tunnelId: this.#tunnelId }).catch(() => {/* It went with its connection. */});
  }

  #told(method: string, params: Record<string, unknown>): void {
    if (method === "net/data") this.#received.push(decodeBase64(String(params.chunk)));
    else if (method === "net/ended") this.#hasEnded = true;
    else if (method === "net/closed") {
      this.#hasEnded = true;
      if (typeof params.error === "string") this.#fail(new Error(params.error));
      else this.#finish();
    }
    this.#wake?.();
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.#failure = error;
    this.#finish();
    this.#wake?.();
  }

  #finish(): void {
    this.#isClosed = true;
    this.#stopListening();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    while (this.#received.length === 0 && !this.#hasEnded && this.#failure === null) {
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = null;
    }
    const bytes = this.#received.shift();
    if (bytes === undefined) {
      if (this.#failure !== null) controller.error(this.#failure);
      else controller.close();
      return;
    }
    this.#taken(bytes.length);
    controller.enqueue(bytes);
  }

  #taken(bytes: number): void {
    this.#takenBytes += bytes;
    if (this.#isClosed || this.#takenBytes - this.#acknowledgedBytes < ACK_BYTES) return;
    this.#acknowledgedBytes = this.#takenBytes;
    const params = { tunnelId: this.#tunnelId, bytes: this.#takenBytes };
    this.#session.call("net/ack", params).catch(() => {/* It went with its connection, which is told elsewhere. */});
  }

  async #write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; at += MAX_WRITE_BYTES) {
      if (this.#failure !== null) throw this.#failure;
      const bytes = chunk.subarray(at, at + MAX_WRITE_BYTES);
      await this.#session.call("net/write", { tunnelId: this.#tunnelId, chunk: encodeBase64(bytes) });
    }
  }

  async #closeWrite(): Promise<void> {
    if (this.#isClosed) return;
    try {
      await this.#session.call("net/closeWrite", { tunnelId: this.#tunnelId });
    } catch (error) {
      // The other end closed it meanwhile.
      if (!(error instanceof ServerError)) throw error;
    }
  }
}
