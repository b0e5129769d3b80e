/** What whole process trees use, gathered in slices so that nobody waits for it. */

import { cpuMsOf, listeningSockets, residentBytesOf, socketInodesOf } from "../../os/children/process_usage.ts";
import type { Pacer } from "../../os/loop/pacer.ts";
import type { ProcessUsage } from "../backend.ts";
import { MAX_LISTED_PORTS } from "../limits.ts";

/** What each tree uses. A tree is given by the pids of the processes in it. */
export async function treeUsages(trees: readonly (readonly number[])[], pacer: Pacer): Promise<ProcessUsage[]> {
  const sockets = trees.some((pids) => pids.length > 0) ? listeningSockets() : new Map();
  const usages: ProcessUsage[] = [];
  const slice = pacer.slice();
  for (const pids of trees) {
    let cpuMs = 0;
    let memoryBytes = 0;
    const ports = new Map<string, ProcessUsage["ports"][number]>();
    for (const pid of pids) {
      cpuMs += cpuMsOf(pid);
      memoryBytes += residentBytesOf(pid);
      // Most trees listen nowhere, and most machines have few sockets that do: then no descriptor is looked at.
      if (sockets.size > 0) {
        for (const inode of socketInodesOf(pid)) {
          const socket = sockets.get(inode);
          // Of several processes that share a socket the first is named.
          if (socket !== undefined && !ports.has(inode)) ports.set(inode, { ...socket, pid });
        }
      }
      if (slice.isOver) await slice.rest();
    }
    const listed = [...ports.values()].sort((a, b) => a.port - b.port).slice(0, MAX_LISTED_PORTS);
    usages.push({ cpuMs, memoryBytes, processCount: pids.length, ports: listed });
  }
  return usages;
}
