/** The answer to one `fs/readFile`, as its content comes. */

import { type ByteSource, sourceOf } from "../../bytes.ts";
import type { ByteSink, LargeContentReceiver } from "../../fs/file_system.ts";
import { LARGE_READ_BYTES, STREAMED_PIECE_BYTES } from "../../fs/limits.ts";
import { EncodedResult, LONG_CONTENT_BYTES, StreamedResult } from "../../rpc/encoded_result.ts";

const BEFORE = '{"dataBase64":"';
const AFTER = '"}';

export interface FileAnswerOptions {
  /**
   * Waited for before a large content is read. What it gives is called when that has left or failed, or nobody is left to
   * take it.
   */
  takePlace(): Promise<() => void>;
  /** Takes this many bytes of the connection's budget, with a promise when that has to be waited for. */
  promise(answerBytes: number): void | Promise<void>;
  /** The end of the connection. */
  readonly signal: AbortSignal;
}

export class FileAnswer implements LargeContentReceiver {
  readonly #options: FileAnswerOptions;
  #leavePlace: (() => void) | null = null;
  #text = "";
  readonly #pieces: Uint8Array[] = [];
  #source: ByteSource | null = null;

  constructor(options: FileAnswerOptions) {
    this.#options = options;
  }

  /** Short content becomes text at once. Other content stays bytes until it leaves: no string ever holds it. */
  readonly add: ByteSink = (piece) => {
    if (this.#pieces.length > 0 || piece.length >= LONG_CONTENT_BYTES) this.#pieces.push(piece.slice());
    else this.#text += piece.toBase64();
  };

  makeRoom(length: number): void | Promise<void> {
    // A large content is in memory a piece at a time, unless it turns out otherwise.
    return length < LARGE_READ_BYTES ? this.makeRoomInMemory(length) : this.#waitForPlace();
  }

  makeRoomInMemory(bytes: number): void | Promise<void> {
    return this.#options.promise(bytes);
  }

  async #waitForPlace(): Promise<void> {
    // A read that begins anew has its place already.
    this.#leavePlace ??= await this.#options.takePlace();
    await this.makeRoomInMemory(STREAMED_PIECE_BYTES);
  }

  takeBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#pieces.push(bytes);
  }

  take(source: ByteSource): void {
    this.#source = source;
  }

  result(): EncodedResult | StreamedResult {
    if (this.#source !== null) return this.#streamed(this.#source);
    if (this.#pieces.length > 0) return this.#streamed(sourceOf(this.#pieces));
    this.giveUp();
    return new EncodedResult(BEFORE, this.#text, AFTER);
  }

  /** There will be no answer with content. */
  giveUp(): void {
    this.#leavePlace?.();
  }

  #streamed(source: ByteSource): StreamedResult {
    const left = Promise.withResolvers<void>();
    const close = () => {
      this.#options.signal.removeEventListener("abort", close);
      source.close();
      this.#leavePlace?.();
      left.resolve();
    };
    if (this.#options.signal.aborted) close();
    else this.#options.signal.addEventListener("abort", close);
    const { length, heldBytes } = source;
    const watched: ByteSource = { length, heldBytes, next: () => source.next(), close };
    // What is read as it leaves must not be written by a later request of the same client before.
    return new StreamedResult(BEFORE + this.#text, watched, AFTER, this.#source === null ? undefined : left.promise);
  }
}
