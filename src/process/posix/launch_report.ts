/** What a launch stub sends: its report, and the listener of its filter, if it has one. */

import { READY } from "../../launch/stub/launch_stub.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../../os/loop/epoll_event.ts";
import { allocate } from "../../os/libc.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { receiveMessage, sendByte } from "../../os/loop/socket_message.ts";

/** Several times the longest report. Anything beyond is dropped: only a broken stub sends more. */
const MAX_REPORT_BYTES = 64;

export interface ReportOptions {
  readonly timeoutMs: number;
  /**
   * Asked when a waiting stub is ready: whether it may go on, now or later; nothing is late until then. Otherwise its
   * report ends here.
   */
  readonly mayGoOn: (() => boolean | Promise<boolean>) | null;
  /** Takes over the listener the moment it arrives: the execution that ends the report may be asked about, too. */
  readonly onListener: (listener: number) => void;
}

/** Everything until the socket's end; null when it does not end in time. Takes over the socket. */
export async function receiveReport(
  reactor: Reactor,
  socket: number,
  { timeoutMs, mayGoOn, onListener }: ReportOptions,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const bytes: number[] = [];
  let hasListener = false;
  let isAwaited = mayGoOn !== null;
  const { promise, resolve } = Promise.withResolvers<"ended" | "late">();
  const into = allocate(MAX_REPORT_BYTES);
  let isOver = false;
  const goOn = (mayGoOn: boolean): void => {
    if (mayGoOn && sendByte(socket)) return;
    // It is not ready any more: it may not go on, or is gone.
    bytes.length = 0;
    resolve("ended");
  };
  const registration = reactor.register(socket, (events) => {
    const { count, descriptor } = receiveMessage(socket, into);
    if (descriptor !== null && hasListener) closeDescriptor(descriptor);
    else if (descriptor !== null) {
      hasListener = true;
      onListener(descriptor);
    }
    if (count > 0 && bytes.length < MAX_REPORT_BYTES) bytes.push(...into.subarray(0, count));
    if (isAwaited && bytes[0] === READY) {
      isAwaited = false;
      const answer = mayGoOn!();
      if (typeof answer === "boolean") goOn(answer);
      else {
        clearTimeout(timer);
        void answer.then((mayGoOn) => {
          if (isOver) return;
          timer = setTimeout(() => resolve("late"), timeoutMs);
          goOn(mayGoOn);
        });
      }
    }
    if (count === 0 || (count < 0 && (events & (EPOLLHUP | EPOLLERR)) !== 0)) resolve("ended");
  });
  let timer = setTimeout(() => resolve("late"), timeoutMs);
  registration.arm(EPOLLIN);
  const outcome = await promise;
  isOver = true;
  clearTimeout(timer);
  registration.disarm();
  closeDescriptor(socket);
  return outcome === "ended" ? Uint8Array.from(bytes) : null;
}
