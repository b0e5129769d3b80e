/**
 * One connected stream socket, read and written from the event loop.
 *
 * Owns the descriptor. A read waits until the reactor reports something, so that a peer that never stops sending gets
 * one turn like everybody else. A write is offered to the kernel at once. It waits only if the kernel takes nothing
 * more, or has taken enough in this turn.
 */

import { closeDescriptor, descriptorFunctions, readableBytes, readInto, shutDownSocket } from "../descriptor.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT } from "./epoll_event.ts";
import { allocate, type CBuffer, libc } from "../libc.ts";
import type { Reactor, Registration } from "./reactor.ts";
import { endpointIn, type Endpoints, localEndpoint } from "./socket_owner.ts";

/** Bytes sent in one turn before others get theirs: about a millisecond of encoding and copying. */
const MAX_SEND_BYTES_PER_TURN = 1024 * 1024;

const SHUT_WR = 1;
const SIOCOUTQ = 0x5411n;
/** A peer that is gone is an error of the call and not a signal. */
const MSG_NOSIGNAL = 0x4000;

/** More than a `struct sockaddr_in6` has, which is the longest of those that are read. */
const SOCKADDR_BYTES = 64;
const AF_INET = 2;
const AF_INET6 = 10;

const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_QUICKACK = 12;

interface PendingRead {
  readonly into: Uint8Array;
  resolve(count: number | null): void;
  reject(error: Error): void;
}

interface PendingWrite {
  readonly bytes: Uint8Array;
  resolve(count: number): void;
  reject(error: Error): void;
}

export class StreamSocket {
  readonly #reactor: Reactor;
  readonly #registration: Registration;
  #pendingRead: PendingRead | null = null;
  #pendingWrite: PendingWrite | null = null;
  #isClosed = false;
  #readBytes = 0;
  #sendTurn = -1;
  #sentInTurn = 0;

  /** Takes the descriptor over, which must be nonblocking. */
  constructor(reactor: Reactor, fd: number) {
    this.#reactor = reactor;
    this.#registration = reactor.register(fd, (events) => this.#ready(events));
  }

  /**
   * Sends small packets at once. Otherwise the kernel holds a small answer back while an earlier one is not
   * acknowledged: 40 ms of nothing.
   */
  setNoDelay(): void {
    this.#setTcpOption(TCP_NODELAY);
  }

  /** Acknowledges what was read, without waiting for something to send along with it. */
  confirmArrival(): void {
    if (!this.#isClosed) this.#setTcpOption(TCP_QUICKACK);
  }

  /** Where the peer is, for people: `127.0.0.1:4711`, `[::1]:4711`, or `unix`. */
  describePeer(): string {
    const address = this.#peerAddress();
    if (address === null) return "gone";
    const view = new DataView(address.buffer);
    const port = view.getUint16(2);
    switch (view.getUint16(0, true)) {
      case AF_INET:
        return `${address.subarray(4, 8).join(".")}:${port}`;
      case AF_INET6: {
        const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(8 + index * 2).toString(16));
        // The URL parser knows how to shorten it.
        return `${new URL(`ws://[${groups.join(":")}]`).hostname}:${port}`;
      }
      default:
        return "unix";
    }
  }

  /** Both ends of a TCP connection. Null for other sockets, and when the peer has gone. */
  endpoints(): Endpoints | null {
    const address = this.#isClosed ? null : this.#peerAddress();
    const peer = address === null ? null : endpointIn(address);
    const local = peer === null ? null : localEndpoint(this.#registration.fd);
    return peer === null || local === null ? null : { local, peer };
  }

  #peerAddress(): CBuffer | null {
    const address = allocate(SOCKADDR_BYTES);
    const length = allocate(4);
    length[0] = SOCKADDR_BYTES;
    return libc().getpeername(this.#registration.fd, address, length) === 0 ? address : null;
  }

  /** Bytes read into the array; null at the end. One read at a time. */
  read(into: Uint8Array): Promise<number | null> {
    if (this.#isClosed) return Promise.reject(new Error("socket is closed"));
    return new Promise((resolve, reject) => {
      this.#pendingRead = { into, resolve, reject };
      this.#waitForMore(true);
    });
  }

  /** Bytes taken by the kernel without waiting, which may be none. Not while a write waits. */
  writeNow(bytes: Uint8Array): number {
    return this.#isClosed || this.#pendingWrite !== null ? 0 : Math.max(0, this.#send(bytes));
  }

  /** Bytes taken by the kernel, at least one. The array must not change until then. One write at a time. */
  write(bytes: Uint8Array): Promise<number> {
    if (this.#isClosed) return Promise.reject(new Error("socket is closed"));
    const count = this.#send(bytes);
    if (count > 0) return Promise.resolve(count);
    return new Promise((resolve, reject) => {
      this.#pendingWrite = { bytes, resolve, reject };
      this.#waitForMore(this.#pendingRead !== null);
    });
  }

  /**
   * Bytes written that the peer's machine has not acknowledged. None on a unix socket: what the kernel counts there is
   * what the peer's program has not read yet, and a peer that is gone shows at once.
   */
  unacknowledgedBytes(): number {
    const peer = this.#isClosed ? null : this.#peerAddress();
    if (peer === null || endpointIn(peer) === null) return 0;
    const count = allocate(4);
    if (descriptorFunctions().ioctl(this.#registration.fd, SIOCOUTQ, count) !== 0) return 0;
    return new DataView(count.buffer).getInt32(0, true);
  }

  /** Bytes that have come from the peer, read or not. */
  arrivedBytes(): number {
    return this.#readBytes + (this.#isClosed ? 0 : readableBytes(this.#registration.fd));
  }

  /** No more will be written; the peer sees the end after everything that was. */
  closeWrite(): Promise<void> {
    if (!this.#isClosed) shutDownSocket(this.#registration.fd, SHUT_WR);
    return Promise.resolve();
  }

  /** Closes at once; what waits is rejected. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#registration.disarm();
    closeDescriptor(this.#registration.fd);
    this.#fail(new Error("socket was closed"));
  }

  #setTcpOption(option: number): void {
    // Fails for sockets that are not TCP, which never wait anyway.
    libc().setsockopt(this.#registration.fd, IPPROTO_TCP, option, new Uint8Array([1, 0, 0, 0]), 4);
  }

  #ready(events: number): void {
    const isBroken = (events & (EPOLLERR | EPOLLHUP)) !== 0;
    // A reader that has read once mostly reads again at once. Staying armed saves arming again.
    const mayReadAgain = this.#pendingRead !== null;
    if (this.#pendingWrite !== null && (isBroken || (events & EPOLLOUT) !== 0)) this.#continueWrite(isBroken);
    if (this.#pendingRead !== null && (isBroken || (events & EPOLLIN) !== 0)) this.#continueRead(isBroken);
    this.#waitForMore(mayReadAgain);
  }

  #continueRead(isBroken: boolean): void {
    const { into, resolve, reject } = this.#pendingRead!;
    const count = readInto(this.#registration.fd, into as Uint8Array<ArrayBuffer>);
    // "Nothing to read" and "broken" look alike here. Only what the wait said tells them apart.
    if (count < 0 && !isBroken) return;
    this.#pendingRead = null;
    if (count < 0) reject(new Error("connection was reset"));
    else {
      this.#readBytes += count;
      resolve(count === 0 ? null : count);
    }
  }

  #continueWrite(isBroken: boolean): void {
    const { bytes, resolve, reject } = this.#pendingWrite!;
    const count = this.#send(bytes);
    if (count <= 0 && !isBroken) return;
    this.#pendingWrite = null;
    if (count <= 0) reject(new Error("connection was reset"));
    else resolve(count);
  }

  /** Bytes taken; not positive when none were. */
  #send(bytes: Uint8Array): number {
    if (this.#sendTurn !== this.#reactor.turn) {
      this.#sendTurn = this.#reactor.turn;
      this.#sentInTurn = 0;
    }
    if (this.#sentInTurn >= MAX_SEND_BYTES_PER_TURN) return 0;
    const count = libc().send(
      this.#registration.fd,
      bytes as Uint8Array<ArrayBuffer>,
      BigInt(bytes.length),
      MSG_NOSIGNAL,
    );
    if (count > 0) this.#sentInTurn += count;
    return count;
  }

  #waitForMore(reading: boolean): void {
    if (this.#isClosed) return;
    const events = (reading ? EPOLLIN : 0) | (this.#pendingWrite === null ? 0 : EPOLLOUT);
    if (events === 0) this.#registration.disarm();
    else this.#registration.arm(events);
  }

  #fail(error: Error): void {
    const read = this.#pendingRead;
    const write = this.#pendingWrite;
    this.#pendingRead = this.#pendingWrite = null;
    read?.reject(error);
    write?.reject(error);
  }
}
