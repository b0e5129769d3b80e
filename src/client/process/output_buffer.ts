/**
 * What one stream of a process has written and its user has not read yet.
 *
 * At first the output is kept, and the process waits when too much is kept. Later it is either read as a stream, or
 * given to a receiver that takes everything at once.
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

/** Emptied slots are removed together, once there are this many. */
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
  /** How many bytes went to a receiver instead of the stream. */
  #passedBytes = 0;

  /** Called when something was read, which may make room. */
  constructor(onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken;
  }

  /** Kept here for a reader. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The number of the oldest chunk that was not read; null if there is none. */
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
    // After a gap the stream must not go on as if nothing was missing.
    if (this.#end !== null) return;
    this.#chunks.push({ seq, bytes });
    this.#queuedBytes += bytes.length;
    this.#wake?.();
  }

  /** What is kept. It stays here. */
  kept(): Chunk[] {
    return this.#chunks.slice(this.#first).filter((chunk) => chunk !== undefined);
  }

  /** Removes and returns all that is kept. */
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

  /** No more will come. What is queued can still be read, even if an error follows. */
  end(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#wake?.();
  }

  /** From now on gives everything to a receiver. Not for a buffer that is read as a stream. */
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
      // The process must not wait for a reader that does not want the rest.
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
