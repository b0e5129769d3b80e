/**
 * Whose socket is at the other end of a connection within this machine. The kernel knows, and tells anybody who asks.
 *
 * The question goes through netlink (`sock_diag`) and is about exactly one socket. It takes some 5 us, however many
 * sockets there are, and needs no privileges. What the answer means for a connection is left to
 * `transport/door/local_users.ts`.
 */

import { closeDescriptor, failure, O_CLOEXEC, O_NONBLOCK, readInto } from "../descriptor.ts";
import { addressOf, allocate, type CBuffer, lastErrno, libc } from "../libc.ts";

/** One end of a connection: the 4 or 16 bytes of its address, and its port. */
export interface Endpoint {
  readonly address: Uint8Array;
  readonly port: number;
}

export interface Endpoints {
  readonly local: Endpoint;
  readonly peer: Endpoint;
}

export interface SocketOwner {
  readonly uid: number;
  /** 0 when the socket belongs to no process any more. Then `uid` is 0, too. */
  readonly inode: number;
  readonly isEstablished: boolean;
}

/**
 * Called by number: a table of their own would cost as much time at the start as all the rest of the start. `socket`,
 * `bind`, `connect`, `listen`, `getsockname`, `geteuid`.
 */
const SYS = Deno.build.arch === "aarch64"
  ? { socket: 198n, bind: 200n, listen: 201n, connect: 203n, getsockname: 204n, geteuid: 175n }
  : { socket: 41n, bind: 49n, listen: 50n, connect: 42n, getsockname: 51n, geteuid: 107n };

/** The descriptor is the caller's; negative when the kernel gives none. */
function makeSocket(family: number, type: number, protocol = 0): number {
  return libc().syscall(SYS.socket, BigInt(family), BigInt(type), BigInt(protocol), 0n);
}

/** A call with a `struct sockaddr`. Throws when it fails. */
function callWithAddress(number: bigint, fd: number, address: CBuffer, bytes: bigint): void {
  if (libc().syscall(number, BigInt(fd), addressOf(address), bytes, 0n) !== 0) throw failure(lastErrno());
}

const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const NETLINK_SOCK_DIAG = 4;
const IPPROTO_TCP = 6;
const TCP_ESTABLISHED = 1;

// `struct nlmsghdr`, then `struct inet_diag_req_v2` or `struct inet_diag_msg`. Both hold a `struct inet_diag_sockid`.
const HEADER_BYTES = 16;
const REQUEST_BYTES = HEADER_BYTES + 8 + 48;
const REQUEST_SOCKET_AT = HEADER_BYTES + 8;
const ANSWER_BYTES = HEADER_BYTES + 4 + 48 + 20;
const ANSWER_SOCKET_AT = HEADER_BYTES + 4;
const ANSWER_UID_AT = ANSWER_SOCKET_AT + 48 + 12;
const ANSWER_INODE_AT = ANSWER_UID_AT + 4;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
/** More than an answer with all its attributes has. */
const MAX_ANSWER_BYTES = 4096;
/** Answers to earlier questions that nobody took; there is at most one, after a fault. */
const MAX_STALE_ANSWERS = 4;
const NO_COOKIE = 0xffff_ffff;
const ANY_STATE = 0xffff_ffff;

const SOCKADDR_BYTES = 28;

export class SocketOwners implements Disposable {
  readonly #fd: number;
  readonly #request: CBuffer = allocate(REQUEST_BYTES);
  readonly #answer: CBuffer = allocate(MAX_ANSWER_BYTES);
  #sequence = 0;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Throws where the kernel cannot be asked. One descriptor is kept, so that asking needs none. */
  static open(): SocketOwners {
    const fd = makeSocket(AF_NETLINK, SOCK_DGRAM | O_CLOEXEC | O_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0) throw failure(lastErrno());
    return new SocketOwners(fd);
  }

  /** Who holds the peer's socket of a connection whose other socket is ours. Null when there is no such socket. */
  ownerOfPeer({ local, peer }: Endpoints): SocketOwner | null {
    const sequence = ++this.#sequence;
    // The socket to be found is the peer's. Its local end is our remote end.
    this.#ask(peer, local, sequence);
    for (let tries = 0; tries < MAX_STALE_ANSWERS; tries++) {
      // The kernel answers within the call that asks.
      const count = readInto(this.#fd, this.#answer);
      if (count < HEADER_BYTES) return null;
      const view = new DataView(this.#answer.buffer);
      if (view.getUint32(8, true) !== sequence) continue;
      if (view.getUint16(4, true) !== SOCK_DIAG_BY_FAMILY || count < ANSWER_BYTES) return null;
      // A kernel that finds no such connection may answer with a socket that listens on that port.
      if (!holds(this.#answer, view, peer, local)) return null;
      return {
        uid: view.getUint32(ANSWER_UID_AT, true),
        inode: view.getUint32(ANSWER_INODE_AT, true),
        isEstablished: this.#answer[HEADER_BYTES + 1] === TCP_ESTABLISHED,
      };
    }
    return null;
  }

  [Symbol.dispose](): void {
    closeDescriptor(this.#fd);
  }

  #ask(source: Endpoint, destination: Endpoint, sequence: number): void {
    const request = this.#request.fill(0);
    const view = new DataView(request.buffer);
    view.setUint32(0, REQUEST_BYTES, true);
    view.setUint16(4, SOCK_DIAG_BY_FAMILY, true);
    view.setUint16(6, NLM_F_REQUEST, true);
    view.setUint32(8, sequence, true);
    request[HEADER_BYTES] = source.address.length === 4 ? AF_INET : AF_INET6;
    request[HEADER_BYTES + 1] = IPPROTO_TCP;
    view.setUint32(HEADER_BYTES + 4, ANY_STATE, true);
    view.setUint16(REQUEST_SOCKET_AT, source.port);
    view.setUint16(REQUEST_SOCKET_AT + 2, destination.port);
    request.set(source.address, REQUEST_SOCKET_AT + 4);
    request.set(destination.address, REQUEST_SOCKET_AT + 20);
    view.setUint32(REQUEST_SOCKET_AT + 40, NO_COOKIE, true);
    view.setUint32(REQUEST_SOCKET_AT + 44, NO_COOKIE, true);
    if (libc().send(this.#fd, request, BigInt(REQUEST_BYTES), 0) !== REQUEST_BYTES) throw failure(lastErrno());
  }
}

/** Whether an answer is about the socket between these two. An IPv4 address counts as the same in either form. */
function holds(answer: CBuffer, view: DataView, source: Endpoint, destination: Endpoint): boolean {
  const at = ANSWER_SOCKET_AT;
  if (view.getUint16(at) !== source.port || view.getUint16(at + 2) !== destination.port) return false;
  const length = answer[HEADER_BYTES] === AF_INET ? 4 : 16;
  return isSameAddress(answer.subarray(at + 4, at + 4 + length), source.address) &&
    isSameAddress(answer.subarray(at + 20, at + 20 + length), destination.address);
}

function isSameAddress(a: Uint8Array, b: Uint8Array): boolean {
  const [left, right] = [inLongForm(a), inLongForm(b)];
  return left.every((byte, index) => byte === right[index]);
}

/** An IPv4 address as the IPv6 address that stands for it. */
function inLongForm(address: Uint8Array): Uint8Array {
  if (address.length === 16) return address;
  const long = new Uint8Array(16).fill(0xff, 10, 12);
  long.set(address, 12);
  return long;
}

/** The user this program acts as. */
export function effectiveUid(): number {
  return libc().syscall(SYS.geteuid, 0n, 0n, 0n, 0n) >>> 0;
}

/**
 * Makes a connection of our own within the machine, at an address like the one that is listened on, and looks it up. So
 * we need not wait for the first client to find out whether the kernel answers, and answers right.
 */
export function ownerOfOwnConnection(owners: SocketOwners, address: Uint8Array): SocketOwner | null {
  const family = address.length === 4 ? AF_INET : AF_INET6;
  const listening = makeSocket(family, SOCK_STREAM | O_CLOEXEC);
  const connecting = makeSocket(family, SOCK_STREAM | O_CLOEXEC);
  try {
    const bytes = family === AF_INET ? 16n : BigInt(SOCKADDR_BYTES);
    if (listening < 0 || connecting < 0) throw failure(lastErrno());
    callWithAddress(SYS.bind, listening, socketAddress(address), bytes);
    if (libc().syscall(SYS.listen, BigInt(listening), 1n, 0n, 0n) !== 0) throw failure(lastErrno());
    const target = socketName(listening);
    // Within this machine it does not wait.
    callWithAddress(SYS.connect, connecting, target, bytes);
    return owners.ownerOfPeer({ local: endpointIn(target)!, peer: endpointIn(socketName(connecting))! });
  } finally {
    for (const fd of [listening, connecting]) if (fd >= 0) closeDescriptor(fd);
  }
}

/** A `struct sockaddr_in` or `sockaddr_in6` with a port that the system chooses. */
function socketAddress(address: Uint8Array): CBuffer {
  const bytes = allocate(SOCKADDR_BYTES);
  new DataView(bytes.buffer).setUint16(0, address.length === 4 ? AF_INET : AF_INET6, true);
  bytes.set(address, address.length === 4 ? 4 : 8);
  return bytes;
}

function socketName(fd: number): CBuffer {
  const bytes = allocate(SOCKADDR_BYTES);
  const length = allocate(4);
  length[0] = SOCKADDR_BYTES;
  callWithAddress(SYS.getsockname, fd, bytes, addressOf(length));
  return bytes;
}

/** Our own end of a socket. Null for what is not TCP. */
export function localEndpoint(fd: number): Endpoint | null {
  return endpointIn(socketName(fd));
}

/** What a `struct sockaddr` says. Null for families other than IPv4 and IPv6. */
export function endpointIn(sockaddr: CBuffer): Endpoint | null {
  const view = new DataView(sockaddr.buffer);
  const port = view.getUint16(2);
  switch (view.getUint16(0, true)) {
    case AF_INET:
      return { address: sockaddr.slice(4, 8), port };
    case AF_INET6:
      return { address: sockaddr.slice(8, 24), port };
    default:
      return null;
  }
}
