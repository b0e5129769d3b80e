/**
 * TLS on the server's side of an accepted connection. `node:tls` does the cryptography. The encrypted bytes pass
 * through the accepted stream, with its bounds and its back-pressure.
 *
 * Why not `Deno.listenTls`: its `close()` does not free the descriptor while a peer is silent or does not read, its
 * handshake has no end, and its certificates cannot be replaced. Here closing the accepted stream ends everything.
 *
 * Importing this module costs some 30 ms (`node:tls`), so only `tls_layer.ts` does.
 */

import { Duplex } from "node:stream";
import { type SecureContext, TLSSocket } from "node:tls";
import type { Endpoints } from "../../os/loop/socket_owner.ts";
import type { AcceptedStream } from "../listen/stream_source.ts";

/** One record of TLS with its header. */
const MIN_READ_BYTES = 17 * 1024;
/** Room for several records, for a peer that sends as fast as we read. */
const BUSY_READ_BYTES = 4 * MIN_READ_BYTES;
/** Plain bytes handed over at once: encrypting them takes about half a millisecond. */
const MAX_WRITE_BYTES = 256 * 1024;

export interface TlsStreamOptions {
  readonly secureContext: SecureContext;
  /** Bytes that were read to see whether it is TLS. */
  readonly firstBytes: Uint8Array;
}

interface PendingRead {
  readonly into: Uint8Array;
  resolve(count: number | null): void;
  reject(error: Error): void;
}

export class TlsStream implements AcceptedStream {
  readonly #raw: AcceptedStream;
  readonly #carrier: Carrier;
  readonly #socket: TLSSocket;
  /** Decrypted and not read yet. The socket is paused while there is any, so this is about one record. */
  #chunks: Uint8Array[] = [];
  #pendingRead: PendingRead | null = null;
  #pendingWrites = new Set<(error: Error) => void>();
  #isShaking = true;
  #isEnded = false;
  #failure: Error | null = null;

  private constructor(raw: AcceptedStream, options: TlsStreamOptions) {
    this.#raw = raw;
    const carrier = this.#carrier = new Carrier(raw, options.firstBytes, {
      onEnd: () => this.#endRaw(),
      onFailure: (error) => this.#fail(error),
    });
    // Typed for sockets of node:net; any duplex stream does.
    this.#socket = new TLSSocket(carrier as never, { isServer: true, secureContext: options.secureContext });
    this.#socket.on("data", (bytes: Uint8Array) => this.#receive(bytes));
    this.#socket.on("end", () => this.#end());
    this.#socket.on("error", (error: Error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("connection was closed")));
    this.#socket.pause();
  }

  /** Resolves when the handshake is complete. */
  static async accept(raw: AcceptedStream, options: TlsStreamOptions): Promise<TlsStream> {
    const stream = new TlsStream(raw, options);
    try {
      await new Promise<void>((resolve, reject) => {
        stream.#pendingWrites.add(reject);
        stream.#socket.once("secure", () => {
          stream.#pendingWrites.delete(reject);
          resolve();
        });
      });
      stream.#isShaking = false;
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  describePeer(): string {
    return this.#raw.describePeer();
  }

  endpoints(): Endpoints | null {
    return this.#raw.endpoints();
  }

  read(into: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#pendingRead = { into, resolve, reject };
      this.#satisfyRead();
      // Events and not `read()` with "readable": a wrapper on those was seen to hang.
      if (this.#pendingRead !== null) this.#socket.resume();
    });
  }

  write(bytes: Uint8Array): Promise<number> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const taken = bytes.subarray(0, MAX_WRITE_BYTES);
    return new Promise((resolve, reject) => {
      this.#pendingWrites.add(reject);
      this.#socket.write(taken, (error) => {
        this.#pendingWrites.delete(reject);
        if (error) reject(error);
        else resolve(taken.length);
      });
    });
  }

  unacknowledgedBytes(): number {
    return this.#raw.unacknowledgedBytes?.() ?? 0;
  }

  /** Encrypted: more than what can be read of it, but they come when something is sent, and not otherwise. */
  arrivedBytes(): number | undefined {
    return this.#raw.arrivedBytes?.();
  }

  sentBytes(): number {
    return this.#carrier.sentBytes;
  }

  /** Closes our side in TLS and in TCP. */
  closeWrite(): Promise<void> {
    if (this.#failure !== null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#pendingWrites.add(reject);
      this.#socket.end(() => {
        this.#pendingWrites.delete(reject);
        resolve();
      });
    });
  }

  close(): void {
    this.#fail(new Error("socket was closed"));
  }

  #receive(bytes: Uint8Array): void {
    this.#socket.pause();
    this.#chunks.push(bytes);
    this.#satisfyRead();
  }

  /** `node:tls` does not report a peer that goes away in the middle of the handshake. */
  #endRaw(): void {
    if (this.#isShaking) this.#fail(new Error("the peer closed the connection during the handshake"));
  }

  #end(): void {
    this.#isEnded = true;
    this.#satisfyRead();
  }

  #satisfyRead(): void {
    const read = this.#pendingRead;
    if (read === null) return;
    const chunk = this.#chunks[0];
    if (chunk === undefined && !this.#isEnded && this.#failure === null) return;
    this.#pendingRead = null;
    if (chunk !== undefined) {
      const count = Math.min(chunk.length, read.into.length);
      read.into.set(chunk.subarray(0, count));
      if (count === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(count);
      read.resolve(count);
    } else if (this.#failure !== null && !this.#isEnded) read.reject(this.#failure);
    else read.resolve(null);
  }

  /** Ends both directions at once. The first reason stays. */
  #fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#raw.close();
    this.#socket.destroy();
    for (const reject of this.#pendingWrites) reject(error);
    this.#pendingWrites.clear();
    this.#satisfyRead();
  }
}

interface CarrierOwner {
  /** The peer has ended its side. */
  onEnd(): void;
  onFailure(error: Error): void;
}

/** The accepted stream as a duplex stream of node's, for the encrypted bytes. */
class Carrier extends Duplex {
  readonly #raw: AcceptedStream;
  readonly #owner: CarrierOwner;
  #firstBytes: Uint8Array | null;
  #readBytes = MIN_READ_BYTES;
  sentBytes = 0;

  constructor(raw: AcceptedStream, firstBytes: Uint8Array, owner: CarrierOwner) {
    super({ readableHighWaterMark: BUSY_READ_BYTES, writableHighWaterMark: MAX_WRITE_BYTES });
    this.#raw = raw;
    this.#firstBytes = firstBytes;
    this.#owner = owner;
    this.on("error", (error) => owner.onFailure(error));
  }

  override _read(): void {
    if (this.#firstBytes !== null) {
      const bytes = this.#firstBytes;
      this.#firstBytes = null;
      this.push(bytes);
      return;
    }
    // A buffer for each read: what is pushed belongs to the stream.
    const buffer = new Uint8Array(this.#readBytes);
    this.#raw.read(buffer).then((count) => {
      if (count === null) {
        this.push(null);
        this.#owner.onEnd();
      } else {
        this.#readBytes = count === buffer.length ? BUSY_READ_BYTES : MIN_READ_BYTES;
        this.push(buffer.subarray(0, count));
      }
    }, (error) => this.#owner.onFailure(error));
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    this.#writeAll(chunk).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error | null) => void): void {
    const bytes = new Uint8Array(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0));
    let at = 0;
    for (const { chunk } of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.#writeAll(bytes).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#raw.closeWrite().then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#raw.close();
    done(error);
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length;) {
        const taken = await this.#raw.write(bytes.subarray(at));
        at += taken;
        this.sentBytes += taken;
      }
    } catch (error) {
      // Must come before `node:tls` learns of it, which would first report the write as a success.
      this.#owner.onFailure(error as Error);
      throw error;
    }
  }
}
