/**
 * The queue from an executor to one harness, bounded in bytes, so that harnesses of one executor that read at different
 * speeds do not wait for each other.
 *
 * Our own executors are told what has left (`harness_stream.ts`) and wait by themselves, so other clients never wait.
 * From other executors nothing is read while the queue is full, which slows down all their clients. This is accepted
 * while the harness goes on reading, since otherwise a large answer could never reach it. A harness that reads nothing
 * is dropped. While we find out which it is, the other clients do not wait, unless the executor sends very fast.
 */

import type { Bytes } from "../../bytes.ts";
import type { Clock } from "../../clock.ts";
import type { Farewell } from "../../rpc/link.ts";
import type { MessageSocket, RawMessage } from "../../transport/websocket/message_socket.ts";
import { MAX_LINE_BYTES, MAX_QUEUED_BYTES, MAX_QUEUED_UNJUDGED_BYTES, MAX_STALL_MS } from "./limits.ts";

/** About how many bytes of messages are given to the kernel together. */
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
  /** The streams of this harness. */
  readonly streams = new Set<string>();
  /** How many streams it has had. */
  streamCount = 0;
  #sentBytes = 0;

  constructor(socket: MessageSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** How many bytes of payloads have left. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Passes on a message from an executor that is told what has left. The bytes are lent. Nobody waits. */
  pass(bytes: Bytes, onLeft: () => void): void {
    if (this.#isEnded) return;
    this.#enqueue(bytes.slice(), onLeft);
    if (this.#queuedBytes > MAX_LINE_BYTES) this.#drop();
  }

  /**
   * The same for an executor that cannot be told. Returns a promise if the queue is full, which resolves when there is
   * room.
   */
  passHolding(bytes: Bytes): void | Promise<void> {
    if (this.#isEnded) return;
    return this.tell(bytes.slice());
  }

  /** Sends our own message. */
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

  /** Nothing more can be sent. */
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

  /** Never rejects: the end of the connection is reported elsewhere. */
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

  /** The queue is short enough again, or the connection is gone. */
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
  /** The harness reads, but more slowly than its data comes. */
  isSlow: boolean;
  readonly room: PromiseWithResolvers<void>;
  cancel: () => void;
}
