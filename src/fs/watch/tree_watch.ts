/**
 * Watches a directory, and those below it if wanted.
 *
 * A new directory is watched before it is listed, so whatever happens in it is either seen or found. After events were
 * lost, all watches are set again before the client is told to look, so that later changes are seen again. Links are
 * not followed, except the root itself. Placeholders are not reported but watched: a program may start to use one.
 *
 * More than 300 lines: one state machine over one set of watched directories.
 */

import { invalidRequest } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { EACCES, ENOENT, ENOTDIR } from "../../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW, closeFd, O_DIRECTORY, O_RDONLY, openAt } from "../../os/files/file_calls.ts";
import { S_IFDIR, statAt } from "../../os/files/file_stat.ts";
import { joinBytePath, lastByteName, parentBytePath } from "../byte_path.ts";
import type { ChangeQueue, PathChange } from "./change_queue.ts";
import { allRecords, type DirectoryRecord } from "../tree/directory_reader.ts";
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_DONT_FOLLOW,
  IN_IGNORED,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_ONLYDIR,
  IN_UNMOUNT,
  type Inotify,
  type InotifyListener,
  type Subscription,
} from "./inotify.ts";
import { cannotWatch, OsError } from "../map_error.ts";
import type { Pacer, Slice } from "../../os/loop/pacer.ts";
import { SilentFilesystemError } from "./telling_filesystems.ts";
import type { WatchBudget } from "./watch_budget.ts";
import { WatchedPlaceholders } from "./watched_placeholders.ts";
import { identityOf, WatchedWay } from "./watched_way.ts";

const APPEARED = IN_CREATE | IN_MOVED_TO;
const DISAPPEARED = IN_DELETE | IN_MOVED_FROM;
const ENDED = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
const MASK = APPEARED | DISAPPEARED | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/** The kernel's name for a file that was made with `O_TMPFILE`. */
const UNNAMED = /^#\d+$/;

export interface TreeWatchOptions {
  readonly inotify: Inotify;
  readonly pacer: Pacer;
  readonly budget: WatchBudget;
  readonly changes: ChangeQueue;
  readonly root: ByteString;
  readonly recursive: boolean;
}

/** A directory that was found and not looked into yet. */
interface Unseen {
  readonly path: ByteString;
  /** Its content is new to the client. */
  readonly isNew: boolean;
}

/** A directory that is being looked into. Listed names may be gone when their turn comes. */
interface Look {
  readonly path: ByteString;
  readonly gone: Set<ByteString>;
  isGone: boolean;
}

export class TreeWatch {
  readonly #options: TreeWatchOptions;
  readonly #directories = new Map<ByteString, Subscription>();
  readonly #placeholders = new WatchedPlaceholders();
  readonly #way: WatchedWay;
  /** The directory that the root led to. */
  #identity: string | null = null;
  readonly #listener: InotifyListener = {
    changed: (mask, name, directory) => {
      if (this.#isClosed) return;
      if (name !== "") this.#entryChanged(mask, joinBytePath(directory, name));
      else if ((mask & ENDED) !== 0) this.#ended(mask, directory);
    },
    overflowed: () => this.#restart(),
  };
  #unseen: Unseen[] = [];
  #isScanning = false;
  #look: Look | null = null;
  /** The first look, which the client waits for, is under way. */
  #isStarting = true;
  /** Events were lost, and the watches must be set again. */
  #mustRestart = false;
  /** They are being set again; the client is told when that is done. */
  #owesOverflow = false;
  #isClosed = false;

  constructor(options: TreeWatchOptions) {
    this.#options = options;
    this.#way = new WatchedWay(options.inotify, options.root, { changed: () => this.#mustLeadToRoot() });
  }

  /** Resolves when everything is being watched. */
  async start(): Promise<void> {
    try {
      const failure = this.#watchRoot();
      if (failure !== null) throw failure;
      await this.#scan();
      this.#isStarting = false;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unseen = [];
    this.#forgetAll();
    this.#way.close();
  }

  /** Null when it, and the way to it, is watched. */
  #watchRoot(): Error | null {
    const { root, recursive } = this.#options;
    this.#way.follow();
    const failure = this.#watch(root);
    this.#identity = identityOf(root);
    if (failure === null && recursive) this.#unseen.push({ path: root, isNew: false });
    return failure;
  }

  /** After a change on the way to the root: if the path leads elsewhere now, the directory is gone for this watch. */
  #mustLeadToRoot(): void {
    if (this.#isClosed) return;
    if (identityOf(this.#options.root) === this.#identity) this.#way.follow();
    else this.#rootIsGone();
  }

  #rootIsGone(): void {
    this.#options.changes.add(this.#options.root, "removed");
    this.close();
  }

  /** Null when it is watched now. */
  #watch(path: ByteString): Error | null {
    const { inotify, budget, root } = this.#options;
    if (this.#directories.has(path)) return null;
    const silent = SilentFilesystemError.at(path);
    if (silent !== null) return silent;
    if (!budget.take()) {
      return invalidRequest(`Cannot watch: one connection may watch at most ${budget.limit} directories in all`);
    }
    const mask = path === root ? MASK : MASK | IN_DONT_FOLLOW;
    const subscription = inotify.subscribe(path, mask, this.#listener);
    if (typeof subscription === "number") {
      budget.release();
      return cannotWatch(-subscription);
    }
    this.#directories.set(path, subscription);
    for (const placeholder of this.#placeholders.find(path)) this.#watchPlaceholder(placeholder);
    return null;
  }

  #entryChanged(mask: number, path: ByteString): void {
    const { recursive } = this.#options;
    const isDirectory = (mask & IN_ISDIR) !== 0;
    // Something was put into a placeholder: for the client the directory appears with that.
    const parent = parentBytePath(path);
    this.#tellIfUsed(parent);
    if (!recursive && parent !== this.#options.root) return;
    if ((mask & DISAPPEARED) !== 0) {
      this.#add(path, "removed");
      this.#noteGone(path);
      if (!isDirectory) return;
      // A deleted directory was empty; one that is moved away takes everything below with it.
      if ((mask & IN_DELETE) !== 0) this.#forget(path);
      else this.#forgetBelow(path);
    } else if ((mask & APPEARED) !== 0) {
      const isTold = this.#add(path, "created");
      if (!isDirectory) return;
      if (!recursive) {
        if (!isTold) this.#watchPlaceholder(path);
        return;
      }
      // It may have replaced another directory, whose end is reported later.
      this.#forgetBelow(path);
      this.#lookInto({ path, isNew: true });
    } else if (!isUnnamed(path)) this.#add(path, "modified");
  }

  /** False when it is not a change for a client. */
  #add(path: ByteString, change: PathChange): boolean {
    const told = this.#placeholders.translate(path, change);
    if (told !== null) this.#options.changes.add(path, told);
    return told !== null;
  }

  /** Watches a placeholder to notice when it is used, even if directories below are not watched. */
  #watchPlaceholder(path: ByteString): void {
    if (this.#options.recursive) this.#unseen.push({ path, isNew: true });
    else this.#watch(path);
  }

  #tellIfUsed(directory: ByteString): void {
    if (!this.#placeholders.isUsed(directory)) return;
    this.#options.changes.add(directory, "created");
    if (!this.#options.recursive) this.#forget(directory);
  }

  /** A watched directory itself is gone. For all but the root its parent reports that. */
  #ended(mask: number, directory: ByteString): void {
    if (directory !== this.#options.root) {
      if ((mask & IN_IGNORED) !== 0) this.#forget(directory);
      return;
    }
    this.#rootIsGone();
  }

  // ---------------------------------------------------------------- looking into directories

  #lookInto(unseen: Unseen): void {
    this.#unseen.push(unseen);
    this.#scan().catch((error: unknown) => {
      // Unexpected errors must not pass for "nothing changed".
      this.#options.changes.addUnwatched(this.#options.root);
      reportError(error);
    });
  }

  async #scan(): Promise<void> {
    if (this.#isScanning) return;
    this.#isScanning = true;
    try {
      const slice = this.#options.pacer.slice();
      for (let next = this.#unseen.shift(); next !== undefined; next = this.#unseen.shift()) {
        await this.#lookAt(next, slice);
        if (this.#mustRestart && !this.#isClosed) this.#beginAgain();
      }
      if (this.#owesOverflow) this.#options.changes.overflow();
      this.#owesOverflow = false;
    } finally {
      this.#isScanning = false;
    }
  }

  async #lookAt({ path, isNew }: Unseen, slice: Slice): Promise<void> {
    const failure = this.#watch(path);
    if (failure !== null) return this.#cannotWatch(path, failure);
    this.#tellIfUsed(path);
    const fd = openAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return this.#cannotWatch(path, new OsError(-fd));
    const look: Look = this.#look = { path, gone: new Set(), isGone: false };
    try {
      for (const record of await allRecords(fd, slice)) {
        if (this.#isClosed || this.#mustRestart || look.isGone) return;
        const child = joinBytePath(path, record.name);
        // It is already reported as gone, or what replaced it has been reported and looked into.
        if (look.gone.has(child)) continue;
        if (isNew) this.#options.changes.add(child, "created");
        if (isDirectory(fd, record)) this.#unseen.push({ path: child, isNew });
        if (slice.isOverAtLast) await slice.rest();
      }
    } catch (error) {
      if (!(error instanceof OsError)) throw error;
      this.#cannotWatch(path, error);
    } finally {
      this.#look = null;
      closeFd(fd);
    }
  }

  #noteGone(path: ByteString): void {
    const look = this.#look;
    if (look === null) return;
    if (parentBytePath(path) === look.path) look.gone.add(path);
    else if (look.path === path || look.path.startsWith(`${path}/`)) look.isGone = true;
  }

  #cannotWatch(path: ByteString, failure: Error): void {
    const errno = failure instanceof OsError ? failure.errno : null;
    if (errno === ENOENT || errno === ENOTDIR) return; // Gone again, or a link now.
    // At the start an unexpected failure makes the whole watch fail. Any other failure is reported as a part not
    // watched.
    const isExpected = errno === EACCES || failure instanceof SilentFilesystemError;
    if (this.#isStarting && !isExpected) throw failure;
    this.#options.changes.addUnwatched(path);
  }

  // ---------------------------------------------------------------- after a loss

  #restart(): void {
    if (this.#isClosed || this.#mustRestart) return;
    if (!this.#options.recursive) {
      this.#mustLeadToRoot();
      return this.#options.changes.overflow();
    }
    this.#mustRestart = true;
    if (this.#isScanning) return; // The scan takes care of it.
    this.#beginAgain();
    const root = this.#unseen.pop();
    if (root !== undefined) this.#lookInto(root);
  }

  /** Watches only the root again: which directories came and went is not known yet. */
  #beginAgain(): void {
    this.#mustRestart = false;
    this.#owesOverflow = true;
    this.#unseen = [];
    this.#forgetAll();
    if (this.#watchRoot() === null) return;
    this.#owesOverflow = false;
    this.#rootIsGone();
  }

  #forgetBelow(path: ByteString): void {
    if (!this.#directories.has(path)) return;
    const below = `${path}/`;
    for (const directory of [...this.#directories.keys()]) {
      if (directory === path || directory.startsWith(below)) this.#forget(directory);
    }
  }

  #forgetAll(): void {
    for (const directory of [...this.#directories.keys()]) this.#forget(directory);
  }

  #forget(directory: ByteString): void {
    const subscription = this.#directories.get(directory);
    if (subscription === undefined) return;
    this.#directories.delete(directory);
    subscription.close();
    this.#options.budget.release();
  }
}

/**
 * The kernel also reports changes to files without a name, and gives them a name that nobody else can see. If a real
 * file of that name existed and is gone, its removal is reported anyway.
 */
function isUnnamed(path: ByteString): boolean {
  return UNNAMED.test(lastByteName(path)) && statAt(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) === -ENOENT;
}

function isDirectory(fd: number, { name, type }: DirectoryRecord): boolean {
  if (type !== "unknown") return type === "directory";
  const stat = statAt(fd, name, AT_SYMLINK_NOFOLLOW);
  return typeof stat !== "number" && stat.type === S_IFDIR;
}
