/**
 * Changes of one watch on their way to the client: collected for a moment, merged by path, bounded.
 *
 * A notification says what became of a path, not every step. When too many paths wait, or events were lost before, one
 * `overflow` replaces all changes that wait, and the client has to look for itself. `unwatched` is still sent after it.
 */

import type { Clock } from "../../clock.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import type { FsChange } from "../../protocol/fs.ts";
import { uriOf } from "../byte_path.ts";
import { MAX_CHANGES_PER_NOTIFICATION, MAX_PENDING_CHANGES } from "../limits.ts";

export interface ChangeQueueOptions {
  readonly clock: Clock;
  readonly debounceMs: number;
  /** The path that an overflow names. */
  readonly root: ByteString;
  readonly maxPending?: number;
  /** Whether the connection takes more now. When it does again, `resume` is called. */
  hasRoom(): boolean;
  send(changes: FsChange[]): void;
}

export type PathChange = "created" | "modified" | "removed";

export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  readonly #maxPending: number;
  readonly #pending = new Map<ByteString, PathChange>();
  readonly #unwatched = new Set<ByteString>();
  #hasOverflowed = false;
  #cancelTimer: (() => void) | null = null;
  #isClosed = false;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
    this.#maxPending = options.maxPending ?? MAX_PENDING_CHANGES;
  }

  add(path: ByteString, change: PathChange): void {
    // An overflow is waiting to be sent. After it the client looks at everything, so nothing needs to be added.
    if (this.#isClosed || this.#hasOverflowed) return;
    const earlier = this.#pending.get(path);
    if (earlier === undefined && this.#isFull) return this.overflow();
    this.#pending.set(path, merge(earlier, change));
    this.#schedule();
  }

  /** Changes below this directory will not be reported. */
  addUnwatched(directory: ByteString): void {
    if (this.#isClosed) return;
    if (this.#isFull) this.overflow();
    // Too many to name: the whole watch is reported as unwatched.
    if (this.#unwatched.size >= this.#maxPending) {
      this.#unwatched.clear();
      this.#unwatched.add(this.#options.root);
    } else if (!this.#unwatched.has(this.#options.root)) this.#unwatched.add(directory);
    this.#schedule();
  }

  overflow(): void {
    if (this.#isClosed) return;
    this.#pending.clear();
    this.#hasOverflowed = true;
    this.#schedule();
  }

  /** The connection has room again. */
  resume(): void {
    if (this.#cancelTimer === null) this.#flush();
  }

  /** Nothing more is sent. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#pending.clear();
    this.#unwatched.clear();
  }

  get #isFull(): boolean {
    return this.#pending.size + this.#unwatched.size >= this.#maxPending;
  }

  /** Counted from the first change, so that a file that is written without a pause is reported too. */
  #schedule(): void {
    this.#cancelTimer ??= this.#options.clock.setTimer(this.#options.debounceMs, () => {
      this.#cancelTimer = null;
      this.#flush();
    });
  }

  #flush(): void {
    while (!this.#isClosed && this.#options.hasRoom()) {
      const changes = this.#take();
      if (changes.length === 0) return;
      this.#options.send(changes);
    }
  }

  #take(): FsChange[] {
    if (this.#hasOverflowed) {
      this.#hasOverflowed = false;
      return [{ path: uriOf(this.#options.root), kind: "overflow" }];
    }
    const changes: FsChange[] = [];
    for (const [path, kind] of this.#pending) {
      if (changes.length === MAX_CHANGES_PER_NOTIFICATION) return changes;
      changes.push({ path: uriOf(path), kind });
      this.#pending.delete(path);
    }
    for (const path of this.#unwatched) {
      if (changes.length === MAX_CHANGES_PER_NOTIFICATION) return changes;
      changes.push({ path: uriOf(path), kind: "unwatched" });
      this.#unwatched.delete(path);
    }
    return changes;
  }
}

/** What two changes of a path amount to. */
function merge(earlier: PathChange | undefined, later: PathChange): PathChange {
  if (earlier === undefined || later === "removed") return later;
  // `created`: the path is still new to the client. `modified`: the client knew it, even if it was gone in between.
  return earlier === "created" ? "created" : "modified";
}
