/**
 * What somebody else notices of a load: how long a client beside it waits, and how much memory the server takes.
 *
 * The client has a thread of its own, so that a busy test does not count as a busy server. Memory is the kernel's own
 * peak, so that nothing between two looks is missed.
 */

import { residentMb } from "./proc.ts";

export interface Toll {
  /** Peak of resident memory above what it was before. */
  readonly growthMb: number;
  /** The longest that the bystander's small request took. */
  readonly longestWaitMs: number;
}

/** Does something to a server beside a client that asks it small things all the time. */
export async function tollOf(server: { url: string; pid: number }, load: () => Promise<void>): Promise<Toll> {
  const worker = new Worker(new URL("./bystander_worker.ts", import.meta.url), { type: "module" });
  try {
    const ready = nextMessage(worker);
    worker.postMessage({ url: server.url });
    await ready;
    const beforeMb = residentMb(server.pid);
    resetPeak(server.pid);
    await load();
    const end = nextMessage(worker);
    worker.postMessage("stop");
    const { longestMs, failure } = await end as { longestMs: number; failure?: string };
    if (failure !== undefined) throw new Error(`the client beside the load failed: ${failure}`);
    return { growthMb: peakMb(server.pid) - beforeMb, longestWaitMs: longestMs };
  } finally {
    worker.terminate();
  }
}

function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
}

/** Of the server's resident memory since the last `resetPeak`. */
export function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;
}

function resetPeak(pid: number): void {
  Deno.writeTextFileSync(`/proc/${pid}/clear_refs`, "5");
}
