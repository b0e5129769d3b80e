/** What a launch stub sends: its report, and with it the listener of the filter it has installed, if there is one. */

import { closeDescriptor } from "../os/descriptor.ts";
import { allocate } from "../os/libc.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../os/epoll_event.ts";
import type { Reactor } from "../os/reactor.ts";
import { receiveMessage } from "../os/socket_message.ts";

/** Several times the longest report. What lies beyond is dropped: only a stub that is broken has more to say. */
const MAX_REPORT_BYTES = 64;

export interface ReceivedReport {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Owned by the caller. */
  readonly listener: number | null;
}

/** Everything until the socket's end; null when it does not end in time. Takes the socket over. */
export async function receiveReport(
  reactor: Reactor,
  socket: number,
  options: { readonly timeoutMs: number },
): Promise<ReceivedReport | null> {
  const bytes: number[] = [];
  let listener: number | null = null;
  const { promise, resolve } = Promise.withResolvers<"ended" | "late">();
  const into = allocate(MAX_REPORT_BYTES);
  const watch = reactor.watch(socket, (events) => {
    const { count, descriptor } = receiveMessage(socket, into);
    if (descriptor !== null && listener !== null) closeDescriptor(descriptor);
    else listener ??= descriptor;
    if (count > 0 && bytes.length < MAX_REPORT_BYTES) bytes.push(...into.subarray(0, count));
    if (count === 0 || (count < 0 && (events & (EPOLLHUP | EPOLLERR)) !== 0)) resolve("ended");
  });
  const timer = setTimeout(() => resolve("late"), options.timeoutMs);
  watch.arm(EPOLLIN);
  const outcome = await promise;
  clearTimeout(timer);
  watch.disarm();
  closeDescriptor(socket);
  if (outcome === "ended") return { bytes: Uint8Array.from(bytes), listener };
  if (listener !== null) closeDescriptor(listener);
  return null;
}
