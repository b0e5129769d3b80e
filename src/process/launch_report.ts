/** What a launch stub sends: its report, and with it the listener of the filter it has installed, if there is one. */

import { READY } from "../launch/launch_stub.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../os/epoll_event.ts";
import { allocate } from "../os/libc.ts";
import type { Reactor } from "../os/reactor.ts";
import { receiveMessage, sendByte } from "../os/socket_message.ts";

/** Several times the longest report. What lies beyond is dropped: only a stub that is broken has more to say. */
const MAX_REPORT_BYTES = 64;

export interface ReceivedReport {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Owned by the caller. */
  readonly listener: number | null;
}

export interface ReportOptions {
  readonly timeoutMs: number;
  /** Asked when a stub is ready that waits to be told so: whether it may go on. Otherwise its report ends here. */
  readonly mayGoOn: (() => boolean) | null;
}

/** Everything until the socket's end; null when it does not end in time. Takes the socket over. */
export async function receiveReport(
  reactor: Reactor,
  socket: number,
  { timeoutMs, mayGoOn }: ReportOptions,
): Promise<ReceivedReport | null> {
  const bytes: number[] = [];
  let listener: number | null = null;
  let isAwaited = mayGoOn !== null;
  const { promise, resolve } = Promise.withResolvers<"ended" | "late">();
  const into = allocate(MAX_REPORT_BYTES);
  const watch = reactor.watch(socket, (events) => {
    const { count, descriptor } = receiveMessage(socket, into);
    if (descriptor !== null && listener !== null) closeDescriptor(descriptor);
    else listener ??= descriptor;
    if (count > 0 && bytes.length < MAX_REPORT_BYTES) bytes.push(...into.subarray(0, count));
    if (isAwaited && bytes[0] === READY) {
      isAwaited = false;
      if (!mayGoOn!() || !sendByte(socket)) resolve("ended");
    }
    if (count === 0 || (count < 0 && (events & (EPOLLHUP | EPOLLERR)) !== 0)) resolve("ended");
  });
  const timer = setTimeout(() => resolve("late"), timeoutMs);
  watch.arm(EPOLLIN);
  const outcome = await promise;
  clearTimeout(timer);
  watch.disarm();
  closeDescriptor(socket);
  if (outcome === "ended") return { bytes: Uint8Array.from(bytes), listener };
  if (listener !== null) closeDescriptor(listener);
  return null;
}
