/**
 * The way to a watched path: every directory that is passed and every link that is followed on it, that of the last
 * component included. Tells when one of them is moved, removed or replaced, and when what was missing appears.
 *
 * A directory is watched for its own fate and not for what is in it, so that the way is silent while nothing happens to
 * it, however busy the directories above are. What may not be watched is left out: of its fate nothing is told.
 */

import type { ByteString } from "../os/byte_string.ts";
import { ENOENT } from "../os/errno.ts";
import { AT_FDCWD, readLinkAt } from "../os/file_calls.ts";
import { statAt } from "../os/file_stat.ts";
import { componentsOf, joinPath, parentOf, ROOT } from "./byte_path.ts";
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
import { MAX_LINKS } from "./open_path.ts";

export class WatchedWay {
  readonly #inotify: Inotify;
  readonly #path: ByteString;
  readonly #changed: () => void;
  #subscriptions: Subscription[] = [];

  /** After `changed` it is for the owner to look, and to call `follow` again or `close`. */
  constructor(inotify: Inotify, path: ByteString, changed: () => void) {
    this.#inotify = inotify;
    this.#path = path;
    this.#changed = changed;
  }

  /** Watches the way as it is now. */
  follow(): void {
    const earlier = this.#subscriptions;
    this.#subscriptions = [];
    const ahead = componentsOf(this.#path);
    let directory = ROOT;
    let links = 0;
    for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
      if (name === ".") continue;
      if (name === "..") {
        directory = parentOf(directory);
        continue;
      }
      if (!this.#watch(directory, name)) break;
      const point = joinPath(directory, name);
      const target = readLinkAt(AT_FDCWD, point);
      if (typeof target === "number") directory = point;
      else {
        // A link that is replaced may live on under another name: then only its number of names changes.
        this.#subscribe(point, IN_ATTRIB | IN_DONT_FOLLOW);
        if (++links > MAX_LINKS) break;
        if (target.startsWith("/")) directory = ROOT;
        ahead.unshift(...componentsOf(target));
      }
    }
    // Only now: what both ways have in common has been watched without a gap.
    for (const subscription of earlier) subscription.close();
  }

  close(): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription.close();
  }

  /** False when the way ends here for now. First the watch, then the look: what happens after the look is seen. */
  #watch(directory: ByteString, name: ByteString): boolean {
    const point = joinPath(directory, name);
    const mask = IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW;
    if (this.#subscribe(point, mask) !== -ENOENT) return true;
    this.#subscribe(directory, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR, (appeared) => appeared === name);
    return this.#subscribe(point, mask) !== -ENOENT;
  }

  /** Not negative, or minus the error number. */
  #subscribe(path: ByteString, mask: number, concerns: (name: ByteString) => boolean = () => true): number {
    const subscription = this.#inotify.subscribe(path, mask, {
      changed: (_mask, name) => {
        if (concerns(name)) this.#changed();
      },
      overflowed: () => {}, // The owner is told, too, and looks at the way again.
    });
    if (typeof subscription === "number") return subscription;
    this.#subscriptions.push(subscription);
    return 0;
  }
}

/** Which file a path leads to; null when to none. */
export function identityOf(path: ByteString): string | null {
  const stat = statAt(AT_FDCWD, path);
  return typeof stat === "number" ? null : stat.identity;
}
