/**
 * `fs/watchMissing`: reports once that a missing path has appeared, or that a present one has changed.
 *
 * A connection has one such watch; a newer one replaces it, which is also how clients end it. For each path the whole
 * way to it is watched, through links, so that a rename far above is noticed too. The client looks again when it is
 * told, so one report too many, or too early, does no harm: the first missing directory on the way is enough.
 *
 * A watch that is accepted must notice, so filesystems that do not report changes are not watched.
 */

import type { ByteString } from "../../os/files/byte_string.ts";
import { ENOENT } from "../../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW } from "../../os/files/file_calls.ts";
import { statAt } from "../../os/files/file_stat.ts";
import type { NativePath } from "../../path_uri.ts";
import { ELSEWHERE, type FsMissingChangedNotification, type FsWatchMissingParams } from "../../protocol/fs.ts";
import { toBytePath } from "../byte_path.ts";
import { isPlaceholder } from "../tree/directory_reader.ts";
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  type Inotify,
  type InotifyListener,
  type Subscription,
} from "./inotify.ts";
import { MAX_MISSING_PATHS } from "../limits.ts";
import { WatchedWay } from "./watched_way.ts";

const NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
const ITSELF = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

export interface MissingWatchOptions {
  readonly inotify: Inotify;
  changed(notification: FsMissingChangedNotification): void;
}

export class MissingWatch {
  readonly #options: MissingWatchOptions;
  #active: { watchId: number; subscriptions: Subscription[] } | null = null;
  #isEnded = false;

  constructor(options: MissingWatchOptions) {
    this.#options = options;
  }

  /** Whether the paths are watched. They are not if one is no longer as the client saw it, or cannot be watched. */
  watch({ watchId, missing, present }: FsWatchMissingParams): boolean {
    if (this.#isEnded || this.#active?.watchId === watchId) return false;
    this.#cancel();
    const paths = missing.filter((path) => path !== ELSEWHERE);
    if (
      present === ELSEWHERE || paths.length !== missing.length || paths.length === 0 || paths.length > MAX_MISSING_PATHS
    ) return false;

    this.#active = { watchId, subscriptions: [] };
    const isWatched = paths.every((path) => this.#watchMissing(toBytePath(path))) &&
      this.#watchPresent(present ?? null);
    if (!isWatched) this.#cancel();
    return isWatched;
  }

  /** The connection has ended. */
  closeAll(): void {
    this.#isEnded = true;
    this.#cancel();
  }

  #cancel(): void {
    const subscriptions = this.#active?.subscriptions ?? [];
    this.#active = null;
    for (const subscription of subscriptions) subscription.close();
  }

  #watchMissing(path: ByteString): boolean {
    // First the watches, then the look: what appears after the look is seen.
    if (!this.#watchWay(path)) return false;
    if (statAt(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) === -ENOENT) return true;
    // For the client a placeholder does not exist either, until a program uses it.
    return isPlaceholder(AT_FDCWD, path) && this.#subscribe(path, NAMES | ITSELF, () => true);
  }

  #watchPresent(present: NativePath | null): boolean {
    if (present === null) return true;
    const path = toBytePath(present);
    return this.#watchWay(path) && this.#subscribe(path, ITSELF, (name) => name === "") &&
      typeof statAt(AT_FDCWD, path) !== "number";
  }

  #watchWay(path: ByteString): boolean {
    const active = this.#active;
    if (active === null) return false;
    const tell = () => this.#tell(active.watchId);
    const way = new WatchedWay(this.#options.inotify, path, { changed: tell, overflowed: tell });
    active.subscriptions.push(way);
    return way.follow();
  }

  #subscribe(path: ByteString, mask: number, concerns: (name: ByteString) => boolean): boolean {
    const active = this.#active;
    if (active === null) return false;
    const listener: InotifyListener = {
      changed: (_mask, name) => {
        if (concerns(name)) this.#tell(active.watchId);
      },
      // A lost event may have been the one.
      overflowed: () => this.#tell(active.watchId),
    };
    const subscription = this.#options.inotify.subscribe(path, mask, listener);
    if (typeof subscription === "number") return false;
    active.subscriptions.push(subscription);
    return true;
  }

  #tell(watchId: number): void {
    if (this.#active?.watchId !== watchId) return;
    this.#cancel();
    this.#options.changed({ watchId });
  }
}
