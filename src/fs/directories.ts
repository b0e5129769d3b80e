/** `fs/createDirectory` and `fs/readDirectory`. */

import { type ByteString, lossyText } from "../os/files/byte_string.ts";
import { EEXIST, ENOENT, EROFS } from "../os/errno.ts";
import { AT_FDCWD, closeFd, O_DIRECTORY, O_NOFOLLOW, O_PATH, openAt } from "../os/files/file_calls.ts";
import { S_IFDIR, S_IFREG, statAt } from "../os/files/file_stat.ts";
import type { Slice } from "../os/loop/pacer.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsDirectoryEntry } from "../protocol/fs.ts";
import { componentsOf, parentBytePath, ROOT, toBytePath } from "./byte_path.ts";
import { directoryEntries } from "./directory_entries.ts";
import { type DirectoryRecord, isPlaceholder } from "./tree/directory_reader.ts";
import type { CreateDirectoryRequest } from "./file_system.ts";
import type { IoContext } from "./io_context.ts";
import { isOrBecomesDirectory, makeDirectory } from "./make_directory.ts";
import { must, OsError } from "./map_error.ts";

export async function createDirectory(
  { pacer }: IoContext,
  { path, recursive, followSymlinks }: CreateDirectoryRequest,
): Promise<void> {
  const target = toBytePath(path);
  if (!followSymlinks) await createWithoutLinks(target, recursive, pacer.slice());
  else if (recursive) await createWithParents(target, pacer.slice());
  else must(makeDirectory(AT_FDCWD, target));
}

/**
 * Makes the directory and all missing ones above it. A directory that exists, or that another program makes meanwhile,
 * is fine. A path can have two thousand levels, and the kernel walks down from the root for each: that takes turns.
 */
export async function createWithParents(path: ByteString, slice: Slice): Promise<void> {
  const missing: ByteString[] = [];
  let existing = path;
  for (;;) {
    if (slice.isOverAtLast) await slice.rest();
    const made = makeDirectory(AT_FDCWD, existing);
    if (made >= 0) break;
    if (made === -ENOENT && existing !== ROOT) {
      missing.push(existing);
      existing = parentBytePath(existing);
    } // EROFS: it is missing, or a placeholder. An existing directory gives EEXIST, even on a read-only filesystem.
    else if (made !== -EROFS && isOrBecomesDirectory(existing)) break;
    else throw new OsError(-made);
  }
  for (const directory of missing.reverse()) {
    if (slice.isOverAtLast) await slice.rest();
    const made = makeDirectory(AT_FDCWD, directory);
    if (made < 0 && (made === -EROFS || !isOrBecomesDirectory(directory))) throw new OsError(-made);
  }
}

/** Walks down from the root and holds each directory open, so that no link can replace one that was already passed. */
async function createWithoutLinks(path: ByteString, recursive: boolean, slice: Slice): Promise<void> {
  const components = componentsOf(path);
  if (components.length === 0 && !recursive) throw new OsError(EEXIST);
  let directory = must(openAt(AT_FDCWD, ROOT, O_PATH | O_DIRECTORY));
  try {
    for (const [index, component] of components.entries()) {
      if (slice.isOverAtLast) await slice.rest();
      const isLast = index === components.length - 1;
      const made = isLast || recursive ? makeDirectory(directory, component) : 0;
      if (made === -EROFS && isPlaceholder(directory, component)) throw new OsError(EROFS);
      if (isLast && !recursive) must(made);
      const next = openAt(directory, component, O_PATH | O_DIRECTORY | O_NOFOLLOW);
      // If it already existed, it must be a directory.
      if (next < 0) throw new OsError(made < 0 && made !== -EEXIST ? -made : -next);
      closeFd(directory);
      directory = next;
    }
  } finally {
    closeFd(directory);
  }
}

export function readDirectory(io: IoContext, path: NativePath, signal?: AbortSignal): Promise<FsDirectoryEntry[]> {
  const describe = (directory: number, record: DirectoryRecord) => {
    const kind = followedKind(directory, record);
    return kind === null ? null : { fileName: lossyText(record.name), ...kind };
  };
  return directoryEntries(io, path, { describe, signal });
}

type Kind = Pick<FsDirectoryEntry, "isDirectory" | "isFile">;

/** What a name leads to; null for a link that leads nowhere, and for a name that has disappeared. */
function followedKind(directory: number, { name, type }: DirectoryRecord): Kind | null {
  if (type !== "link" && type !== "unknown") return { isDirectory: type === "directory", isFile: type === "file" };
  const stat = statAt(directory, name);
  if (typeof stat === "number") return null;
  return { isDirectory: stat.type === S_IFDIR, isFile: stat.type === S_IFREG };
}
