/** The events of one process as an async iterator. If the reader stops, the process has to wait. */

import type { ProcessStatus } from "./process_status.ts";

/**
 * Something that happened to a process.
 *
 * ```ts
 * for await (const event of handle.events) {
 *   const shown: ProcessEvent["type"] = event.type;
 *   console.log(shown, event.seq);
 * }
 * ```
 */
export type ProcessEvent =
  | {
    readonly type: "output";
    /** Its number: a cursor to come back to. */
    readonly seq: number;
    readonly stream: "stdout" | "stderr" | "terminal";
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  /** Output is lost here. Null: how much is not known. */
  | { readonly type: "gap"; readonly seq: number; readonly droppedBytes: number | null }
  /** The process has exited. Output of its descendants may still follow. */
  | { readonly type: "exited"; readonly seq: number; readonly status: ProcessStatus }
  /** All its output has come. The last event. */
  | { readonly type: "closed"; readonly seq: number };

type Waiter = PromiseWithResolvers<IteratorResult<ProcessEvent, undefined>>;

const DONE = { done: true, value: undefined } as const;

/** See the head of the module. */
export class EventQueue implements AsyncIterableIterator<ProcessEvent, undefined> {
  readonly #onTaken: (bytes: number) => void;
  #queue: ProcessEvent[] = [];
  readonly #waiters: Waiter[] = [];
  #queuedBytes = 0;
  #end: { readonly error: Error | null } | null = null;

  /** Called when output was read. */
  constructor(onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken;
  }

  /** Output kept here. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The number of the oldest event that nobody has taken. */
  get firstSeq(): number | null {
    return this.#queue[0]?.seq ?? null;
  }

  /** Gives an event to the waiting reader, or keeps it. */
  add(event: ProcessEvent): void {
    if (this.#end !== null) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: event });
      this.#onTaken(bytesOf(event));
    } else {
      this.#queue.push(event);
      this.#queuedBytes += bytesOf(event);
    }
  }

  /** Drops the oldest output until at most this much is kept. Returns how much was dropped. */
  dropOldest(maxBytes: number): number {
    let dropped = 0;
    while (this.#queuedBytes - dropped > maxBytes) dropped += bytesOf(this.#queue.shift()!);
    this.#queuedBytes -= dropped;
    return dropped;
  }

  /** No more will come. What is kept can still be read. */
  end(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    for (const waiter of this.#waiters.splice(0)) {
      if (error === null) waiter.resolve(DONE);
      else waiter.reject(error);
    }
  }

  /** The next event. */
  next(): Promise<IteratorResult<ProcessEvent, undefined>> {
    const event = this.#queue.shift();
    if (event !== undefined) {
      this.#queuedBytes -= bytesOf(event);
      this.#onTaken(bytesOf(event));
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#end !== null) return this.#end.error === null ? Promise.resolve(DONE) : Promise.reject(this.#end.error);
    const waiter = Promise.withResolvers<IteratorResult<ProcessEvent, undefined>>();
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  /** Nothing more is wanted: the process need not wait any more. */
  return(): Promise<IteratorResult<ProcessEvent, undefined>> {
    this.end(null);
    const bytes = this.#queuedBytes;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#onTaken(bytes);
    return Promise.resolve(DONE);
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }
}

function bytesOf(event: ProcessEvent): number {
  return event.type === "output" ? event.bytes.length : 0;
}
