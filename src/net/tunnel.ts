/**
 * One connection to a port of this machine, with back-pressure both ways.
 *
 * What comes is read only while less than a window of it waits to be acknowledged and the sink has room. What is written
 * resolves when the kernel has taken it. Each direction ends by itself; when both have ended, or one has failed, the
 * tunnel is closed, which is told once.
 */

import { messageOf } from "../errors.ts";
import { endTransport } from "../transport/end_transport.ts";
import { TUNNEL_READ_BYTES, TUNNEL_WINDOW_BYTES } from "./limits.ts";

/** Where data goes. Nothing here throws. */
export interface TunnelSink {
  /** The array belongs to the receiver. */
  data(bytes: Uint8Array<ArrayBuffer>): void;
  /** The other end sends nothing more. */
  ended(): void;
  /** The last that is told. With the operating system's text when it failed. */
  closed(error: string | null): void;
  readonly hasRoom: boolean;
}

export class Tunnel {
  readonly #conn: Deno.TcpConn;
  readonly #sink: TunnelSink;
  #sentBytes = 0;
  #acknowledgedBytes = 0;
  /** While reading waits for room. */
  #room: PromiseWithResolvers<void> | null = null;
  #hasReadAll = false;
  #hasWrittenAll = false;
  #isClosed = false;
  #openWrites = 0;
  /** Rejects when the tunnel is closed: some runtimes let a write that waits for the other end wait on. */
  readonly #closing = Promise.withResolvers<never>();

  constructor(conn: Deno.TcpConn, sink: TunnelSink) {
    this.#conn = conn;
    this.#sink = sink;
    // Nobody may be writing.
    this.#closing.promise.catch(() => {});
  }

  /** Starts to read. Resolves when the tunnel is closed; never rejects. */
  async run(): Promise<void> {
    const buffer = new Uint8Array(TUNNEL_READ_BYTES);
    try {
      for (;;) {
        while (!this.#isClosed && !this.#mayRead) await (this.#room ??= Promise.withResolvers<void>()).promise;
        if (this.#isClosed) return;
        // No more than the window has room for, whatever the sizes so far.
        const count = await this.#conn.read(buffer.subarray(0, this.#windowLeft));
        if (this.#isClosed) return;
        if (count === null) break;
        this.#sentBytes += count;
        this.#sink.data(buffer.slice(0, count));
      }
      this.#hasReadAll = true;
      this.#sink.ended();
      if (this.#hasWrittenAll) this.#end(null);
    } catch (error) {
      this.#end(messageOf(error));
    }
  }

  /** Bytes that the client is done with, from the beginning of the tunnel on. */
  acknowledge(bytes: number): void {
    this.#acknowledgedBytes = Math.max(this.#acknowledgedBytes, Math.min(bytes, this.#sentBytes));
    this.roomAgain();
  }

  /** Bytes sent so far. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** The sink may have room again. */
  roomAgain(): void {
    if (!this.#mayRead) return;
    this.#room?.resolve();
    this.#room = null;
  }

  /** Resolves when the kernel has taken all of it; rejects when the other end takes nothing more. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#openWrites++;
    try {
      for (let written = 0; written < bytes.length;) {
        written += await Promise.race([this.#conn.write(bytes.subarray(written)), this.#closing.promise]);
      }
    } catch (error) {
      this.#end(messageOf(error));
      throw error;
    } finally {
      this.#openWrites--;
    }
  }

  /** The client sends nothing more. */
  async closeWrite(): Promise<void> {
    if (this.#hasWrittenAll || this.#isClosed) return;
    this.#hasWrittenAll = true;
    try {
      await this.#conn.closeWrite();
    } catch (error) {
      // The other end has gone already: then reading says so, too.
      if (this.#hasReadAll) return this.#end(messageOf(error));
    }
    if (this.#hasReadAll) this.#end(null);
  }

  /** Ends it at once. Nothing more is told. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#room?.resolve();
    if (this.#openWrites > 0) this.#endWrites();
    this.#conn.close();
  }

  /** A write that waits would keep the descriptor until the other end reads, which it may never do. */
  #endWrites(): void {
    this.#closing.reject(new Error("the tunnel was closed"));
    endTransport(this.#conn.localAddr);
  }

  get #windowLeft(): number {
    return TUNNEL_WINDOW_BYTES - (this.#sentBytes - this.#acknowledgedBytes);
  }

  get #mayRead(): boolean {
    return this.#windowLeft > 0 && this.#sink.hasRoom;
  }

  #end(error: string | null): void {
    if (this.#isClosed) return;
    this.close();
    this.#sink.closed(error);
  }
}
