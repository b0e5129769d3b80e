/**
 * Accepts connections on a listening socket that the runtime has bound, or that was handed over.
 *
 * The runtime binds, because it knows names, permissions and unix socket files. Its own `accept` is never called. From
 * then on the connections belong to the reactor, where they wait together with the pipes of the children whose output
 * they carry. The acceptor owns its own descriptor for the socket, and also the runtime's listener.
 */

import { closeDescriptor, duplicate, failure, O_CLOEXEC, O_NONBLOCK } from "../descriptor.ts";
import { EAGAIN, ECONNABORTED, EINTR, EPROTO } from "../errno.ts";
import { allocate, lastErrno, libc } from "../libc.ts";
import { listOwnDescriptors } from "../children/procfs.ts";
import { EPOLLIN } from "./epoll_event.ts";
import type { Reactor, Registration } from "./reactor.ts";
import { StreamSocket } from "./stream_socket.ts";

const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;

/** The peer was gone before we came, or there was none: nothing is wrong here. */
const PASSING_ERRORS: readonly number[] = [EAGAIN, EINTR, ECONNABORTED, EPROTO];

/** What is used of the runtime's listener. */
type BoundSocket = Pick<Deno.Listener, "addr" | "close">;

export class SocketAcceptor {
  readonly #listener: BoundSocket;
  readonly #reactor: Reactor;
  readonly #registration: Registration;
  #waiter: PromiseWithResolvers<void> | null = null;
  #isClosed = false;

  private constructor(listener: BoundSocket, reactor: Reactor, fd: number) {
    this.#listener = listener;
    this.#reactor = reactor;
    this.#registration = reactor.register(fd, () => {
      this.#registration.disarm();
      this.#waiter?.resolve();
    });
  }

  /** Binds and takes the socket over. Returns the listener instead if it is not clear which socket belongs to it. */
  static adopt(bind: () => Deno.Listener, reactor: Reactor): SocketAcceptor | Deno.Listener {
    const others = listOwnDescriptors().filter(isListening);
    const listener = bind();
    const fds = listOwnDescriptors().filter((fd) => isListening(fd) && !others.includes(fd));
    return fds.length === 1 ? new SocketAcceptor(listener, reactor, duplicate(fds[0]!)) : listener;
  }

  /** Takes over a listening socket that does not block. Its descriptor belongs to the acceptor from now on. */
  static takeOver(fd: number, addr: Deno.Addr, reactor: Reactor): SocketAcceptor {
    return new SocketAcceptor({ addr, close: () => closeDescriptor(fd) }, reactor, duplicate(fd));
  }

  get addr(): Deno.Addr {
    return this.#listener.addr;
  }

  /** The next connection. Rejects when there are no descriptors left for it, or after `close`. */
  async accept(): Promise<StreamSocket> {
    for (;;) {
      if (this.#isClosed) throw new Error("listener is closed");
      this.#waiter = Promise.withResolvers();
      this.#registration.arm(EPOLLIN);
      await this.#waiter.promise;
      const fd = libc().accept4(this.#registration.fd, 0n, 0n, O_CLOEXEC | O_NONBLOCK);
      if (fd >= 0) {
        const socket = new StreamSocket(this.#reactor, fd);
        socket.setNoDelay();
        return socket;
      }
      const errno = lastErrno();
      if (!PASSING_ERRORS.includes(errno)) throw failure(errno);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#registration.disarm();
    closeDescriptor(this.#registration.fd);
    this.#waiter?.reject(new Error("listener was closed"));
    this.#listener.close();
  }

  /** Resolves when nothing is under way any more, provided that all sockets have been closed. */
  idle(): Promise<void> {
    return this.#reactor.idle();
  }
}

function isListening(fd: number): boolean {
  const value = allocate(4);
  const length = allocate(4);
  length[0] = value.length;
  // Fails for what is not a socket.
  return libc().getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, value, length) === 0 && value[0] === 1;
}
