/**
 * When everything inside a wrapped sandbox has ended.
 *
 * The wrapper ends as soon as the command does, and the kernel ends what the command left behind a little later. That
 * is over when the first process of the sandbox's process namespace has ended: the kernel waits for all others first.
 * That process is an orphan then, and our child. It is reaped here, so that not every command leaves a zombie until the
 * next look at all processes.
 */

import { reapByPidfd } from "../../os/children/child_reaping.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { openPidfd } from "../../os/children/pidfd.ts";
import { readStat } from "../../os/children/procfs.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { isLiving } from "./tree_snapshot.ts";

export interface WrappedSandbox {
  /** Not reaped, so that its number is still that of its group. */
  readonly wrapperPid: number;
  readonly wrapperEnded: Promise<void>;
  /** As the wrapper reported it. */
  readonly firstPid: number;
}

/** Null when this system has no way to tell. */
export function whenSandboxEnds(reactor: Reactor, sandbox: WrappedSandbox): Promise<void> | null {
  const { wrapperPid, wrapperEnded, firstPid } = sandbox;
  const pidfd = openPidfd(firstPid);
  // Checked after opening: from here on the descriptor cannot mean another process.
  const stat = readStat(firstPid);
  const isThere = stat !== null && stat.pgid === wrapperPid;
  if (pidfd < 0) return isThere && isLiving(stat) ? null : Promise.resolve();
  if (!isThere) {
    closeDescriptor(pidfd);
    return Promise.resolve();
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = (): void => {
    resolve();
    // Before that it is the wrapper's child.
    void wrapperEnded.then(() => {
      reapByPidfd(pidfd);
      closeDescriptor(pidfd);
    });
  };
  if (!isLiving(stat)) {
    ended();
    return promise;
  }
  const registration = reactor.register(pidfd, () => {
    registration.disarm();
    ended();
  });
  registration.arm(EPOLLIN);
  return promise;
}
