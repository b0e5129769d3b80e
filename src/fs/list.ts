/**
 * `fs/list`: the names in a directory, with what the kernel knows about each. It is for programs that copy a tree or
 * show it, so a link is described itself and not followed.
 */

import { internalError } from "../errors.ts";
import { lossyText } from "../os/files/byte_string.ts";
import { AT_SYMLINK_NOFOLLOW, readLinkAt } from "../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, S_IFREG, statAt } from "../os/files/file_stat.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsListEntry } from "../protocol/fs.ts";
import type { IoContext } from "./io_context.ts";
import { directoryEntries } from "./directory_entries.ts";
import { LIST_ITEM_BYTES, MAX_LIST_BYTES } from "./limits.ts";
import type { DirectoryRecord } from "./tree/directory_reader.ts";

/** `other` is whatever is neither a file, a directory nor a link. */
export function listKind(type: number): FsListEntry["kind"] {
  if (type === S_IFREG) return "file";
  if (type === S_IFDIR) return "directory";
  return type === S_IFLNK ? "symlink" : "other";
}

/** How long the list has become: names are bounded by their number, but where links lead is not. */
export class ListLength {
  #bytes = 0;

  /** @throws {DomainError} when it is too long */
  add({ fileName, target }: FsListEntry): void {
    this.#bytes += LIST_ITEM_BYTES + writtenLength(fileName) + (target === undefined ? 0 : writtenLength(target));
    if (this.#bytes > MAX_LIST_BYTES) {
      throw internalError(
        `entries of the directory have more than ${MAX_LIST_BYTES} bytes; fs/readDirectory lists the names alone`,
      );
    }
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const AS_IT_IS = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** In UTF-8 as a JSON string. An escape has six characters at most. */
function writtenLength(text: string): number {
  if (AS_IT_IS.test(text)) return text.length;
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20) bytes += 6;
    else if (unit < 0x80) bytes += unit === QUOTE || unit === BACKSLASH ? 2 : 1;
    // Half of a pair has two of the pair's four bytes. Half of none does not occur in the name of a file.
    else bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}

export function list(io: IoContext, path: NativePath, signal?: AbortSignal): Promise<FsListEntry[]> {
  const length = new ListLength();
  return directoryEntries(io, path, {
    describe: (directory, record) => {
      const entry = describe(directory, record);
      if (entry !== null) length.add(entry);
      return entry;
    },
    signal,
  });
}

/** Null for a name that has disappeared meanwhile. */
function describe(directory: number, { name }: DirectoryRecord): FsListEntry | null {
  const stat = statAt(directory, name, AT_SYMLINK_NOFOLLOW);
  if (typeof stat === "number") return null;
  const { type, size, mode, modifiedAtMs, uid, gid, links } = stat;
  const kind = listKind(type);
  const target = kind === "symlink" ? readLinkAt(directory, name) : 0;
  if (kind === "symlink" && typeof target === "number") return null;
  return {
    fileName: lossyText(name),
    kind,
    size,
    mode,
    modifiedAtMs,
    uid,
    gid,
    nlink: links,
    ...(typeof target === "number" ? {} : { target: lossyText(target) }),
  };
}
