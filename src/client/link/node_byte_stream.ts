/** A socket of `node:net` or `node:tls` as the byte stream that websockets run on. Deno, Node and Bun have these modules. */

import type { OnReadOpts, Socket } from "node:net";
import { versions } from "node:process";
import type { ByteStream } from "../../transport/byte_stream.ts";

/** How much is read at once. A new array for each read would cost more than a copy out of one that is kept. */
export const READ_BYTES = 128 * 1024;
/** How much waits here before the socket is paused. Then TCP slows down a peer that sends too fast. */
const HIGH_WATER_BYTES = 256 * 1024;

/** A pending read. */
interface Reader {
  readonly into: Uint8Array;
  resolve(count: number | null): void;
  reject(error: Error): void;
}

/** See the head of the module. */
export class NodeByteStream implements ByteStream {
  readonly #chunks: Uint8Array[] = [];
  #socket: Socket | null = null;
  #waitingBytes = 0;
  #failure: Error | null = null;
  #isEnded = false;
  #reader: Reader | null = null;

  /** Options that let the socket be read through one buffer, if the runtime can do that. */
  readonly readOptions: { readonly onread?: OnReadOpts } = takesBuffer(versions.deno)
    ? {
      onread: {
        buffer: new Uint8Array(READ_BYTES),
        callback: (count: number, buffer: Uint8Array): boolean => {
          this.#arrived(buffer.subarray(0, count), { isLent: true });
          return true;
        },
      },
    }
    : {};

  /** Takes a socket that is connected or connecting. */
  attach(socket: Socket): void {
    this.#socket = socket;
    // Emitted where `onread` was not given or is not known.
    socket.on("data", (chunk: Uint8Array) => this.#arrived(chunk, { isLent: false }));
    const end = () => {
      this.#isEnded = true;
      this.#settleReader();
    };
    socket.on("end", end);
    socket.on("close", end);
    socket.on("error", (error: Error) => {
      this.#failure = error;
      this.#settleReader();
    });
  }

  /** See {@linkcode ByteStream.read}. */
  read(into: Uint8Array): Promise<number | null> {
    const chunk = this.#chunks[0];
    if (chunk === undefined) {
      return new Promise((resolve, reject) => {
        this.#reader = { into, resolve, reject };
        this.#settleReader();
      });
    }
    const count = Math.min(chunk.length, into.length);
    into.set(count === chunk.length ? chunk : chunk.subarray(0, count));
    if (count === chunk.length) this.#chunks.shift();
    else this.#chunks[0] = chunk.subarray(count);
    this.#waitingBytes -= count;
    if (this.#waitingBytes < HIGH_WATER_BYTES && this.#socket?.isPaused()) this.#socket.resume();
    return Promise.resolve(count);
  }

  /** See {@linkcode ByteStream.write}. */
  write(bytes: Uint8Array): Promise<number> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#socket!.write(bytes, (error) => error ? reject(error) : resolve(bytes.length));
    });
  }

  /** See {@linkcode ByteStream.writeNow}. The socket keeps what it is given, so it gets a copy. */
  writeNow(bytes: Uint8Array): number {
    const socket = this.#socket!;
    if (this.#failure !== null || socket.writableNeedDrain) return 0;
    socket.write(bytes.slice());
    return bytes.length;
  }

  /** See {@linkcode ByteStream.closeWrite}. */
  closeWrite(): Promise<void> {
    return new Promise((resolve) => this.#socket!.end(resolve));
  }

  /** See {@linkcode ByteStream.close}. */
  close(): void {
    this.#socket?.destroy();
  }

  /** Gives bytes to the waiting reader and keeps the rest. Bytes that are only lent are copied. */
  #arrived(bytes: Uint8Array, { isLent }: { isLent: boolean }): void {
    const reader = this.#reader;
    const count = reader === null ? 0 : Math.min(bytes.length, reader.into.length);
    if (reader !== null) {
      reader.into.set(count === bytes.length ? bytes : bytes.subarray(0, count));
      this.#reader = null;
      reader.resolve(count);
    }
    if (count === bytes.length) return;
    this.#chunks.push(isLent ? bytes.slice(count) : bytes.subarray(count));
    this.#waitingBytes += bytes.length - count;
    if (this.#waitingBytes >= HIGH_WATER_BYTES) this.#socket?.pause();
  }

  /** The waiting reader gets nothing more once the stream has failed or ended. */
  #settleReader(): void {
    const reader = this.#reader;
    if (reader === null || (this.#failure === null && !this.#isEnded)) return;
    this.#reader = null;
    if (this.#failure !== null) reader.reject(this.#failure);
    else reader.resolve(null);
  }
}

/** Deno has `onread` since 2.9. Older versions, which compiled programs may have, crash when they are given it. */
function takesBuffer(denoVersion: string | undefined): boolean {
  if (denoVersion === undefined) return true;
  const [major = 0, minor = 0] = denoVersion.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}
