/**
 * `fs/watch` and `fs/unwatch`: the watches of one connection.
 *
 * Changes are sent in `fs/changed` notifications, collected over `debounceMs`. Nothing is lost silently. Changes that
 * could not be reported become an `overflow`. Directories that cannot be watched become an `unwatched`. When a watched
 * directory itself disappears, or its path leads elsewhere, `removed` is sent and is the last report of that watch. If
 * a watched file returns, that is reported too.
 */

import { invalidRequest } from "../../errors.ts";
import type { FsChangedNotification, FsWatchParams } from "../../protocol/fs.ts";
import { toBytePath } from "../byte_path.ts";
import { ChangeQueue } from "./change_queue.ts";
import type { Inotify } from "./inotify.ts";
import type { IoContext } from "../io_context.ts";
import { DEFAULT_DEBOUNCE_MS, MAX_DEBOUNCE_MS, MAX_PENDING_CHANGES, MAX_WATCHES } from "../limits.ts";
import { openWatch, type WatchOrder, type WatchSource } from "./open_watch.ts";
import { WatchBudget } from "./watch_budget.ts";

export type WatchRequest = Omit<FsWatchParams, "sandbox">;

export interface WatchesOptions {
  readonly inotify: Inotify;
  /** The pacer of the file system, so that looking through trees shares its turns. */
  readonly io: Pick<IoContext, "clock" | "pacer">;
  /** Whether the connection takes notifications now. When it does again, call `resume`. */
  hasRoom(): boolean;
  changed(notification: FsChangedNotification): void;
  readonly maxPendingChanges?: number;
  readonly budget?: WatchBudget;
}

interface ActiveWatch {
  readonly changes: ChangeQueue;
  readonly source: WatchSource;
}

export class Watches {
  readonly #options: WatchesOptions;
  readonly #budget: WatchBudget;
  readonly #active = new Map<number, ActiveWatch>();
  #isEnded = false;

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new WatchBudget();
  }

  get size(): number {
    return this.#active.size;
  }

  /** Resolves when every change from now on is reported. `open` replaces the server's own way to watch. */
  async watch(
    { watchId, path, recursive, debounceMs }: WatchRequest,
    open: (order: WatchOrder) => WatchSource = (order) => openWatch({ ...this.#options, budget: this.#budget }, order),
  ): Promise<void> {
    if (this.#isEnded) return;
    if (this.#active.has(watchId)) throw invalidRequest(`watch ${watchId} already exists`);
    if (this.#active.size >= MAX_WATCHES) {
      throw invalidRequest(`at most ${MAX_WATCHES} watches may be open per connection`);
    }
    if ((debounceMs ?? 0) > MAX_DEBOUNCE_MS) throw invalidRequest(`debounceMs must not exceed ${MAX_DEBOUNCE_MS}`);
    const root = toBytePath(path);
    const { io, maxPendingChanges } = this.#options;
    const changes = new ChangeQueue({
      clock: io.clock,
      root,
      debounceMs: debounceMs ?? DEFAULT_DEBOUNCE_MS,
      maxPending: maxPendingChanges ?? MAX_PENDING_CHANGES,
      hasRoom: () => this.#options.hasRoom(),
      send: (found) => this.#options.changed({ watchId, changes: found }),
    });
    const source = open({ root, recursive, changes });
    // The id is already in use while the tree is being looked at, and `unwatch` can end it then.
    this.#active.set(watchId, { changes, source });
    try {
      await source.start();
    } catch (error) {
      this.unwatch(watchId);
      throw error;
    }
  }

  /** Nothing more is reported. An id that is not in use counts as ended. */
  unwatch(watchId: number): void {
    const watch = this.#active.get(watchId);
    if (watch === undefined) return;
    this.#active.delete(watchId);
    watch.source.close();
    watch.changes.close();
  }

  /** The connection has room again. */
  resume(): void {
    for (const { changes } of [...this.#active.values()]) changes.resume();
  }

  /** The connection has ended. */
  closeAll(): void {
    this.#isEnded = true;
    for (const watchId of [...this.#active.keys()]) this.unwatch(watchId);
  }
}
