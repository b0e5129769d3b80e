/**
 * Pairs of connected sockets, and messages through them that bring a descriptor along.
 */

import { failure, O_CLOEXEC } from "../descriptor.ts";
import { addressOf, allocate, type CBuffer, lastErrno, libc, libcFunctions } from "../libc.ts";

const messageFunctions = libcFunctions({
  /** Fills two i32, both the caller's. */
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  /** The message's header points to further buffers. Descriptors that come with it are the caller's. */
  recvmsg: { parameters: ["i32", "buffer", "i32"], result: "i32" },
});

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;

// `struct msghdr` with the one `struct iovec` it points to, and a `struct cmsghdr` with descriptors behind it.
const HEADER_BYTES = 56;
const VECTOR_BYTES = 16;
const DESCRIPTOR_OFFSET = 16;
const VECTOR_AT = HEADER_BYTES;
const CONTROL_AT = VECTOR_AT + VECTOR_BYTES;

export interface SocketPair {
  readonly ours: number;
  readonly theirs: number;
}

/** Two close-on-exec stream sockets that are connected to each other, owned by the caller. */
export function openSocketPair(): SocketPair {
  return openPair(SOCK_STREAM);
}

function openPair(type: number): SocketPair {
  const ends = allocate(8);
  // The flag has the same number for sockets as for files.
  if (messageFunctions().socketpair(AF_UNIX, type | O_CLOEXEC, 0, ends) !== 0) throw failure(lastErrno());
  const view = new DataView(ends.buffer);
  return { ours: view.getInt32(0, true), theirs: view.getInt32(4, true) };
}

export interface ReceivedMessage {
  /** 0 at the end; negative when there is nothing now or the socket failed. */
  readonly count: number;
  /** Close-on-exec, and the caller's. Of several only the first is taken. */
  readonly descriptor: number | null;
}

/** Takes what is there, without waiting. */
export function receiveMessage(socket: number, into: CBuffer): ReceivedMessage {
  const { count, descriptors } = receiveDescriptors(socket, into, 1);
  return { count, descriptor: descriptors[0] ?? null };
}

const oneByte = allocate(1);

/** False when it cannot be sent: nobody is there to receive it. */
export function sendByte(socket: number): boolean {
  return libc().send(socket, oneByte, 1n, MSG_DONTWAIT | MSG_NOSIGNAL) === 1;
}

// ---------------------------------------------------------------- several descriptors

const sendingFunctions = libcFunctions({
  /** The message's header points to further buffers, all borrowed. */
  sendmsg: { parameters: ["i32", "buffer", "i32"], result: "i32" },
});

/** Descriptors of one message: the protocol of the wrapper allows no more. The kernel drops the rest. */
const MAX_MESSAGE_DESCRIPTORS = 16;

/** Like `openSocketPair`, but each message arrives by itself. */
export function openDatagramPair(): SocketPair {
  return openPair(SOCK_DGRAM);
}

/** Takes what is there, without waiting. `count` as in `receiveMessage`. */
export function receiveDescriptors(
  socket: number,
  into: CBuffer,
  maxDescriptors = MAX_MESSAGE_DESCRIPTORS,
): { readonly count: number; readonly descriptors: readonly number[] } {
  // To the byte: the kernel fills what alignment would add with one more descriptor, which nobody would close.
  const { header, view } = messageHeader(into, DESCRIPTOR_OFFSET + maxDescriptors * 4);
  const count = messageFunctions().recvmsg(socket, header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const descriptors: number[] = [];
  const controlLength = Number(view.getBigUint64(40, true));
  const bringsDescriptors = count >= 0 && controlLength >= DESCRIPTOR_OFFSET &&
    view.getInt32(CONTROL_AT + 8, true) === SOL_SOCKET && view.getInt32(CONTROL_AT + 12, true) === SCM_RIGHTS;
  if (bringsDescriptors) {
    const length = Number(view.getBigUint64(CONTROL_AT, true));
    for (let at = DESCRIPTOR_OFFSET; at + 4 <= length; at += 4) {
      descriptors.push(view.getInt32(CONTROL_AT + at, true));
    }
  }
  return { count, descriptors };
}

/** Bytes that were taken, with all descriptors; negative when none were. Does not wait, unless told to. */
export function sendDescriptors(
  socket: number,
  bytes: CBuffer,
  descriptors: readonly number[] = [],
  { waits = false }: { readonly waits?: boolean } = {},
): number {
  const controlBytes = descriptors.length === 0 ? 0 : DESCRIPTOR_OFFSET + Math.ceil(descriptors.length / 2) * 8;
  const { header, view } = messageHeader(bytes, controlBytes);
  if (controlBytes > 0) {
    view.setBigUint64(CONTROL_AT, BigInt(DESCRIPTOR_OFFSET + descriptors.length * 4), true);
    view.setInt32(CONTROL_AT + 8, SOL_SOCKET, true);
    view.setInt32(CONTROL_AT + 12, SCM_RIGHTS, true);
    descriptors.forEach((fd, index) => view.setInt32(CONTROL_AT + DESCRIPTOR_OFFSET + index * 4, fd, true));
  }
  return sendingFunctions().sendmsg(socket, header, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

function messageHeader(bytes: CBuffer, controlBytes: number): { header: CBuffer; view: DataView } {
  const header = allocate(HEADER_BYTES + VECTOR_BYTES + Math.max(controlBytes, 8));
  const view = new DataView(header.buffer);
  const address = addressOf(header);
  view.setBigUint64(16, address + BigInt(VECTOR_AT), true);
  view.setBigUint64(24, 1n, true);
  view.setBigUint64(32, controlBytes === 0 ? 0n : address + BigInt(CONTROL_AT), true);
  view.setBigUint64(40, BigInt(controlBytes), true);
  view.setBigUint64(VECTOR_AT, addressOf(bytes), true);
  view.setBigUint64(VECTOR_AT + 8, BigInt(bytes.length), true);
  return { header, view };
}
