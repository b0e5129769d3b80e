/**
 * What changes mean to a client that sees no placeholders (`launch/policy/placeholders.ts`). A placeholder that comes
 * or goes with a sandbox is not a change. When a program starts to use one, it counts as created at that moment.
 */

import { PROTECTED_NAMES } from "../../launch/policy/policy_resolve.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { ENOENT } from "../../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW } from "../../os/files/file_calls.ts";
import { statAt } from "../../os/files/file_stat.ts";
import { joinBytePath, lastByteName } from "../byte_path.ts";
import type { PathChange } from "./change_queue.ts";
import { isPlaceholder } from "../tree/directory_reader.ts";

export class WatchedPlaceholders {
  readonly #paths = new Set<ByteString>();

  /** Notes the placeholders in a newly watched directory: they may go later, or be used. */
  find(directory: ByteString): ByteString[] {
    const paths = PROTECTED_NAMES.map((name) => joinBytePath(directory, name as ByteString));
    const found = paths.filter((path) => isPlaceholder(AT_FDCWD, path));
    for (const path of found) this.#paths.add(path);
    return found;
  }

  /** The change to report; null for none. */
  translate(path: ByteString, change: PathChange): PathChange | null {
    if (!PROTECTED_NAMES.includes(lastByteName(path))) return change;
    switch (change) {
      case "created":
        // One that is already gone was most likely a placeholder, and nobody could see it anyway.
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

  /** Whether a path is no longer a placeholder. True once, and for no other path. */
  isUsed(path: ByteString): boolean {
    if (!this.#paths.has(path) || isPlaceholder(AT_FDCWD, path) || isMissing(path)) return false;
    return this.#paths.delete(path);
  }
}

function isMissing(path: ByteString): boolean {
  return statAt(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) === -ENOENT;
}
