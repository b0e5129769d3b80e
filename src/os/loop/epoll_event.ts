/** `struct epoll_event` and the bits in it. */

import { allocate, type CBuffer } from "../libc.ts";

export const EPOLLIN = 0x001;
export const EPOLLOUT = 0x004;
export const EPOLLERR = 0x008;
export const EPOLLHUP = 0x010;

export const EPOLL_CTL_ADD = 1;
export const EPOLL_CTL_DEL = 2;
export const EPOLL_CTL_MOD = 3;

// Packed on x86-64 and on no other architecture.
const EVENT_BYTES = Deno.build.arch === "x86_64" ? 12 : 16;
const DATA_OFFSET = Deno.build.arch === "x86_64" ? 4 : 8;

/** An array of them. */
export class EpollEvents {
  readonly capacity: number;
  readonly bytes: CBuffer;
  readonly #view: DataView;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.bytes = allocate(capacity * EVENT_BYTES);
    this.#view = new DataView(this.bytes.buffer);
  }

  set(index: number, events: number, token: number): void {
    this.#view.setUint32(index * EVENT_BYTES, events, true);
    this.#view.setUint32(index * EVENT_BYTES + DATA_OFFSET, token, true);
  }

  eventsAt(index: number): number {
    return this.#view.getUint32(index * EVENT_BYTES, true);
  }

  tokenAt(index: number): number {
    return this.#view.getUint32(index * EVENT_BYTES + DATA_OFFSET, true);
  }
}
