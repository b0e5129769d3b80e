/**
 * `fs/list`: the names in a directory, with what the kernel knows about each. It is for programs that copy a tree or
 * show it, so a link is described itself and not followed.
 */

import { lossyText } from "../os/files/byte_string.ts";
import { AT_SYMLINK_NOFOLLOW, readLinkAt } from "../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, S_IFREG, statAt } from "../os/files/file_stat.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsListEntry } from "../protocol/fs.ts";
import type { IoContext } from "./io_context.ts";
import { directoryEntries } from "./directory_entries.ts";
import type { DirectoryRecord } from "./tree/directory_reader.ts";

/** `other` is whatever is neither a file, a directory nor a link. */
export function listKind(type: number): FsListEntry["kind"] {
  if (type === S_IFREG) return "file";
  if (type === S_IFDIR) return "directory";
  return type === S_IFLNK ? "symlink" : "other";
}

export function list(io: IoContext, path: NativePath, signal?: AbortSignal): Promise<FsListEntry[]> {
  return directoryEntries(io, path, { describe, signal });
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
