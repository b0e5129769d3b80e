/**
 * Watches one path that is not a directory. It reports when the content changes, and when the path disappears, returns
 * or leads to another file. The cause may be its own name or anything on the way to it. A link is followed as long as
 * the watch lives.
 */

import { invalidRequest } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { ENOENT, ENOTDIR } from "../../os/errno.ts";
import { lastByteName, parentBytePath } from "../byte_path.ts";
import type { ChangeQueue } from "./change_queue.ts";
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  type Inotify,
  type Subscription,
} from "./inotify.ts";
import { cannotWatch } from "../map_error.ts";
import { SilentFilesystemError } from "./telling_filesystems.ts";
import type { WatchBudget } from "./watch_budget.ts";
import { identityOf, WatchedWay } from "./watched_way.ts";

const APPEARED = IN_CREATE | IN_MOVED_TO;
const DISAPPEARED = IN_DELETE | IN_MOVED_FROM;

export interface FileWatchOptions {
  readonly inotify: Inotify;
  readonly budget: WatchBudget;
  readonly changes: ChangeQueue;
  readonly path: ByteString;
}

export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #way: WatchedWay;
  /** Null while the directory does not exist. */
  #directory: Subscription | null = null;
  /** Null while the path leads to nothing. */
  #content: Subscription | null = null;
  /** The file that the path led to. */
  #identity: string | null = null;
  #isOpen = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#way = new WatchedWay(options.inotify, options.path, { changed: () => this.#lookAgain() });
  }

  start(): Promise<void> {
    const { budget, path } = this.#options;
    const silent = SilentFilesystemError.at(path);
    if (silent !== null) throw silent;
    if (!budget.take()) {
      throw invalidRequest(`Cannot watch: one connection may watch at most ${budget.limit} directories in all`);
    }
    this.#isOpen = true;
    const errno = this.#follow() ?? (this.#identity === null ? ENOENT : null);
    if (errno === null) return Promise.resolve();
    this.close();
    throw cannotWatch(errno);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#way.close();
    this.#content?.close();
    this.#directory?.close();
    this.#content = this.#directory = null;
    this.#options.budget.release();
  }

  /**
   * Watches everything as it is now. What stays the same is watched without a gap. Returns null, or the error number
   * when something that exists cannot be watched. When something is missing, the way reports when it appears.
   */
  #follow(): number | null {
    const { inotify, changes, path } = this.#options;
    const overflowed = () => this.#overflowed();
    this.#way.follow();
    const directory = inotify.subscribe(parentBytePath(path), APPEARED | DISAPPEARED, {
      changed: (mask, name) => this.#nameChanged(mask, name),
      overflowed,
    });
    this.#directory?.close();
    this.#directory = typeof directory === "number" ? null : directory;
    const content = inotify.subscribe(path, IN_MODIFY | IN_ATTRIB, {
      changed: (mask, name) => {
        if (!this.#isOpen || name !== "") return;
        // When a file loses a name, perhaps because another file took it, this is the only event.
        if ((mask & IN_ATTRIB) !== 0) this.#lookAgain();
        else if ((mask & IN_MODIFY) !== 0) changes.add(path, "modified");
      },
      overflowed,
    });
    this.#content?.close();
    this.#content = typeof content === "number" ? null : content;
    this.#identity = identityOf(path);
    const failures = [directory, content].filter((result) => typeof result === "number");
    const failure = failures.find((result) => result !== -ENOENT && result !== -ENOTDIR);
    return failure === undefined ? null : -failure;
  }

  #followOrTell(): void {
    if (this.#follow() !== null) this.#options.changes.addUnwatched(this.#options.path);
  }

  #nameChanged(mask: number, name: ByteString): void {
    const { changes, path } = this.#options;
    if (!this.#isOpen || name !== lastByteName(path)) return;
    changes.add(path, (mask & DISAPPEARED) !== 0 ? "removed" : "created");
    this.#followOrTell();
  }

  /** The file, or something on the way to it, is different now. */
  #lookAgain(): void {
    if (!this.#isOpen) return;
    const { changes, path } = this.#options;
    const earlier = this.#identity;
    this.#followOrTell();
    if (this.#identity !== null) changes.add(path, this.#identity === earlier ? "modified" : "created");
    else if (earlier !== null) changes.add(path, "removed");
  }

  #overflowed(): void {
    if (!this.#isOpen) return;
    this.#followOrTell();
    this.#options.changes.overflow();
  }
}
