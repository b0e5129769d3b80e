/**
 * The listener of a system call filter: calls that wait for an answer, and the answer.
 *
 * A listener becomes readable when a call waits, and hangs up when no process is left that the filter binds. Closing it
 * fails the waiting calls, and all later ones, with ENOSYS. What the calls mean is up to the caller.
 */

import { descriptorFunctions } from "../descriptor.ts";
import { addressOf, allocate, type CBuffer, libc } from "../libc.ts";

const SYS_SECCOMP = Deno.build.arch === "aarch64" ? 277n : 317n;
const SECCOMP_GET_NOTIF_SIZES = 3n;
const SECCOMP_IOCTL_NOTIF_RECV = 0xc0502100n;
const SECCOMP_IOCTL_NOTIF_SEND = 0xc0182101n;
const SECCOMP_IOCTL_NOTIF_ID_VALID = 0x40082102n;

/** The answer that lets the kernel go on with the call as if there were no filter. */
const SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1;

// `struct seccomp_notif` and `struct seccomp_notif_resp` as far as they are used here. A younger kernel's may be
// longer.
const CALL_BYTES = 80;
const ANSWER_BYTES = 24;
const ARGUMENTS_OFFSET = 32;
const ARGUMENTS = 6;

export interface WaitingCall {
  /** Identifies this one call, as long as it waits. */
  readonly id: bigint;
  /** Number of the calling thread. It means that thread only while the call waits. */
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
 * The next waiting call; null when it was given up meanwhile. Only for a listener that is readable: otherwise the whole
 * program would wait for a call.
 */
export function receiveCall(listener: number): WaitingCall | null {
  const { call } = sharedBuffers();
  call.fill(0); // The kernel insists on zeros.
  if (descriptorFunctions().ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) !== 0) return null;
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
  return answerCall(listener, id, { error: -errno, flags: 0 });
}

/**
 * Lets the kernel carry out the call, with the arguments as they are by then: another thread of the caller may have
 * changed what pointers lead to. False when nobody waited for the answer any more.
 */
export function continueCall(listener: number, id: bigint): boolean {
  return answerCall(listener, id, { error: 0, flags: SECCOMP_USER_NOTIF_FLAG_CONTINUE });
}

function answerCall(listener: number, id: bigint, { error, flags }: { error: number; flags: number }): boolean {
  const { answer } = sharedBuffers();
  const view = new DataView(answer.buffer);
  answer.fill(0);
  view.setBigUint64(0, id, true);
  view.setInt32(16, error, true);
  view.setUint32(20, flags, true);
  return descriptorFunctions().ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer) === 0;
}

const idBytes = allocate(8);
const idView = new DataView(idBytes.buffer);

/** Whether the call still waits. If so, everything learnt about its thread until now was really about that thread. */
export function isCallWaiting(listener: number, id: bigint): boolean {
  idView.setBigUint64(0, id, true);
  return descriptorFunctions().ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, idBytes) === 0;
}
