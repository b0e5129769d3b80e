/**
 * Tells when a child has ended.
 *
 * A pidfd in the reactor becomes readable at that moment. On a kernel without pidfds (before 5.3, or behind a filter
 * that refuses them) all watched children are looked at in short intervals instead: later by some milliseconds,
 * otherwise the same. Nothing is reaped here.
 */

import { type ChildStatus, peekStatus } from "./child_reaping.ts";
import { closeDescriptor } from "./descriptor.ts";
import { openPidfd } from "./pidfd.ts";
import { EPOLLIN } from "./epoll_event.ts";
import type { Reactor, Watch } from "./reactor.ts";

/** Between two looks at children that have no pidfd: unnoticeable to people, and 2 % of a core for 1000 children. */
const POLL_INTERVAL_MS = 20;

/** Called once, on the event loop. */
export type ExitHandler = (status: ChildStatus) => void;

/** Stops watching. Idempotent; needless once the handler was called. */
export type StopWatching = () => void;

export interface ExitWatchOptions {
  /** False watches as if the kernel had no pidfds. */
  readonly usePidfd?: boolean;
}

/** Watches a child of ours that has not been reaped. */
export function watchExit(
  reactor: Reactor,
  pid: number,
  onExit: ExitHandler,
  options: ExitWatchOptions = {},
): StopWatching {
  const pidfd = options.usePidfd === false ? -1 : openPidfd(pid);
  return pidfd < 0 ? pollExit(pid, onExit) : awaitPidfd(reactor, pidfd, pid, onExit);
}

function awaitPidfd(reactor: Reactor, pidfd: number, pid: number, onExit: ExitHandler): StopWatching {
  let isOpen = true;
  const stop = (): void => {
    if (!isOpen) return;
    isOpen = false;
    watch.disarm();
    closeDescriptor(pidfd);
  };
  const watch: Watch = reactor.watch(pidfd, () => {
    const status = peekStatus(pid);
    if (status === null) return;
    stop();
    onExit(status);
  });
  watch.arm(EPOLLIN);
  return stop;
}

const polled = new Map<symbol, () => void>();
let pollTimer: ReturnType<typeof setInterval> | undefined;

function pollExit(pid: number, onExit: ExitHandler): StopWatching {
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
