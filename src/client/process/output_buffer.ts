/**
 * What one stream of a process has written and its user has not taken yet.
 *
 * Nobody has decided about it at first: it is kept, and the process waits when too much is. Then it is either read as a
 * stream, or handed to a receiver that takes everything at once.
 */

import { OutputGapError } from "../errors.ts";
import { OutputStream } from "./output_stream.ts";

/** Takes everything as it comes. */
export type OutputReceiver = (bytes: Uint8Array<ArrayBuffer>) => void;

/** A piece of output with its number. */
export interface Chunk {
  readonly seq: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Taken slots are reclaimed in bulk, from this many on. */
const MIN_RECLAIMED_SLOTS = 256;

/** See the head of the module. */
export class OutputBuffer {
  readonly #onTaken: (bytes: number) => void;
  #chunks: (Chunk | undefined)[] = [];
  #first = 0;
  #queuedBytes = 0;
  #receiver: OutputReceiver | null = null;
  #stream: OutputStream | null = null;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #wake: (() => void) | null = null;
  /** Null while more may come; then how it ended. */
  #end: { readonly error: Error | null } | null = null;
  /** What went by before anybody took the stream. */
  #passedBytes = 0;

  /** Tells when something was taken, which may make room. */
  constructor(onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken;
  }

  /** Kept here for a reader. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The number of the oldest chunk that nobody has taken; null when there is none. */
  get firstSeq(): number | null {
    return this.#chunks[this.#first]?.seq ?? null;
  }

  get isUndecided(): boolean {
    return this.#receiver === null && this.#stream === null;
  }

  add(seq: number, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#receiver !== null) {
      this.#passedBytes += bytes.length;
      this.#receiver(bytes);
      return;
    }
    // After a gap nothing is read any more, as if nothing was missing.
    if (this.#end !== null) return;
    this.#chunks.push({ seq, bytes });
    this.#queuedBytes += bytes.length;
    this.#wake?.();
  }

  /** What is kept, without taking it. */
  kept(): Chunk[] {
    return this.#chunks.slice(this.#first).filter((chunk) => chunk !== undefined);
  }

  /** Takes out all that is kept. */
  takeAll(): Chunk[] {
    const chunks: Chunk[] = [];
    for (let chunk = this.#shift(); chunk !== null; chunk = this.#shift()) chunks.push(chunk);
    return chunks;
  }

  /** Drops the oldest until at most this much is kept. Returns how much was dropped. */
  dropOldest(maxBytes: number): number {
    let dropped = 0;
    while (this.#queuedBytes > maxBytes) dropped += this.#shift()!.bytes.length;
    return dropped;
  }

  /** No more will come. What is queued can still be read, also before an error. */
  end(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#wake?.();
  }

  /** Hands everything to a receiver from now on. Not for a buffer that is read as a stream. */
  receive(receiver: OutputReceiver): void {
    this.#receiver = receiver;
    for (const { bytes } of this.takeAll()) {
      this.#passedBytes += bytes.length;
      receiver(bytes);
    }
  }

  /** The stream of this buffer, the same every time. */
  get stream(): OutputStream {
    return this.#stream ??= this.#makeStream();
  }

  #makeStream(): OutputStream {
    const passed = this.#passedBytes;
    this.#receiver = null;
    return new OutputStream({
      start: (controller) => {
        this.#controller = controller;
        if (passed === 0) return;
        const message = `cannot read this stream from its beginning: ${passed} bytes came before anyone read it; ` +
          "begin to read before you await the status";
        controller.error(new OutputGapError(message, { afterSeq: 0, droppedBytes: passed }));
        this.#receiver = () => {};
      },
      pull: () => this.#pull(),
      // A reader that does not want the rest must not hold the process back.
      cancel: () => this.receive(() => {}),
    }, { highWaterMark: 0 });
  }

  #pull(): void | Promise<void> {
    const chunk = this.#shift();
    if (chunk !== null) {
      this.#controller!.enqueue(chunk.bytes);
      return;
    }
    if (this.#end === null) return this.#waitAndPull();
    if (this.#end.error === null) this.#controller!.close();
    else this.#controller!.error(this.#end.error);
  }

  async #waitAndPull(): Promise<void> {
    await new Promise<void>((resolve) => this.#wake = resolve);
    this.#wake = null;
    if (this.#receiver === null) return this.#pull();
  }

  #shift(): Chunk | null {
    const chunk = this.#chunks[this.#first] ?? null;
    if (chunk === null) return null;
    this.#chunks[this.#first++] = undefined;
    this.#queuedBytes -= chunk.bytes.length;
    if (this.#first >= MIN_RECLAIMED_SLOTS && this.#first * 2 > this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
    this.#onTaken(chunk.bytes.length);
    return chunk;
  }
}
