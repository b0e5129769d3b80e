/**
 * The one ordered line of messages to a peer, with a single writer.
 *
 * Two kinds share it. Replies are always taken and never dropped; when too many pile up the connection stops reading
 * requests (`isReplyBacklogged`). Output is taken too, but its sources ask `hasRoom` first and pause until `onRoom`, so
 * a slow peer stops the children that talk to it and memory stays flat. Since output never queues more than its mark, a
 * reply waits behind at most that much of it.
 */

import {
  OUTPUT_HIGH_WATER_BYTES,
  OUTPUT_LOW_WATER_BYTES,
  REPLY_HIGH_WATER_BYTES,
  SEND_BATCH_BYTES,
} from "../protocol/limits.ts";
import { Fifo } from "./fifo.ts";
import { heldLength, type OutboundMessage } from "./link.ts";

export interface OutboundQueueOptions {
  /** Hands messages to the transport; the next call is made when it has resolved. */
  send(messages: readonly OutboundMessage[]): Promise<void>;
  /** Output sources may go on. Called at most once per pause. */
  onRoom(): void;
  /** The transport refused: the connection is gone. Called once. */
  onFailure(error: unknown): void;
  outputHighWaterBytes?: number;
  outputLowWaterBytes?: number;
  replyHighWaterBytes?: number;
}

interface Entry {
  readonly message: OutboundMessage;
  readonly length: number;
  readonly isOutput: boolean;
}

export class OutboundQueue {
  readonly #options: OutboundQueueOptions;
  readonly #highWater: number;
  readonly #lowWater: number;
  readonly #replyHighWater: number;
  readonly #entries = new Fifo<Entry>();
  #outputBytes = 0;
  #replyBytes = 0;
  #isFull = false;
  #isSending = false;
  #isClosed = false;
  #drainWaiters: (() => void)[] = [];
  #replyRoomWaiters: (() => void)[] = [];

  constructor(options: OutboundQueueOptions) {
    this.#options = options;
    this.#highWater = options.outputHighWaterBytes ?? OUTPUT_HIGH_WATER_BYTES;
    this.#lowWater = options.outputLowWaterBytes ?? Math.min(OUTPUT_LOW_WATER_BYTES, this.#highWater / 2);
    this.#replyHighWater = options.replyHighWaterBytes ?? REPLY_HIGH_WATER_BYTES;
  }

  /** Whether output sources may go on. Once false it stays so until `onRoom`. */
  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** Bytes waiting, in UTF-16 units: the messages are ASCII but for a few texts. */
  get queuedBytes(): number {
    return this.#outputBytes + this.#replyBytes;
  }

  get isReplyBacklogged(): boolean {
    return this.#replyBytes > this.#replyHighWater;
  }

  /** Resolves when replies are no longer backlogged, or the queue is closed. */
  whenReplyRoom(): Promise<void> {
    if (!this.isReplyBacklogged || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#replyRoomWaiters.push(resolve));
  }

  /** Queues an answer or a small notification. */
  pushReply(message: OutboundMessage): void {
    if (this.#isClosed) return;
    const length = heldLength(message);
    this.#replyBytes += length;
    this.#push({ message, length, isOutput: false });
  }

  /** Queues bulk output. The caller pauses when `hasRoom` turns false. */
  pushOutput(message: OutboundMessage): void {
    if (this.#isClosed) return;
    const length = heldLength(message);
    this.#outputBytes += length;
    if (this.#outputBytes >= this.#highWater) this.#isFull = true;
    this.#push({ message, length, isOutput: true });
  }

  /** Resolves when everything queued so far has left, or the queue was closed. */
  drained(): Promise<void> {
    if (this.#isClosed || (!this.#isSending && this.#entries.length === 0)) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push(resolve));
  }

  /** Drops what is queued and refuses more. Sources are not told: they lose their sink at the same time. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#entries.clear();
    this.#outputBytes = 0;
    this.#replyBytes = 0;
    wake(this.#drainWaiters);
    wake(this.#replyRoomWaiters);
  }

  #push(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#isSending) return;
    this.#isSending = true;
    // One microtask later, so that what one event produces (the last output, exited, closed) leaves in one packet.
    queueMicrotask(() => this.#pump());
  }

  async #pump(): Promise<void> {
    while (this.#entries.length > 0 && !this.#isClosed) {
      const batch = this.#takeBatch();
      try {
        await this.#options.send(batch.map((entry) => entry.message));
      } catch (error) {
        this.#isSending = false;
        if (this.#isClosed) return;
        this.close();
        this.#options.onFailure(error);
        return;
      }
      if (!this.#isClosed) this.#release(batch);
    }
    this.#isSending = false;
    wake(this.#drainWaiters);
  }

  #takeBatch(): Entry[] {
    const batch: Entry[] = [];
    for (let bytes = 0; this.#entries.length > 0 && bytes < SEND_BATCH_BYTES;) {
      const entry = this.#entries.shift()!;
      batch.push(entry);
      bytes += entry.length;
    }
    return batch;
  }

  #release(batch: readonly Entry[]): void {
    for (const { length, isOutput } of batch) {
      if (isOutput) this.#outputBytes -= length;
      else this.#replyBytes -= length;
    }
    if (!this.isReplyBacklogged) wake(this.#replyRoomWaiters);
    if (this.#isFull && this.#outputBytes <= this.#lowWater) {
      this.#isFull = false;
      this.#options.onRoom();
    }
  }
}

function wake(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
