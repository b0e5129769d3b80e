/**
 * How many bytes of answers one connection may have reserved and not sent yet.
 *
 * A request whose answer may be long reserves its bytes before it runs: known, or estimated and corrected later. They
 * are released when the answer has left. What does not fit waits in one line, first come, first served. An answer
 * longer than the whole budget goes alone. All connections together share a second bound. When that is reached, each
 * connection keeps its minimum, or one answer at a time: no client ever waits for bytes that another peer does not
 * read.
 *
 * As long as nobody waits, this is only adding and subtracting. It knows neither messages nor requests.
 */

import { invalidRequest } from "../errors.ts";
import { Fifo } from "./fifo.ts";

/** What all connections of a server have reserved together. */
export class SharedAnswers {
  readonly limit: number;
  used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }
}

export interface AnswerBudgetOptions {
  readonly limit: number;
  /** Always available, however much other connections have reserved. */
  readonly floor: number;
  readonly shared: SharedAnswers;
}

interface Waiter {
  readonly bytes: number;
  isGone: boolean;
  admit(): void;
  refuse(error: unknown): void;
}

export class AnswerBudget {
  readonly #limit: number;
  readonly #floor: number;
  readonly #shared: SharedAnswers;
  readonly #line = new Fifo<Waiter>();
  #used = 0;
  #isServing = false;
  #isClosed = false;

  constructor({ limit, floor, shared }: AnswerBudgetOptions) {
    this.#limit = limit;
    this.#floor = floor;
    this.#shared = shared;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes the bytes if they fit and nobody waits. */
  tryTake(bytes: number): boolean {
    if (this.#line.length > 0 || !this.#fits(bytes)) return false;
    this.#add(bytes);
    return true;
  }

  /** For bytes that `tryTake` refused: calls `admit` once they are taken, and never if closed before. */
  wait(bytes: number, admit: () => void): void {
    if (!this.#isClosed) this.#line.push({ bytes, isGone: false, admit, refuse: () => {} });
  }

  /** Takes the bytes, at once if possible. The promise rejects when the budget is closed, or with the signal's reason. */
  take(bytes: number, signal?: AbortSignal): void | Promise<void> {
    if (this.tryTake(bytes)) return;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiter.isGone = true;
        reject(signal?.reason);
        this.#serve();
      };
      const settled = (): void => signal?.removeEventListener("abort", leave);
      const waiter: Waiter = {
        bytes,
        isGone: false,
        admit: () => {
          settled();
          resolve();
        },
        refuse: (error) => {
          settled();
          reject(error);
        },
      };
      this.#line.push(waiter);
      signal?.addEventListener("abort", leave, { once: true });
      if (signal?.aborted) leave();
    });
  }

  give(bytes: number): void {
    this.exchange(bytes, 0);
  }

  /** What was reserved turns out to be this much. May exceed the limit: an answer that exists is never refused. */
  exchange(promised: number, actual: number): void {
    if (this.#isClosed) return;
    this.#add(actual - promised);
    if (this.#line.length > 0) this.#serve();
  }

  /** Nothing more will be sent: everything is released, and waiting callers are refused. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#shared.used -= this.#used;
    this.#used = 0;
    for (let next = this.#line.shift(); next !== undefined; next = this.#line.shift()) {
      if (!next.isGone) next.refuse(invalidRequest("the connection has ended"));
    }
  }

  #fits(bytes: number): boolean {
    const used = this.#used + bytes;
    if (this.#used === 0 || used <= this.#floor || this.#isClosed) return true;
    return used <= this.#limit && this.#shared.used + bytes <= this.#shared.limit;
  }

  #add(bytes: number): void {
    if (this.#isClosed) return;
    this.#used += bytes;
    this.#shared.used += bytes;
  }

  #serve(): void {
    // An admitted caller may answer at once and release bytes: the running loop sees that.
    if (this.#isServing) return;
    this.#isServing = true;
    for (let next = this.#line.peek(); next !== undefined; next = this.#line.peek()) {
      if (!next.isGone && !this.#fits(next.bytes)) break;
      this.#line.shift();
      if (next.isGone) continue;
      this.#add(next.bytes);
      next.admit();
    }
    this.#isServing = false;
  }
}
