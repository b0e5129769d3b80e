/**
 * What changes mean to somebody who sees no placeholders (`launch/placeholders.ts`): one that comes or goes with a sandbox
 * is no change, and one that somebody puts to use has been created then.
 */

import { PROTECTED_NAMES } from "../launch/policy_resolve.ts";
import type { ByteString } from "../os/byte_string.ts";
import { ENOENT } from "../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW } from "../os/file_calls.ts";
import { statAt } from "../os/file_stat.ts";
import { joinPath, nameOf } from "./byte_path.ts";
import type { PathChange } from "./change_queue.ts";
import { isPlaceholder } from "./directory_reader.ts";

export class WatchedPlaceholders {
  readonly #paths = new Set<ByteString>();

  /** Those in a directory that has begun to be watched: they may go later, or be put to use. */
  find(directory: ByteString): ByteString[] {
    const paths = PROTECTED_NAMES.map((name) => joinPath(directory, name as ByteString));
    const found = paths.filter((path) => isPlaceholder(AT_FDCWD, path));
    for (const path of found) this.#paths.add(path);
    return found;
  }

  /** The change to be told; null for none. */
  translate(path: ByteString, change: PathChange): PathChange | null {
    if (!PROTECTED_NAMES.includes(nameOf(path))) return change;
    switch (change) {
      case "created":
        // One that is gone again already was most likely one, and for nobody to see in any case.
        if (!isPlaceholder(AT_FDCWD, path) && !isMissing(path)) return change;
        this.#paths.add(path);
        return null;
      case "modified":
        if (!this.#paths.has(path)) return change;
        return this.isUsed(path) ? "created" : null;
      case "removed":
        return this.#paths.delete(path) ? null : change;
    }
  }

  /** Whether a path has ceased to be a placeholder: true once, and for no other path. */
  isUsed(path: ByteString): boolean {
    if (!this.#paths.has(path) || isPlaceholder(AT_FDCWD, path) || isMissing(path)) return false;
    return this.#paths.delete(path);
  }
}

function isMissing(path: ByteString): boolean {
  return statAt(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) === -ENOENT;
}
