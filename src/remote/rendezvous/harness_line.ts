/**
 * The way from an executor to one harness: a queue, bounded in bytes, so that harnesses of one executor that read at
 * different speeds do not wait for each other.
 *
 * Our own executors are told what has left (`harness_stream.ts`) and wait by themselves, so nobody else ever waits. Other
 * executors are not read while the queue is full, which slows down all their clients. A harness that goes on taking bytes
 * may do that, since otherwise a large answer could never reach it; one that takes none is dropped. While we find out
 * which it is, the other clients do not wait, unless the executor sends very fast.
 */

import type { Bytes } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import type { Farewell } from "../../rpc/link.ts";
import type { MessageSocket, RawMessage } from "../../transport/websocket/message_socket.ts";
import { MAX_LINE_BYTES, MAX_QUEUED_BYTES, MAX_QUEUED_UNJUDGED_BYTES, MAX_STALL_MS } from "./limits.ts";

/** Messages handed to the kernel together, up to about this. */
const BATCH_BYTES = 256 * 1024;

const DOES_NOT_READ: Farewell = { cause: "violation", reason: "the client does not read, and delays others" };

interface Queued extends RawMessage {
  readonly onLeft: (() => void) | undefined;
}

export class HarnessLine {
  readonly #socket: MessageSocket;
  readonly #clock: Clock;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #isSending = false;
  #isEnded = false;
  /** Set while the queue is fuller than it should be. */
  #judging: Judging | null = null;
  #onEmpty: () => void = () => {};
  /** Streams that are the harness's. */
  readonly streams = new Set<string>();
  /** How many there were in all. */
  streamCount = 0;
  #sentBytes = 0;

  constructor(socket: MessageSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Payload bytes that have left. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Passes on a message whose bytes are lent, of an executor that is told when it has left. Nobody waits. */
  pass(bytes: Bytes, onLeft: () => void): void {
    if (this.#isEnded) return;
    this.#enqueue(bytes.slice(), onLeft);
    if (this.#queuedBytes > MAX_LINE_BYTES) this.#drop();
  }

  /** The same of an executor that cannot be told. A promise: the queue was full, and is not any more. */
  passHolding(bytes: Bytes): void | Promise<void> {
    if (this.#isEnded) return;
    return this.tell(bytes.slice());
  }

  /** The same for a message of our own. */
  tell(bytes: Bytes): void | Promise<void> {
    if (this.#isEnded) return;
    this.#enqueue(bytes);
    if (this.#queuedBytes <= MAX_QUEUED_BYTES) return;
    const judging = this.#judging ??= this.#judge();
    if (judging.isSlow || this.#queuedBytes > MAX_QUEUED_UNJUDGED_BYTES) return judging.room.promise;
  }

  /** Closes the websocket when what is queued has left. */
  finish(farewell: Farewell): void {
    if (this.#isEnded) return;
    if (!this.#isSending) return this.#socket.close(farewell);
    this.#onEmpty = () => this.#socket.close(farewell);
  }

  /** Nothing can be sent any more. */
  end(): void {
    this.#isEnded = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#acquit();
  }

  #enqueue(bytes: Bytes, onLeft?: () => void): void {
    this.#queue.push({ isText: false, bytes, onLeft });
    this.#queuedBytes += bytes.length;
    if (!this.#isSending) void this.#sendAll();
  }

  /** Never rejects: a connection that is gone ends by itself. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#queue.length > 0) {
        const { batch, bytes } = this.#nextBatch();
        await this.#socket.send(batch);
        this.#sentBytes += bytes;
        this.#queuedBytes = Math.max(0, this.#queuedBytes - bytes);
        if (this.#queuedBytes <= MAX_QUEUED_BYTES / 2) this.#acquit();
        for (const { onLeft } of batch) onLeft?.();
      }
    } catch {
      this.end();
    }
    this.#isSending = false;
    this.#onEmpty();
  }

  #nextBatch(): { batch: Queued[]; bytes: number } {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && bytes < BATCH_BYTES) bytes += this.#queue[count++]!.bytes.length;
    return { batch: this.#queue.splice(0, count), bytes };
  }

  /** Watches whether anything leaves, until half of the queue has. */
  #judge(): Judging {
    const judging: Judging = { isSlow: false, room: Promise.withResolvers<void>(), cancel: () => {} };
    const watch = () => {
      const before = this.#socket.writtenBytes;
      judging.cancel = this.#clock.setTimer(MAX_STALL_MS, () => {
        if (this.#socket.writtenBytes === before) return this.#drop();
        judging.isSlow = true;
        watch();
      });
    };
    watch();
    return judging;
  }

  /** The queue is short enough again, or gone. */
  #acquit(): void {
    this.#judging?.cancel();
    this.#judging?.room.resolve();
    this.#judging = null;
  }

  #drop(): void {
    this.#socket.close(DOES_NOT_READ);
    this.end();
  }
}

interface Judging {
  /** The harness reads, but more slowly than data comes for it. */
  isSlow: boolean;
  readonly room: PromiseWithResolvers<void>;
  cancel: () => void;
}
