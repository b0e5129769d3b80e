/** The answer to one `fs/readFile`, as its content comes. */

import { type ByteSource, sourceOf } from "../../bytes.ts";
import type { ByteSink, LargeContentReceiver } from "../../fs/file_system.ts";
import { EncodedResult, LONG_CONTENT_BYTES, StreamedResult } from "../../rpc/envelope.ts";

const BEFORE = '{"dataBase64":"';
const AFTER = '"}';

export class FileAnswer implements LargeContentReceiver {
  readonly #takePlace: () => Promise<() => void>;
  readonly #signal: AbortSignal;
  #leavePlace: (() => void) | null = null;
  #text = "";
  readonly #pieces: Uint8Array[] = [];
  #source: ByteSource | null = null;

  /**
   * `takePlace` is waited for before much is read; what it gives is called when that has left or failed, or nobody is
   * left to take it.
   */
  constructor(takePlace: () => Promise<() => void>, signal: AbortSignal) {
    this.#takePlace = takePlace;
    this.#signal = signal;
  }

  /** Short content becomes text at once. Other content stays bytes until it leaves: no string ever holds it. */
  readonly add: ByteSink = (piece) => {
    if (this.#pieces.length > 0 || piece.length >= LONG_CONTENT_BYTES) this.#pieces.push(piece.slice());
    else this.#text += piece.toBase64();
  };

  async makeRoom(): Promise<void> {
    this.#leavePlace = await this.#takePlace();
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
      this.#signal.removeEventListener("abort", close);
      source.close();
      this.#leavePlace?.();
      left.resolve();
    };
    if (this.#signal.aborted) close();
    else this.#signal.addEventListener("abort", close);
    const { length, heldBytes } = source;
    const watched: ByteSource = { length, heldBytes, next: () => source.next(), close };
    // What is read as it leaves must not be written by a later request of the same client before.
    return new StreamedResult(BEFORE + this.#text, watched, AFTER, this.#source === null ? undefined : left.promise);
  }
}
