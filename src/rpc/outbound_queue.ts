/**
 * The one ordered line of messages to a peer, with a single writer.
 *
 * Three kinds of messages share it. Answers that may be long were promised: their bytes were taken from the budget
 * before they were made, and are given back here when they have been sent. Short replies are always accepted and never
 * dropped; when too many pile up, the connection stops reading requests (`isReplyBacklogged`). Output is accepted too,
 * but its sources ask `hasRoom` first and pause until `onRoom`. So a slow peer pauses the children whose output it
 * gets, and memory stays flat. A reply waits behind at most that mark of output, and the one message
 * that went beyond it.
 */

import type { AnswerBudget } from "./answer_budget.ts";
import { Fifo } from "./fifo.ts";
import { heldLength, type OutboundMessage } from "./link.ts";

export interface OutboundLimits {
  /** Output queued before its sources pause. */
  readonly outputHighWaterBytes: number;
  /** Output still queued when they resume. */
  readonly outputLowWaterBytes: number;
  /** Short replies queued before the connection stops reading requests. */
  readonly replyHighWaterBytes: number;
  /** The transport gets messages in batches: a batch is full when its messages together are this long. */
  readonly sendBatchBytes: number;
}

export interface OutboundQueueOptions {
  /** Hands messages to the transport; the next call is made when it has resolved. */
  send(messages: readonly OutboundMessage[]): Promise<void>;
  /** Output sources may go on. Called at most once per pause. */
  onRoom(): void;
  /** The transport refused: the connection is gone. Called once. */
  onFailure(error: unknown): void;
  limits: OutboundLimits;
  /** Where promised answers have taken their bytes. */
  answers?: AnswerBudget;
}

interface Entry {
  readonly message: OutboundMessage;
  readonly length: number;
  readonly kind: "answer" | "reply" | "output";
}

export class OutboundQueue {
  readonly #options: OutboundQueueOptions;
  readonly #limits: OutboundLimits;
  readonly #entries = new Fifo<Entry>();
  #outputBytes = 0;
  #replyBytes = 0;
  #answerBytes = 0;
  #isFull = false;
  #isSending = false;
  #isClosed = false;
  #drainWaiters: (() => void)[] = [];
  #replyRoomWaiters: (() => void)[] = [];

  constructor(options: OutboundQueueOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  /** Whether output sources may go on. Once false it stays so until `onRoom`. */
  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** Bytes waiting, counted in UTF-16 units: all messages except a few texts are ASCII. */
  get queuedBytes(): number {
    return this.#outputBytes + this.#replyBytes + this.#answerBytes;
  }

  get isReplyBacklogged(): boolean {
    return this.#replyBytes > this.#limits.replyHighWaterBytes;
  }

  /** Resolves when replies are no longer backlogged, or the queue is closed. */
  whenReplyRoom(): Promise<void> {
    if (!this.isReplyBacklogged || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#replyRoomWaiters.push(resolve));
  }

  /** Queues a short answer or notification. */
  pushReply(message: OutboundMessage): void {
    if (this.#isClosed) return;
    const length = heldLength(message);
    this.#replyBytes += length;
    this.#push({ message, length, kind: "reply" });
  }

  /**
   * Queues an answer for which `promisedBytes` were taken from the budget. From here on the budget counts its real
   * length.
   */
  pushAnswer(message: OutboundMessage, promisedBytes: number): void {
    if (this.#isClosed) return;
    const length = heldLength(message);
    this.#answerBytes += length;
    this.#push({ message, length, kind: "answer" });
    this.#options.answers?.exchange(promisedBytes, length);
  }

  /** Queues bulk output. The caller pauses when `hasRoom` turns false. */
  pushOutput(message: OutboundMessage): void {
    if (this.#isClosed) return;
    const length = heldLength(message);
    this.#outputBytes += length;
    if (this.#outputBytes >= this.#limits.outputHighWaterBytes) this.#isFull = true;
    this.#push({ message, length, kind: "output" });
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
    this.#answerBytes = 0;
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
    for (let bytes = 0; this.#entries.length > 0 && bytes < this.#limits.sendBatchBytes;) {
      const entry = this.#entries.shift()!;
      batch.push(entry);
      bytes += entry.length;
    }
    return batch;
  }

  #release(batch: readonly Entry[]): void {
    let answerBytes = 0;
    for (const { length, kind } of batch) {
      if (kind === "output") this.#outputBytes -= length;
      else if (kind === "reply") this.#replyBytes -= length;
      else answerBytes += length;
    }
    if (answerBytes > 0) {
      this.#answerBytes -= answerBytes;
      this.#options.answers?.give(answerBytes);
    }
    if (!this.isReplyBacklogged) wake(this.#replyRoomWaiters);
    if (this.#isFull && this.#outputBytes <= this.#limits.outputLowWaterBytes) {
      this.#isFull = false;
      this.#options.onRoom();
    }
  }
}

function wake(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
