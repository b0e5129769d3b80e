/**
 * Reads one nonblocking descriptor (the read end of a pipe, or a terminal's master) until it ends.
 *
 * Owns the descriptor and closes it. Delivers bytes as soon as they can be read and never holds any back: what is not
 * wanted yet stays in the kernel, where it makes the writer wait.
 */

import { closeDescriptor, readableBytes, readInto } from "../descriptor.ts";
import { describeErrno, EAGAIN, EINTR, EIO } from "../errno.ts";
import { allocate, type CBuffer, lastErrno, libc } from "../libc.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "./epoll_event.ts";
import type { Reactor, Registration } from "./reactor.ts";

/**
 * How much is read from one descriptor in one turn, before others get theirs. A terminal gives 4 KiB at a time, so its
 * turn is bounded by the number of reads and a pipe's by the bytes.
 */
const READS_PER_TURN = 16;
const BYTES_PER_TURN = 256 * 1024;

/** What a terminal gives at once when there is more behind it. */
const TERMINAL_FULL_BYTES = 4095;

/**
 * How long to stay for the rest. The kernel moves it into place on another thread, within some 15 us. A read or a poll
 * before that puts this thread to sleep until it is done, which takes three times as long.
 */
const TERMINAL_REFILL_MS = 0.04;

export interface ReaderOptions {
  readonly maxChunkBytes: number;
  /** The array belongs to the receiver. May pause or close the reader. */
  onBytes(bytes: Uint8Array<ArrayBuffer>): void;
  /**
   * Called once: at the end of the file, when a terminal hangs up, or with the operating system's text when it cannot
   * be read any more. Not called after `close`.
   */
  onEnd(failure: string | null): void;
}

/** One for all readers: reading is synchronous and every chunk is copied out at its right size. */
let scratch: CBuffer = allocate(0);

export class FdReader {
  readonly #registration: Registration;
  readonly #options: ReaderOptions;
  #isClosed = false;

  /** Takes the descriptor over, which must be nonblocking. Starts paused. */
  constructor(reactor: Reactor, fd: number, options: ReaderOptions) {
    this.#registration = reactor.register(fd, (events) => this.#read((events & (EPOLLHUP | EPOLLERR)) !== 0));
    this.#options = options;
  }

  resume(): void {
    if (!this.#isClosed) this.#registration.arm(EPOLLIN);
  }

  pause(): void {
    this.#registration.disarm();
  }

  /** Delivers what can be read this moment, within the bound of one turn. Does nothing while paused. */
  readAvailable(): void {
    if (this.#registration.isArmed) this.#read(false);
  }

  /** The same, but delivers all of it: a pipe may have been made to hold more than is read in one turn. */
  readRest(): void {
    if (!this.#registration.isArmed) return;
    // What is written meanwhile does not count: a writer that never stops would keep us here.
    let rest = readableBytes(this.#registration.fd);
    for (let count = -1; count !== 0 && this.#registration.isArmed; rest -= count) {
      count = this.#read(false);
      if (count >= rest) return;
    }
  }

  /** Closes the descriptor; whatever has not been read is lost. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#registration.disarm();
    closeDescriptor(this.#registration.fd);
  }

  /** Returns how many bytes it has delivered. */
  #read(isHungUp: boolean): number {
    const { maxChunkBytes } = this.#options;
    if (scratch.length < maxChunkBytes) scratch = allocate(maxChunkBytes);
    let filled = 0;
    let total = 0;
    // Several short reads become one chunk: each chunk costs its receiver far more than a read costs us.
    for (let reads = 0; reads < READS_PER_TURN && total < BYTES_PER_TURN; reads++) {
      const count = readInto(this.#registration.fd, scratch.subarray(filled, maxChunkBytes));
      if (count <= 0) {
        if (filled > 0) this.#options.onBytes(scratch.slice(0, filled));
        // Nothing to read is the end only together with a hang-up (a terminal then fails with EIO); otherwise the
        // descriptor is merely empty. A hang-up that came after the wait is reported by the next one.
        const failure = count < 0 && reads === 0 ? readFailure() : null;
        if ((count === 0 || isHungUp || failure !== null) && this.#registration.isArmed) this.#end(failure);
        return total;
      }
      filled += count;
      total += count;
      if (count === TERMINAL_FULL_BYTES) this.#stayForRest();
      if (filled < maxChunkBytes) continue;
      this.#options.onBytes(scratch.slice(0, filled));
      filled = 0;
      if (!this.#registration.isArmed) return total;
    }
    if (filled > 0) this.#options.onBytes(scratch.slice(0, filled));
    return total;
  }

  #stayForRest(): void {
    const untilMs = performance.now() + TERMINAL_REFILL_MS;
    while (readableBytes(this.#registration.fd) === 0 && performance.now() < untilMs) libc().sched_yield();
  }

  #end(failure: string | null): void {
    this.close();
    this.#options.onEnd(failure);
  }
}

/** Why the last read failed; null when it only found nothing, or a terminal that is hung up. */
function readFailure(): string | null {
  const errno = lastErrno();
  return errno === EAGAIN || errno === EINTR || errno === EIO ? null : describeErrno(errno);
}
