/**
 * What can be done to the thread whose call waits: to end it with an exit code, to say something in its name, and to
 * notice when it is gone.
 */

import { closeDescriptor, O_NONBLOCK, openDescriptor, writeFrom } from "../../os/descriptor.ts";
import { EACCES } from "../../os/errno.ts";
import { openPidfd } from "../../os/children/pidfd.ts";
import { openThread, takeDescriptor, threadStatus } from "../../os/children/foreign_process.ts";
import { endStopped, interrupt, letGo, releaseIfDead, seize, stopOf } from "../../os/children/tracing.ts";
import { O_WRONLY } from "../../os/files/file_calls.ts";
import { S_IFREG, statFd } from "../../os/files/file_stat.ts";
import { allocate, libc } from "../../os/libc.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";

/** Looks that follow each other at once, a turn of the event loop apart. A thread stops within microseconds. */
const QUICK_LOOKS = 64;
const SLOW_LOOK_MS = 2;

/**
 * Ends the caller's process with this code, without touching its memory. False when that is not possible, because
 * somebody else traces it: its call fails instead. In no case is the call carried out.
 */
export async function endCaller(call: SupervisedCall, exitCode: number): Promise<boolean> {
  if (seize(call.tid)) return await endSeized(call, exitCode);
  call.fail(EACCES);
  return false;
}

/** The same for a caller that we have begun to trace. */
export async function endSeized(call: SupervisedCall, exitCode: number): Promise<boolean> {
  const { tid } = call;
  const end = await failAndStop(call);
  return end !== "stopped" ? end === "gone" : endStopped(tid, exitCode) || (letGo(tid), false);
}

/** Ends the tracing of a caller, whose call fails. */
export async function releaseSeized(call: SupervisedCall): Promise<void> {
  if (await failAndStop(call) === "stopped") letGo(call.tid);
}

/** `notOurs`: it has become another program meanwhile, through another of its threads, and is not traced any more. */
async function failAndStop(call: SupervisedCall): Promise<"stopped" | "gone" | "notOurs"> {
  const { tid } = call;
  // Waits for the thread's return from the call, which the answer brings about.
  const isOurs = interrupt(tid);
  call.fail(EACCES);
  if (!isOurs) return releaseIfDead(tid) ? "gone" : "notOurs";
  for (let look = 0;; look++) {
    if (stopOf(tid) !== null) return "stopped";
    if (releaseIfDead(tid)) return "gone";
    await pause(look);
  }
}

/** Between two looks at something that happens soon. */
export async function pause(look: number): Promise<void> {
  if (look < QUICK_LOOKS) await new Promise<void>((resolve) => setImmediate(resolve));
  else await new Promise<void>((resolve) => setTimeout(resolve, SLOW_LOOK_MS));
}

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** Tries to write to an output that is full. Nobody reads it then, or too slowly. */
const MAX_WRITES = 50;
const WRITE_AGAIN_MS = 20;

/** Writes a line to the caller's standard error. Where nobody reads it, it is lost: nothing waits for it for long. */
export async function tellCaller(call: SupervisedCall, line: string): Promise<void> {
  const status = threadStatus(call.tid);
  if (status === null) return;
  const pidfd = openThread(call.tid, status.tgid);
  if (pidfd < 0) return;
  const taken = takeDescriptor(pidfd, 2);
  closeDescriptor(pidfd);
  if (taken === null) return;
  try {
    await writeLine(taken, line, () => call.isWaiting);
  } finally {
    closeDescriptor(taken);
  }
}

/** Writes a line to a descriptor of somebody else, for as long as it is wanted. Never waits for long. */
export async function writeLine(fd: number, line: string, isWanted: () => boolean): Promise<void> {
  const encoded = new TextEncoder().encode(`${line}\n`);
  const bytes = allocate(encoded.length);
  bytes.set(encoded);
  const write = writerFor(fd);
  for (let tries = 0; tries < MAX_WRITES && isWanted(); tries++) {
    if (write(bytes) > 0) break;
    await new Promise<void>((resolve) => setTimeout(resolve, WRITE_AGAIN_MS));
  }
}

/** A way to write that never waits, whatever the descriptor is, and leaves its flags as they are. */
function writerFor(fd: number): (bytes: Uint8Array<ArrayBuffer>) => number {
  const stat = statFd(fd);
  if (typeof stat === "number") return () => 1;
  // Only through this descriptor: another would begin at another place of the file.
  if (stat.type === S_IFREG) return (bytes) => writeFrom(fd, bytes);
  return (bytes) => {
    const own = openDescriptor(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK);
    // A socket cannot be opened.
    if (own < 0) return libc().send(fd, bytes, BigInt(bytes.length), MSG_DONTWAIT | MSG_NOSIGNAL);
    const count = writeFrom(own, bytes);
    closeDescriptor(own);
    return count;
  };
}

/** Calls `onGone` once when the caller's process has ended. The function that is returned stops that. */
export function whenCallerGone(reactor: Reactor, pid: number, onGone: () => void): () => void {
  const pidfd = openPidfd(pid);
  if (pidfd < 0) {
    queueMicrotask(onGone);
    return () => {};
  }
  let isOpen = true;
  const stop = (): void => {
    if (!isOpen) return;
    isOpen = false;
    registration.disarm();
    closeDescriptor(pidfd);
  };
  const registration = reactor.register(pidfd, () => {
    stop();
    onGone();
  });
  registration.arm(EPOLLIN);
  return stop;
}
