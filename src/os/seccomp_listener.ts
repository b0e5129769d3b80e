/**
 * The listener of a system call filter: calls that wait for an answer, and the answer.
 *
 * A listener becomes readable when a call waits and hangs up when nobody is left whom the filter binds. Closing it fails
 * the calls that wait, and all later ones, with ENOSYS. What the calls mean is left to whoever asks.
 */

import { addressOf, allocate, type CBuffer, libc } from "./libc.ts";

const SYS_SECCOMP = Deno.build.arch === "aarch64" ? 277n : 317n;
const SECCOMP_GET_NOTIF_SIZES = 3n;
const SECCOMP_IOCTL_NOTIF_RECV = 0xc0502100n;
const SECCOMP_IOCTL_NOTIF_SEND = 0xc0182101n;

// `struct seccomp_notif` and `struct seccomp_notif_resp` as far as they are used here; a younger kernel's may be longer.
const CALL_BYTES = 80;
const ANSWER_BYTES = 24;
const ARGUMENTS_OFFSET = 32;
const ARGUMENTS = 6;

export interface WaitingCall {
  /** Names this one call, for as long as it waits. */
  readonly id: bigint;
  /** The calling thread's. Means that thread only while the call waits. */
  readonly tid: number;
  readonly number: number;
  readonly args: readonly bigint[];
}

interface Buffers {
  readonly call: CBuffer;
  readonly answer: CBuffer;
}

let buffers: Buffers | undefined;

/** As large as this kernel wants them. Calls are synchronous, so one of each is enough. */
function sharedBuffers(): Buffers {
  if (buffers !== undefined) return buffers;
  const sizes = allocate(8);
  const isKnown = libc().syscall(SYS_SECCOMP, SECCOMP_GET_NOTIF_SIZES, 0n, addressOf(sizes), 0n) === 0;
  const view = new DataView(sizes.buffer);
  return buffers = {
    call: allocate(Math.max(CALL_BYTES, isKnown ? view.getUint16(0, true) : 0)),
    answer: allocate(Math.max(ANSWER_BYTES, isKnown ? view.getUint16(2, true) : 0)),
  };
}

/**
 * The next call that waits; null when it has been given up meanwhile. Only for a listener that is readable: otherwise
 * everything would stand still until there is a call.
 */
export function receiveCall(listener: number): WaitingCall | null {
  const { call } = sharedBuffers();
  call.fill(0); // The kernel insists.
  if (libc().ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) !== 0) return null;
  const view = new DataView(call.buffer);
  return {
    id: view.getBigUint64(0, true),
    tid: view.getUint32(8, true),
    number: view.getInt32(16, true),
    args: Array.from({ length: ARGUMENTS }, (_, index) => view.getBigUint64(ARGUMENTS_OFFSET + index * 8, true)),
  };
}

/** Fails a call with this error number; false when nobody waited for the answer any more. */
export function failCall(listener: number, id: bigint, errno: number): boolean {
  const { answer } = sharedBuffers();
  const view = new DataView(answer.buffer);
  answer.fill(0);
  view.setBigUint64(0, id, true);
  view.setInt32(16, -errno, true);
  return libc().ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer) === 0;
}
