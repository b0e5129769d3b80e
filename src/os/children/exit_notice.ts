/**
 * Tells when a child has ended.
 *
 * A pidfd in the reactor becomes readable at that moment. On a kernel without pidfds (before 5.3, or behind a filter
 * that refuses them) the children are looked at in short intervals instead. Then the notice comes some milliseconds
 * later, and everything else is the same. Nothing is reaped here.
 */

import { type ChildStatus, peekStatus } from "./child_reaping.ts";
import { closeDescriptor } from "../descriptor.ts";
import { openPidfd } from "./pidfd.ts";
import { EPOLLIN } from "../loop/epoll_event.ts";
import type { Reactor, Registration } from "../loop/reactor.ts";

/**
 * Between two looks at children without a pidfd: too short for people to notice, and 2 % of a core for 1000 children.
 */
const POLL_INTERVAL_MS = 20;

/** Called once, on the event loop. */
export type ExitHandler = (status: ChildStatus) => void;

/** Cancels the notice. Idempotent; needless once the handler was called. */
export type StopNotice = () => void;

export interface ExitNoticeOptions {
  /** False: as if the kernel had no pidfds. */
  readonly usePidfd?: boolean;
}

/** Calls `onExit` once, when a child of ours that has not been reaped has ended. */
export function noticeExit(
  reactor: Reactor,
  pid: number,
  onExit: ExitHandler,
  options: ExitNoticeOptions = {},
): StopNotice {
  const pidfd = options.usePidfd === false ? -1 : openPidfd(pid);
  return pidfd < 0 ? pollExit(pid, onExit) : awaitPidfd(reactor, pidfd, pid, onExit);
}

function awaitPidfd(reactor: Reactor, pidfd: number, pid: number, onExit: ExitHandler): StopNotice {
  let isOpen = true;
  const stop = (): void => {
    if (!isOpen) return;
    isOpen = false;
    registration.disarm();
    closeDescriptor(pidfd);
  };
  const registration: Registration = reactor.register(pidfd, () => {
    const status = peekStatus(pid);
    if (status === null) return;
    stop();
    onExit(status);
  });
  registration.arm(EPOLLIN);
  return stop;
}

const polled = new Map<symbol, () => void>();
let pollTimer: ReturnType<typeof setInterval> | undefined;

function pollExit(pid: number, onExit: ExitHandler): StopNotice {
  const key = Symbol(pid);
  const stop = (): void => {
    polled.delete(key);
    if (polled.size > 0) return;
    clearInterval(pollTimer);
    pollTimer = undefined;
  };
  polled.set(key, () => {
    const status = peekStatus(pid);
    if (status === null) return;
    stop();
    onExit(status);
  });
  pollTimer ??= setInterval(() => {
    for (const look of [...polled.values()]) look();
  }, POLL_INTERVAL_MS);
  return stop;
}
