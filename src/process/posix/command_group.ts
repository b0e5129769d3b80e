/**
 * The group that a command inside a wrapper's sandbox has made for itself.
 *
 * Without a sandbox a command leads its group from the start, so it stays there when it makes one of its own, as shells
 * with job control and `timeout` do. In a sandbox the wrapper leads the group and the command would leave it, where
 * signals for the process no longer reach it.
 */

import { listChildren, readStat } from "../../os/children/procfs.ts";

/** Null while the command is in the wrapper's group, and when it is gone. `firstPid` is the sandbox's first process. */
export function ownGroupOfCommand(wrapperPid: number, firstPid: number): number | null {
  // Orphans that the first process adopts come after its own child.
  const command = listChildren(firstPid)?.[0];
  const stat = command === undefined ? null : readStat(command);
  // A number that means another process by now belongs to somebody else.
  if (stat?.ppid !== firstPid || readStat(firstPid)?.ppid !== wrapperPid) return null;
  return stat.pgid === wrapperPid ? null : stat.pgid;
}
