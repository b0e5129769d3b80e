/** Watches inside a confined helper. Loaded with the first one. */

import { realPath } from "../../os/files/file_calls.ts";
import { sharedReactor } from "../../os/loop/reactor.ts";
import { toBytePath, uriOf } from "../byte_path.ts";
import { ChangeQueue } from "../watch/change_queue.ts";
import type { WatchEvent, WatchParams } from "./helper_protocol.ts";
import { Inotify } from "../watch/inotify.ts";
import { createIoContext } from "../io_context.ts";
import { must } from "../map_error.ts";
import { openWatch } from "../watch/open_watch.ts";
import { WatchBudget } from "../watch/watch_budget.ts";

/** Only to group what belongs together: the server does the debouncing that the client wants. */
const GATHER_MS = 5;

export type HelperWatch = (
  params: WatchParams,
  tell: (event: WatchEvent) => void,
  signal: AbortSignal,
) => Promise<void>;

/** One pacer for all watches of a helper, so that their long operations share its time. */
export function createHelperWatch(): HelperWatch {
  const machine = { inotify: new Inotify(sharedReactor), io: createIoContext(), budget: new WatchBudget() };
  return async ({ path, recursive }, tell, signal) => {
    const root = toBytePath(path);
    const real = must(realPath(root));
    const changes = new ChangeQueue({
      clock: machine.io.clock,
      debounceMs: GATHER_MS,
      root,
      // The helper waits when the pipe is full; the server bounds what it keeps.
      hasRoom: () => true,
      send: (changes) => tell({ type: "changed", changes }),
    });
    const source = openWatch(machine, { root, recursive, changes });
    const ended = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    try {
      await source.start();
      tell({ type: "watching", root: uriOf(real) });
      if (!signal.aborted) await ended;
    } finally {
      source.close();
      changes.close();
    }
  };
}
