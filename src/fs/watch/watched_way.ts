/**
 * The way to a watched path: every directory that is passed and every link that is followed, including the last
 * component. Reports when one of them is moved, removed or replaced, and when a missing part appears.
 *
 * A directory is watched for its own fate and not for its content. So the way is silent while nothing happens to it,
 * however busy the directories above are.
 */

import type { ByteString } from "../../os/files/byte_string.ts";
import { ENOENT } from "../../os/errno.ts";
import { AT_FDCWD, readLinkAt } from "../../os/files/file_calls.ts";
import { statAt } from "../../os/files/file_stat.ts";
import { componentsOf, joinBytePath, parentBytePath, ROOT } from "../byte_path.ts";
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE_SELF,
  IN_DONT_FOLLOW,
  IN_MOVE_SELF,
  IN_MOVED_TO,
  IN_ONLYDIR,
  type Inotify,
  type Subscription,
} from "./inotify.ts";
import { MAX_LINKS } from "../open_path.ts";
import { tellsOfChanges } from "./telling_filesystems.ts";

export interface WayListener {
  /** The owner then has to look, and to call `follow` again or `close`. */
  changed(): void;
  /** Events were lost. For owners that have no subscription of their own. */
  overflowed?(): void;
}

export class WatchedWay {
  readonly #inotify: Inotify;
  readonly #path: ByteString;
  readonly #listener: WayListener;
  #subscriptions: Subscription[] = [];
  #isWhole = true;

  constructor(inotify: Inotify, path: ByteString, listener: WayListener) {
    this.#inotify = inotify;
    this.#path = path;
    this.#listener = listener;
  }

  /** Watches the way as it is now. False when a part of it cannot be watched, so that its fate is not reported. */
  follow(): boolean {
    const earlier = this.#subscriptions;
    this.#subscriptions = [];
    const ahead = componentsOf(this.#path);
    let directory = ROOT;
    let links = 0;
    this.#isWhole = true;
    for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
      if (name === ".") continue;
      if (name === "..") {
        directory = parentBytePath(directory);
        continue;
      }
      if (!this.#watch(directory, name)) break;
      const point = joinBytePath(directory, name);
      const target = readLinkAt(AT_FDCWD, point);
      if (typeof target === "number") directory = point;
      else {
        // A link that is replaced may live on under another name. Then only its link count changes.
        this.#subscribe(point, IN_ATTRIB | IN_DONT_FOLLOW);
        if (++links > MAX_LINKS) {
          this.#isWhole = false;
          break;
        }
        if (target.startsWith("/")) directory = ROOT;
        ahead.unshift(...componentsOf(target));
      }
    }
    // Closed only now, so that the common part of both ways is watched without a gap.
    for (const subscription of earlier) subscription.close();
    return this.#isWhole;
  }

  close(): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription.close();
  }

  /** False when the way ends here for now. First the watch, then the look: what happens after the look is seen. */
  #watch(directory: ByteString, name: ByteString): boolean {
    if (!tellsOfChanges(directory)) this.#isWhole = false;
    const point = joinBytePath(directory, name);
    const mask = IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW;
    if (this.#subscribe(point, mask)) return true;
    this.#subscribe(directory, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR, (appeared) => appeared === name);
    return this.#subscribe(point, mask);
  }

  /** False when there is nothing to be watched. */
  #subscribe(path: ByteString, mask: number, concerns: (name: ByteString) => boolean = () => true): boolean {
    const subscription = this.#inotify.subscribe(path, mask, {
      changed: (_mask, name) => {
        if (concerns(name)) this.#listener.changed();
      },
      overflowed: () => this.#listener.overflowed?.(),
    });
    if (typeof subscription !== "number") this.#subscriptions.push(subscription);
    else if (subscription !== -ENOENT) this.#isWhole = false;
    return subscription !== -ENOENT;
  }
}

/** The file a path leads to; null when it leads nowhere. */
export function identityOf(path: ByteString): string | null {
  const stat = statAt(AT_FDCWD, path);
  return typeof stat === "number" ? null : stat.identity;
}
