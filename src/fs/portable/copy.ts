/**
 * `fs/copy` with the runtime's own functions: one file, one link, or a tree.
 *
 * Links are copied as links, and links found in a tree are not followed on either side. The runtime has no open
 * directories. So each name is checked before it is used, and an opened file is compared with that check before
 * anything is written. A program that replaces a directory by a link in between can lead the copy elsewhere, which the
 * other implementation would refuse; `docs/permissions.md` says so.
 */

import { EEXIST, ELOOP, ENOENT } from "../../os/errno.ts";
import { S_IFDIR, S_IFLNK, S_IFREG } from "../../os/files/file_stat.ts";
import { SET_ID_BITS } from "../content.ts";
import { isInsideItself, isSpecial, needsRecursive } from "../copy_refusals.ts";
import type { CopyRequest } from "../file_system.ts";
import { PIECE_BYTES } from "../limits.ts";
import { OsError } from "../map_error.ts";
import type { PortableContext } from "./context.ts";
import { createWithParents, isErrno, makeDirectory } from "./names.ts";
import { type FileFacts, listDirectory, refusePlaceholder, textPath } from "./paths.ts";
import { cannotName, wasExchanged } from "./refusals.ts";
import { followLinks, RuntimeFile } from "./runtime_file.ts";
import { parentPath } from "../../text_path.ts";

export async function copy(context: PortableContext, request: CopyRequest, signal?: AbortSignal): Promise<void> {
  const from = textPath(request.sourcePath, context.reason);
  const to = textPath(request.destinationPath, context.reason);
  const { type } = await context.look(from);
  if (type === S_IFLNK) return await copyLink(context, from, to);
  if (type === S_IFREG) {
    return await copyFile(context, from, await followLinks(context, to), { isInTree: false, signal });
  }
  if (type !== S_IFDIR) throw isSpecial();
  await refusePlaceholder(context, from);
  if (!request.recursive) throw needsRecursive();
  await copyTree(context, from, to, signal);
}

async function copyLink(context: PortableContext, from: string, to: string): Promise<void> {
  const target = await context.call(() => Deno.readLink(from));
  await context.call(() => Deno.symlink(target, to));
}

interface CopyFileOptions {
  /** True: a link at the destination is refused. False: links there have been followed already. */
  readonly isInTree: boolean;
  readonly signal: AbortSignal | undefined;
}

async function copyFile(
  context: PortableContext,
  from: string,
  to: string,
  { isInTree, signal }: CopyFileOptions,
): Promise<void> {
  const source = await RuntimeFile.open(context, from, { access: "read" });
  try {
    await mustBe(context, from, source.facts);
    if (isInTree && (await context.lookIfThere(to))?.type === S_IFLNK) throw new OsError(ELOOP);
    const mode = source.facts.mode & 0o777;
    const destination = await RuntimeFile.open(context, to, { access: "write", mode, mayBeDevice: !isInTree });
    try {
      if (!destination.isDevice) await mustBe(context, to, destination.facts);
      // The destination was not emptied when it was opened: it may be the source itself, and then nothing is copied.
      if (destination.facts.identity !== source.facts.identity) await copyContent(source, destination, signal);
    } catch (error) {
      destination.drop();
      throw error;
    }
    await destination.close();
  } finally {
    source.drop();
  }
}

/** Checks, before anything is read or written, that what was opened is what the name stands for, and not a link. */
async function mustBe(context: PortableContext, path: string, { identity }: FileFacts): Promise<void> {
  if ((await context.look(path)).identity !== identity) throw wasExchanged(path);
}

async function copyContent(
  source: RuntimeFile,
  destination: RuntimeFile,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { mode } = source.facts;
  // The mode first: the content may be secret. If that is refused, nothing has been changed.
  if (!destination.isDevice && destination.facts.mode !== mode) await destination.chmod(mode);
  const area = new Uint8Array(Math.min(PIECE_BYTES, source.facts.size + 1));
  let size = 0;
  for (let count = -1; count !== 0;) {
    count = await source.readAt(area, size);
    await destination.writeAt(area.subarray(0, count), size);
    size += count;
    signal?.throwIfAborted();
  }
  if (destination.isDevice) return;
  if (destination.facts.size > size) await destination.truncate(size);
  // Writing clears these bits again, unless we are root with all of root's capabilities.
  if ((mode & SET_ID_BITS) !== 0) await destination.chmod(mode);
}

async function copyTree(context: PortableContext, from: string, to: string, signal?: AbortSignal): Promise<void> {
  const source = await context.look(from);
  if (await leadsThrough(context, to, source)) throw isInsideItself();
  await createWithParents(context, parentPath(to));
  await makeDestination(context, to, source, "stat");
  const destination = await context.look(to, "stat");
  /** Directories still to be copied, as paths below both ends. */
  const pending = [""];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    for (const { name, type, isReachable } of await listDirectory(context, from + below, signal)) {
      signal?.throwIfAborted();
      const [inside, source, target] = [`${below}/${name}`, `${from}${below}/${name}`, `${to}${below}/${name}`];
      if (!isReachable) throw cannotName(source, context.reason);
      if (type === "link") await copyLink(context, source, target);
      else if (type === "file") await copyFile(context, source, target, { isInTree: true, signal });
      else if (type === "directory") {
        const facts = await context.look(source);
        if (facts.type !== S_IFDIR) throw wasExchanged(source);
        // If the tree contained the destination, copying would never end.
        if (facts.identity === destination.identity) throw isInsideItself();
        await makeDestination(context, target, facts, "lstat");
        pending.push(inside);
      } // Special files are left out, as in the reference.
    }
  }
}

/**
 * New directories get the permissions of their originals. The owner's bits are always set, or nothing could be put in.
 */
async function makeDestination(
  context: PortableContext,
  path: string,
  source: FileFacts,
  how: "stat" | "lstat",
): Promise<void> {
  try {
    await makeDirectory(context, path, (source.mode & 0o777) | 0o700);
  } catch (error) {
    if (!isErrno(error, EEXIST)) throw error;
    // A file or a link already has that name.
    if ((await context.look(path, how)).type !== S_IFDIR) throw new OsError(EEXIST);
  }
}

/** Whether a path, or the nearest existing directory above it, is or lies in the directory. */
async function leadsThrough(context: PortableContext, path: string, { identity }: FileFacts): Promise<boolean> {
  let existing = path;
  while (existing !== "/" && await context.lookIfThere(existing, "stat") === null) existing = parentPath(existing);
  let above: string;
  try {
    above = await context.call(() => Deno.realPath(existing));
  } catch (error) {
    if (isErrno(error, ENOENT)) return false; // Gone again.
    throw error;
  }
  for (;; above = parentPath(above)) {
    if ((await context.lookIfThere(above))?.identity === identity) return true;
    if (above === "/") return false;
  }
}
