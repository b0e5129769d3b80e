/**
 * `fs/createDirectory`, `fs/remove`, `fs/rename`, `fs/chmod`, `fs/setTimes` and `fs/symlink` with the runtime's own
 * functions.
 */

import { EBUSY, EEXIST, ENOENT, ENOTEMPTY } from "../../os/errno.ts";
import { S_IFDIR } from "../../os/files/file_stat.ts";
import type {
  ChmodRequest,
  CreateDirectoryRequest,
  RemoveRequest,
  RenameRequest,
  SetTimesRequest,
  SymlinkRequest,
} from "../file_system.ts";
import { OsError } from "../map_error.ts";
import type { PortableContext } from "./context.ts";
import { isPlaceholder, refusePlaceholder, textPath } from "./paths.ts";
import { cannotFlush } from "./refusals.ts";
import { lastName, parentPath } from "../../text_path.ts";

/** The mode of a new directory under the usual umask. */
const USUAL_MODE = 0o755;

export async function createDirectory(
  context: PortableContext,
  { path, recursive }: CreateDirectoryRequest,
): Promise<void> {
  const target = textPath(path, context.reason);
  if (recursive) await createWithParents(context, target);
  else await makeDirectory(context, target);
}

/**
 * Makes the directory and all missing ones above it. A directory that exists, or that another program makes meanwhile,
 * is fine.
 */
export async function createWithParents(context: PortableContext, path: string): Promise<void> {
  const missing: string[] = [];
  for (let existing = path;; existing = parentPath(existing)) {
    try {
      await makeOrFindDirectory(context, existing);
      break;
    } catch (error) {
      if (!isErrno(error, ENOENT) || existing === "/") throw error;
      missing.push(existing);
    }
  }
  for (const directory of missing.reverse()) await makeOrFindDirectory(context, directory);
}

/** @throws {OsError} the refusal, unless there is a directory already (following links) */
async function makeOrFindDirectory(context: PortableContext, path: string): Promise<void> {
  try {
    await makeDirectory(context, path);
  } catch (error) {
    const found = isErrno(error, ENOENT) ? null : await context.lookIfThere(path, "stat");
    if (found?.type !== S_IFDIR) throw error;
  }
}

/** A placeholder becomes the directory, and its sandbox no longer removes it (`make_directory.ts`). */
export async function makeDirectory(context: PortableContext, path: string, mode = 0o777): Promise<void> {
  try {
    await context.call(() => Deno.mkdir(path, { mode }));
  } catch (error) {
    if (!isErrno(error, EEXIST) || !await isPlaceholder(context, path)) throw error;
    await context.call(() => Deno.chmod(path, USUAL_MODE & mode));
  }
}

/** How often a tree is removed again because something was put into it, or another program removed a part. */
const MAX_ROUNDS = 32;

/**
 * The runtime removes a tree through open directories, so a link that replaces one of them is removed and not followed.
 * It does so in one call, which is finished even if nobody waits any more.
 */
export async function remove(context: PortableContext, request: RemoveRequest): Promise<void> {
  const path = textPath(request.path, context.reason);
  // The system would refuse this too, but only after everything below is gone.
  if (path === "/") throw new OsError(EBUSY);
  try {
    // Removing a placeholder would free the path inside its sandbox.
    await refusePlaceholder(context, path);
    await removeInRounds(context, path, request.recursive);
  } catch (error) {
    if (!request.force || !isErrno(error, ENOENT)) throw error;
  }
}

async function removeInRounds(context: PortableContext, path: string, recursive: boolean): Promise<void> {
  for (let round = 1;; round++) {
    try {
      return await context.call(() => Deno.remove(path, { recursive }));
    } catch (error) {
      // The path itself may be missing, or something below it that another program has removed. The look below tells
      // which.
      const isWorthAnother = recursive && (isErrno(error, ENOENT) || isErrno(error, ENOTEMPTY));
      if (!isWorthAnother || round === MAX_ROUNDS) throw error;
      if (await context.lookIfThere(path) === null) {
        if (round === 1) throw error;
        return; // Somebody else has removed the rest.
      }
    }
  }
}

export async function rename(context: PortableContext, request: RenameRequest): Promise<void> {
  const from = textPath(request.sourcePath, context.reason);
  const to = textPath(request.destinationPath, context.reason);
  await refusePlaceholder(context, from);
  if (request.flush === true) throw cannotFlush(context.reason);
  if (!request.overwrite) return await renameToFree(context, from, to);
  await context.call(() => Deno.rename(from, to));
  // If both names are of the same file, the kernel leaves both. The caller wants the old one to be gone.
  if (await areTwoNamesOfOneFile(context, from, to)) await context.call(() => Deno.remove(from));
}

async function areTwoNamesOfOneFile(context: PortableContext, one: string, other: string): Promise<boolean> {
  const facts = await context.lookIfThere(one);
  if (facts === null || facts.links < 2 || facts.type === S_IFDIR) return false;
  const twin = await context.lookIfThere(other);
  if (twin?.identity !== facts.identity) return false;
  if (lastName(one) !== lastName(other)) return true;
  // Two paths can lead to the same name.
  const [place, otherPlace] = [
    await context.look(parentPath(one), "stat"),
    await context.look(parentPath(other), "stat"),
  ];
  return place.identity !== otherPlace.identity;
}

/**
 * Renames to a name that must be free; the operation itself decides. The runtime's rename replaces what is there. So a
 * file gets a second name before it loses the first, and a directory replaces an empty one that was made for it.
 */
async function renameToFree(context: PortableContext, from: string, to: string): Promise<void> {
  const { type } = await context.look(from);
  if (type !== S_IFDIR) {
    await context.call(() => Deno.link(from, to));
    return await context.call(() => Deno.remove(from));
  }
  await context.call(() => Deno.mkdir(to, { mode: 0o700 }));
  try {
    await context.call(() => Deno.rename(from, to));
  } catch (error) {
    // Only while it is empty: what another program has put there is theirs.
    await context.attempt(() => Deno.remove(to));
    throw error;
  }
}

export async function chmod(context: PortableContext, { path, mode }: ChmodRequest): Promise<void> {
  await context.call(() => Deno.chmod(textPath(path, context.reason), mode));
}

/** The runtime sets both times, so the time of access becomes now. */
export async function setTimes(context: PortableContext, { path, modifiedAtMs }: SetTimesRequest): Promise<void> {
  await context.call(() => Deno.utime(textPath(path, context.reason), new Date(), new Date(modifiedAtMs)));
}

export async function symlink(context: PortableContext, { path, target }: SymlinkRequest): Promise<void> {
  await context.call(() => Deno.symlink(textPath(target, context.reason), textPath(path, context.reason)));
}

export function isErrno(error: unknown, errno: number): boolean {
  return error instanceof OsError && error.errno === errno;
}
