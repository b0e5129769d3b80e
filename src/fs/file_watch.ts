/**
 * Watches one path that is no directory: its content, and whether the name is taken away, given back or given to another
 * file. A link is followed for the content and watched itself for the name.
 */

import { invalidRequest } from "../errors.ts";
import type { ByteString } from "../os/byte_string.ts";
import { nameOf, parentOf } from "./byte_path.ts";
import type { ChangeQueue } from "./change_queue.ts";
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_IGNORED,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_UNMOUNT,
  type Inotify,
  type Subscription,
} from "./inotify.ts";
import { cannotWatch } from "./map_error.ts";
import type { WatchBudget } from "./watch_budget.ts";

const APPEARED = IN_CREATE | IN_MOVED_TO;
const DISAPPEARED = IN_DELETE | IN_MOVED_FROM;
const DIRECTORY_ENDED = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

export interface FileWatchOptions {
  readonly inotify: Inotify;
  readonly budget: WatchBudget;
  readonly changes: ChangeQueue;
  readonly path: ByteString;
}

export class FileWatch {
  readonly #options: FileWatchOptions;
  #directory: Subscription | null = null;
  /** Null while the name leads to nothing. */
  #content: Subscription | null = null;

  constructor(options: FileWatchOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { inotify, budget, changes, path } = this.#options;
    if (!budget.take()) throw invalidRequest(`Cannot watch: more than ${budget.limit} directories in all`);
    const mask = APPEARED | DISAPPEARED | IN_DELETE_SELF | IN_MOVE_SELF;
    const directory = inotify.subscribe(parentOf(path), mask, {
      changed: (happened, name) => this.#nameChanged(happened, name),
      overflowed: () => changes.overflow(),
    });
    if (typeof directory === "number") {
      budget.release();
      throw cannotWatch(-directory);
    }
    this.#directory = directory;
    this.#watchContent();
    return Promise.resolve();
  }

  close(): void {
    this.#content?.close();
    this.#content = null;
    if (this.#directory === null) return;
    this.#directory.close();
    this.#directory = null;
    this.#options.budget.release();
  }

  #nameChanged(mask: number, name: ByteString): void {
    const { changes, path } = this.#options;
    if (name === nameOf(path)) {
      this.#content?.close();
      this.#content = null;
      changes.add(path, (mask & DISAPPEARED) !== 0 ? "removed" : "created");
      if ((mask & APPEARED) !== 0) this.#watchContent();
    } else if (name === "" && (mask & DIRECTORY_ENDED) !== 0) {
      changes.add(path, "removed");
      this.close();
    }
  }

  #watchContent(): void {
    const { inotify, changes, path } = this.#options;
    const subscription = inotify.subscribe(path, IN_MODIFY | IN_ATTRIB, {
      changed: (mask, name) => {
        if (name === "" && (mask & (IN_MODIFY | IN_ATTRIB)) !== 0) changes.add(path, "modified");
      },
      overflowed: () => changes.overflow(),
    });
    // Gone already, or a link to nothing: the directory tells when that changes.
    this.#content = typeof subscription === "number" ? null : subscription;
  }
}
