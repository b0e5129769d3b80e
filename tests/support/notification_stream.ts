/** The notifications of one process as an async iterator. */

import type { ProcessNotification } from "../../src/protocol/method_types.ts";

export class NotificationStream implements AsyncIterableIterator<ProcessNotification> {
  #queue: ProcessNotification[] = [];
  #waiters: ((result: IteratorResult<ProcessNotification>) => void)[] = [];
  #isEnded = false;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(notification: ProcessNotification): void {
    if (this.#isEnded) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) waiter({ done: false, value: notification });
    else this.#queue.push(notification);
    if (notification.method === "process/closed" || notification.method === "process/failed") this.end();
  }

  /** No more will come; what is queued can still be taken. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
    for (const waiter of this.#waiters.splice(0)) waiter({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<ProcessNotification>> {
    const value = this.#queue.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isEnded) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  return(): Promise<IteratorResult<ProcessNotification>> {
    this.#queue = [];
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
