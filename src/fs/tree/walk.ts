/**
 * `fs/walk`: a tree, breadth first, names of one directory in byte order.
 *
 * Bounded in every direction (`walk_listing.ts`). `truncated` says that a bound was reached. A directory that cannot be
 * read is listed among the errors.
 */

import type { ByteString } from "../../os/files/byte_string.ts";
import {
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  closeFd,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_RDONLY,
  openAt,
} from "../../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../../os/files/file_stat.ts";
import type { FsWalkResult } from "../../protocol/fs.ts";
import { toBytePath } from "../byte_path.ts";
import { allRecords, type DirectoryRecord } from "./directory_reader.ts";
import type { WalkRequest } from "../file_system.ts";
import type { IoContext } from "../io_context.ts";
import { must, OsError } from "../map_error.ts";
import type { Slice } from "../../os/loop/pacer.ts";
import { type ListedKind, type Pending, WalkListing } from "./walk_listing.ts";

export async function walk(io: IoContext, { path, options }: WalkRequest, signal?: AbortSignal): Promise<FsWalkResult> {
  const listing = new WalkListing(options);
  const root = toBytePath(path);
  const slice = io.pacer.slice(signal);
  const own = must(statAt(AT_FDCWD, root, AT_SYMLINK_NOFOLLOW));
  const stat = own.type === S_IFLNK ? must(statAt(AT_FDCWD, root)) : own;
  const isForbiddenLink = own.type === S_IFLNK && !options.followDirectorySymlinks;
  if (stat.type === S_IFDIR && !isForbiddenLink) {
    listing.begin(root);
    for (let next = listing.next(); next !== undefined; next = listing.next()) await enter(listing, next, slice);
  }
  return listing.result;
}

async function enter(listing: WalkListing, directory: Pending, slice: Slice): Promise<void> {
  const flags = O_RDONLY | O_DIRECTORY | (directory.isLink ? 0 : O_NOFOLLOW);
  const fd = openAt(AT_FDCWD, directory.path, flags);
  if (fd < 0) return listing.fail(directory, new OsError(-fd).message);
  try {
    if (!listing.enters(() => must(statFd(fd)).identity)) return;
    const records = await allRecords(fd, slice);
    records.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const record of records) {
      const kind = kindOf(fd, record, listing.options);
      if (!listing.list(directory, record.name, kind, { isLink: record.type !== "directory" })) return;
      if (slice.isOverAtLast) await slice.rest();
    }
  } catch (error) {
    if (!(error instanceof OsError)) throw error;
    listing.fail(directory, error.message);
  } finally {
    closeFd(fd);
  }
}

function kindOf(fd: number, { name, type }: DirectoryRecord, options: WalkListing["options"]): ListedKind {
  if (type === "file" || type === "directory") return type;
  if (type === "special") return "other";
  const stat = statAt(fd, name);
  if (typeof stat === "number") return null;
  if (type === "link" || isLink(fd, name)) {
    return stat.type === S_IFDIR && options.followDirectorySymlinks ? "directory" : "other";
  }
  return stat.type === S_IFREG ? "file" : stat.type === S_IFDIR ? "directory" : "other";
}

function isLink(fd: number, name: ByteString): boolean {
  const stat = statAt(fd, name, AT_SYMLINK_NOFOLLOW);
  return typeof stat !== "number" && stat.type === S_IFLNK;
}
