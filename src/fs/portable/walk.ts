/** `fs/walk` with the runtime's own functions. Names that are not UTF-8 are listed among the errors. */

import { DomainError } from "../../errors.ts";
import { toByteString } from "../../os/files/byte_string.ts";
import { ENOTDIR } from "../../os/errno.ts";
import { S_IFDIR, S_IFLNK } from "../../os/files/file_stat.ts";
import type { FsWalkResult } from "../../protocol/fs.ts";
import { toBytePath, toNativePath } from "../byte_path.ts";
import type { WalkRequest } from "../file_system.ts";
import { OsError } from "../map_error.ts";
import { type ListedKind, type Pending, WalkListing } from "../tree/walk_listing.ts";
import type { PortableContext } from "./context.ts";
import { type Entry, listDirectory, textPath } from "./paths.ts";
import { joinPath } from "../../text_path.ts";
import { cannotName } from "./refusals.ts";

export async function walk(
  context: PortableContext,
  { path, options }: WalkRequest,
  signal?: AbortSignal,
): Promise<FsWalkResult> {
  const listing = new WalkListing(options);
  const root = textPath(path, context.reason);
  const own = await context.look(root);
  const facts = own.type === S_IFLNK ? await context.look(root, "stat") : own;
  const isForbiddenLink = own.type === S_IFLNK && !options.followDirectorySymlinks;
  if (facts.type === S_IFDIR && !isForbiddenLink) {
    listing.begin(toBytePath(root));
    for (let next = listing.next(); next !== undefined; next = listing.next()) {
      signal?.throwIfAborted();
      await enter(context, listing, next, signal);
    }
  }
  return listing.result;
}

async function enter(
  context: PortableContext,
  listing: WalkListing,
  directory: Pending,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    const path = textPath(toNativePath(directory.path), context.reason);
    const facts = await context.look(path, directory.isLink ? "stat" : "lstat");
    if (facts.type !== S_IFDIR) throw new OsError(ENOTDIR);
    const entries = await listDirectory(context, path, signal);
    if (!listing.enters(() => facts.identity)) return;
    const found = entries.map((entry) => ({ ...entry, bytes: toByteString(entry.name) }));
    found.sort((a, b) => (a.bytes < b.bytes ? -1 : 1));
    for (const { bytes, ...entry } of found) {
      if (!entry.isReachable) {
        listing.fail(directory, cannotName(entry.name, context.reason).message);
        continue;
      }
      const kind = await kindOf(context, path, entry, listing.options);
      if (!listing.list(directory, bytes, kind, { isLink: entry.type === "link" })) return;
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    listing.fail(directory, error.message);
  }
}

async function kindOf(
  context: PortableContext,
  directory: string,
  { name, type }: Entry,
  options: WalkListing["options"],
): Promise<ListedKind> {
  if (type === "file" || type === "directory") return type;
  if (type === "special") return "other";
  const facts = await context.lookIfThere(joinPath(directory, name), "stat");
  if (facts === null) return null;
  return facts.type === S_IFDIR && options.followDirectorySymlinks ? "directory" : "other";
}
