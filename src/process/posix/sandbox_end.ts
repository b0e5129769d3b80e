/**
 * When everything inside a wrapped sandbox has ended.
 *
 * The wrapper ends as soon as the command does, and the kernel ends what the command left behind a little later. That
 * is over when the first process of the sandbox's process namespace has ended: the kernel waits for all others first.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { openPidfd } from "../../os/children/pidfd.ts";
import { readStat } from "../../os/children/procfs.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { isLiving } from "./tree_snapshot.ts";

export interface WrappedSandbox {
  /** Not reaped, so that its number is still that of its group. */
  readonly wrapperPid: number;
  /** As the wrapper reported it. */
  readonly firstPid: number;
}

/** Null when this system has no way to tell. */
export function whenSandboxEnds(reactor: Reactor, { wrapperPid, firstPid }: WrappedSandbox): Promise<void> | null {
  const pidfd = openPidfd(firstPid);
  // Checked after opening: from here on the descriptor cannot mean another process.
  const stat = readStat(firstPid);
  const isStillThere = stat !== null && stat.pgid === wrapperPid && isLiving(stat);
  if (pidfd < 0) return isStillThere ? null : Promise.resolve();
  if (!isStillThere) {
    closeDescriptor(pidfd);
    return Promise.resolve();
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const registration = reactor.register(pidfd, () => {
    registration.disarm();
    closeDescriptor(pidfd);
    resolve();
  });
  registration.arm(EPOLLIN);
  return promise;
}
