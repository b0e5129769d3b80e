/** Chooses how to watch a path: as a tree, or as a single file. */

import type { ByteString } from "../../os/files/byte_string.ts";
import { ENOENT } from "../../os/errno.ts";
import { AT_FDCWD } from "../../os/files/file_calls.ts";
import { S_IFDIR, statAt } from "../../os/files/file_stat.ts";
import type { ChangeQueue } from "./change_queue.ts";
import { isPlaceholder } from "../tree/directory_reader.ts";
import { FileWatch } from "./file_watch.ts";
import type { Inotify } from "./inotify.ts";
import type { IoContext } from "../io_context.ts";
import { must, OsError } from "../map_error.ts";
import { TreeWatch } from "./tree_watch.ts";
import type { WatchBudget } from "./watch_budget.ts";

/** Something that reports changes from `start` to `close`. */
export interface WatchSource {
  /** Resolves when every change from now on is reported. */
  start(): Promise<void>;
  close(): void;
}

/** One watch: its path, and where its changes go. */
export interface WatchOrder {
  readonly root: ByteString;
  readonly recursive: boolean;
  readonly changes: ChangeQueue;
}

export interface WatchMachine {
  readonly inotify: Inotify;
  readonly io: Pick<IoContext, "pacer">;
  readonly budget: WatchBudget;
}

/** Throws when nothing exists at the path. */
export function openWatch(
  { inotify, io, budget }: WatchMachine,
  { root, recursive, changes }: WatchOrder,
): WatchSource {
  const isDirectory = must(statAt(AT_FDCWD, root)).type === S_IFDIR;
  if (isDirectory && isPlaceholder(AT_FDCWD, root)) throw new OsError(ENOENT);
  return isDirectory
    ? new TreeWatch({ inotify, pacer: io.pacer, budget, changes, root, recursive })
    : new FileWatch({ inotify, budget, changes, path: root });
}
