/**
 * Writes to one nonblocking descriptor (the write end of a pipe, or a terminal's master), in order and without loss.
 *
 * Owns the descriptor and closes it: when asked and everything queued has been taken, or when the other side is gone.
 * It sets no bound on what is queued; `queuedBytes` lets the caller set one.
 */

import { closeDescriptor, setPipeCapacity, writeFrom } from "../descriptor.ts";
import type { CBuffer } from "../libc.ts";
import { EPOLLERR, EPOLLHUP, EPOLLOUT } from "./epoll_event.ts";
import type { Reactor, Registration } from "./reactor.ts";

/** Offered to the kernel at a time: what a pipe holds. */
const WRITE_BYTES = 64 * 1024;

/** Per turn, so that a fast reader of a huge input does not keep everybody else waiting. */
const WRITES_PER_TURN = 16;

/**
 * What a pipe is made to hold once it was full: with the usual 64 KiB, writer and reader wake each other for every
 * chunk. The kernel takes the memory only as it is filled.
 */
const BUSY_PIPE_BYTES = 512 * 1024;

export type WriteOutcome = "written" | "closed";

interface QueuedWrite {
  readonly bytes: CBuffer;
  readonly settle: (outcome: WriteOutcome) => void;
}

export class FdWriter {
  readonly #registration: Registration;
  readonly #queue: QueuedWrite[] = [];
  /** Bytes of the first queued write that the kernel already has. */
  #offset = 0;
  #queuedBytes = 0;
  #wasFull = false;
  #state: "open" | "ending" | "closed" = "open";

  /** Takes the descriptor over, which must be nonblocking. */
  constructor(reactor: Reactor, fd: number) {
    this.#registration = reactor.register(fd, (events) => this.#flush((events & (EPOLLHUP | EPOLLERR)) !== 0));
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The bytes must not be changed until the promise resolves. It never rejects. */
  write(bytes: CBuffer): Promise<WriteOutcome> {
    if (this.#state !== "open") return Promise.resolve("closed");
    if (bytes.length === 0 && this.#queue.length === 0) return Promise.resolve("written");
    const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
    this.#queue.push({ bytes, settle: resolve });
    this.#queuedBytes += bytes.length;
    // If others are before it, the descriptor is already being waited for.
    if (this.#queue.length === 1) this.#flush(false);
    return promise;
  }

  /** Closes once everything queued has been taken. Later writes are refused. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ending";
    if (this.#queue.length === 0) this.close();
  }

  /** Closes at once. What is still queued is dropped and its writers are told. */
  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#registration.disarm();
    closeDescriptor(this.#registration.fd);
    this.#queuedBytes = 0;
    for (const { settle } of this.#queue.splice(0)) settle("closed");
  }

  #flush(isBroken: boolean): void {
    for (let writes = 0; writes < WRITES_PER_TURN; writes++) {
      const head = this.#queue[0];
      if (head === undefined) break;
      const piece = head.bytes.subarray(this.#offset, this.#offset + WRITE_BYTES);
      const count = piece.length === 0 ? 0 : writeFrom(this.#registration.fd, piece);
      if (count < 0) {
        // Full or broken look alike here. If it is broken, the wait says so.
        if (isBroken) return this.close();
        if (!this.#wasFull) setPipeCapacity(this.#registration.fd, BUSY_PIPE_BYTES);
        this.#wasFull = true;
        break;
      }
      this.#take(head, count);
    }
    if (this.#queue.length > 0) this.#registration.arm(EPOLLOUT);
    else if (this.#state === "ending") this.close();
    else this.#registration.disarm();
  }

  #take(head: QueuedWrite, count: number): void {
    this.#offset += count;
    this.#queuedBytes -= count;
    if (this.#offset < head.bytes.length) return;
    this.#offset = 0;
    this.#queue.shift();
    head.settle("written");
  }
}
