/** `fs/createDirectory` and `fs/readDirectory`. */

import { internalError } from "../errors.ts";
import { type ByteString, lossyText } from "../os/byte_string.ts";
import { EEXIST, ENOENT, EROFS } from "../os/errno.ts";
import { AT_FDCWD, closeFd, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_RDONLY, openAt } from "../os/file_calls.ts";
import { S_IFDIR, S_IFREG, statAt } from "../os/file_stat.ts";
import type { NativePath } from "../path_uri.ts";
import type { FsDirectoryEntry } from "../protocol/fs.ts";
import { componentsOf, parentOf, ROOT, toBytePath } from "./byte_path.ts";
import { allRecords, type DirectoryRecord, isPlaceholder } from "./directory_reader.ts";
import type { CreateDirectoryRequest } from "./file_system.ts";
import type { IoContext } from "./io_context.ts";
import { MAX_DIRECTORY_ENTRIES } from "./limits.ts";
import { isOrBecomesDirectory, makeDirectory } from "./make_directory.ts";
import { must, OsError } from "./map_error.ts";

export function createDirectory({ path, recursive, followSymlinks }: CreateDirectoryRequest): void {
  const target = toBytePath(path);
  if (!followSymlinks) createWithoutLinks(target, recursive);
  else if (recursive) createWithParents(target);
  else must(makeDirectory(AT_FDCWD, target));
}

/** The directory and all that are missing above it. One that exists, or that another program makes meanwhile, is fine. */
export function createWithParents(path: ByteString): void {
  const missing: ByteString[] = [];
  let existing = path;
  for (;;) {
    const made = makeDirectory(AT_FDCWD, existing);
    if (made >= 0) break;
    if (made === -ENOENT && existing !== ROOT) {
      missing.push(existing);
      existing = parentOf(existing);
    } // What exists is never told to be on a read-only filesystem, but for a placeholder.
    else if (made !== -EROFS && isOrBecomesDirectory(existing)) break;
    else throw new OsError(-made);
  }
  for (const directory of missing.reverse()) {
    const made = makeDirectory(AT_FDCWD, directory);
    if (made < 0 && (made === -EROFS || !isOrBecomesDirectory(directory))) throw new OsError(-made);
  }
}

/** Steps down from the root, holding each directory open, so that no link can take the place of one already passed. */
function createWithoutLinks(path: ByteString, recursive: boolean): void {
  const components = componentsOf(path);
  if (components.length === 0 && !recursive) throw new OsError(EEXIST);
  let directory = must(openAt(AT_FDCWD, ROOT, O_PATH | O_DIRECTORY));
  try {
    for (const [index, component] of components.entries()) {
      const isLast = index === components.length - 1;
      const made = isLast || recursive ? makeDirectory(directory, component) : 0;
      if (made === -EROFS && isPlaceholder(directory, component)) throw new OsError(EROFS);
      if (isLast && !recursive) must(made);
      const next = openAt(directory, component, O_PATH | O_DIRECTORY | O_NOFOLLOW);
      // When it was there already, what counts is whether it is a directory.
      if (next < 0) throw new OsError(made < 0 && made !== -EEXIST ? -made : -next);
      closeFd(directory);
      directory = next;
    }
  } finally {
    closeFd(directory);
  }
}

export async function readDirectory(
  io: IoContext,
  path: NativePath,
  signal?: AbortSignal,
): Promise<FsDirectoryEntry[]> {
  const directory = toBytePath(path);
  if (isPlaceholder(AT_FDCWD, directory)) throw new OsError(ENOENT);
  const fd = must(openAt(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
  try {
    const slice = io.pacer.slice(signal);
    const records = await allRecords(fd, slice, MAX_DIRECTORY_ENTRIES);
    if (records.length > MAX_DIRECTORY_ENTRIES) {
      throw internalError(`directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
    }
    const entries: FsDirectoryEntry[] = [];
    for (const record of records) {
      const kind = followedKind(fd, record);
      if (kind !== null) entries.push({ fileName: lossyText(record.name), ...kind });
      if (slice.isOverAtLast) await slice.rest();
    }
    return entries;
  } finally {
    closeFd(fd);
  }
}

type Kind = Pick<FsDirectoryEntry, "isDirectory" | "isFile">;

/** What a name leads to; null for a link that leads nowhere, and for a name that is gone again. */
function followedKind(directory: number, { name, type }: DirectoryRecord): Kind | null {
  if (type !== "link" && type !== "unknown") return { isDirectory: type === "directory", isFile: type === "file" };
  const stat = statAt(directory, name);
  if (typeof stat === "number") return null;
  return { isDirectory: stat.type === S_IFDIR, isFile: stat.type === S_IFREG };
}
