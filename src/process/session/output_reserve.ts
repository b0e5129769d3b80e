/**
 * What output that no client has acknowledged may take in memory, over all processes of a server.
 *
 * A process that loses nothing takes its window here before it is started, so memory is reserved before it is used. More
 * is lent while the client is away or keeps pace with a fast process, but never the last part, which is left for new
 * starts. A process that was refused more can wait until some comes free.
 */

import { DEFAULT_ACKNOWLEDGED_OUTPUT_BYTES, RESERVED_FOR_STARTS } from "../limits.ts";

export class OutputReserve {
  readonly maxBytes: number;
  readonly #maxLentBytes: number;
  readonly #waiting = new Set<() => void>();
  #takenBytes = 0;

  constructor(maxBytes: number = DEFAULT_ACKNOWLEDGED_OUTPUT_BYTES) {
    this.maxBytes = maxBytes;
    this.#maxLentBytes = Math.floor(maxBytes * (1 - RESERVED_FOR_STARTS));
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** For a start. False: there is not that much left, and nothing was taken. */
  tryTake(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.maxBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** For a process whose client is away, or reads faster than its acknowledgements travel. */
  tryLend(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.#maxLentBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** What was taken turned out to be more or less. It is in use already, so this cannot be refused. */
  exchange(bytes: number, newBytes: number): void {
    this.#takenBytes += newBytes - bytes;
    if (newBytes >= bytes || this.#waiting.size === 0) return;
    for (const tryAgain of [...this.#waiting]) tryAgain();
  }

  give(bytes: number): void {
    this.exchange(bytes, 0);
  }

  /** Calls whenever something has come free, until it is told to stop. */
  wait(tryAgain: () => void): void {
    this.#waiting.add(tryAgain);
  }

  stopWaiting(tryAgain: () => void): void {
    this.#waiting.delete(tryAgain);
  }
}
