/**
 * `fs/remove`: a file, a link (never what it leads to), an empty directory, or a whole tree.
 *
 * A tree is emptied from inside, through open directories: a link that replaces one of them is removed, not followed.
 * What others remove meanwhile counts as removed.
 */

import { internalError } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { EBUSY, EEXIST, EISDIR, ELOOP, ENOENT, ENOTDIR, ENOTEMPTY, EPERM } from "../../os/errno.ts";
import {
  AT_FDCWD,
  AT_REMOVEDIR,
  AT_SYMLINK_NOFOLLOW,
  closeFd,
  RENAME_NOREPLACE,
  renameAt,
  unlinkAt,
} from "../../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, statAt } from "../../os/files/file_stat.ts";
import { ROOT, toBytePath } from "../byte_path.ts";
import { type DirectoryRecord, isPlaceholder, nextRecords } from "./directory_reader.ts";
import { DirectoryStack, openChildDirectory } from "./directory_stack.ts";
import type { RemoveRequest } from "../file_system.ts";
import type { IoContext } from "../io_context.ts";
import { isALink, must, OsError } from "../map_error.ts";
import { locate } from "../open_path.ts";
import type { Slice } from "../../os/loop/pacer.ts";

export async function remove(io: IoContext, request: RemoveRequest, signal?: AbortSignal): Promise<void> {
  const path = toBytePath(request.path);
  try {
    // Removing a placeholder would free the path inside its sandbox.
    if (isPlaceholder(AT_FDCWD, path)) throw new OsError(ENOENT);
    if (!request.followSymlinks) removeWithoutLinks(path, request.recursive);
    else await removeAt(AT_FDCWD, path, request.recursive, io.pacer.slice(signal));
  } catch (error) {
    const isGone = error instanceof OsError && error.errno === ENOENT;
    if (!isGone || !request.force) throw error;
  }
}

function removeWithoutLinks(path: ByteString, recursive: boolean): void {
  // As in the reference, so that clients see the same from both.
  if (recursive) throw internalError("recursive no-follow removal is unsupported");
  if (path === ROOT) throw new OsError(EBUSY);
  const { directory, name } = locate(path, { followSymlinks: false });
  try {
    const { type } = must(statAt(directory, name, AT_SYMLINK_NOFOLLOW));
    if (type === S_IFLNK) throw isALink();
    // A link put there just now would itself be removed: removing follows nothing.
    must(unlinkAt(directory, name, type === S_IFDIR ? AT_REMOVEDIR : 0));
  } finally {
    closeFd(directory);
  }
}

async function removeAt(directory: number, path: ByteString, recursive: boolean, slice: Slice): Promise<void> {
  // The system would refuse this too, but only after everything below is gone.
  if (path === ROOT) throw new OsError(EBUSY);
  const { type } = must(statAt(directory, path, AT_SYMLINK_NOFOLLOW));
  if (type !== S_IFDIR) must(unlinkAt(directory, path));
  else if (recursive) await removeTree(path, slice);
  else must(unlinkAt(directory, path, AT_REMOVEDIR));
}

/** How often a directory is emptied again because something was put into it, or in its place. */
const MAX_ROUNDS = 32;
/**
 * How often it is tried under its own name. A program that keeps swapping that name in step with us can win every time.
 */
const ROUNDS_UNDER_ITS_NAME = 4;

/** A directory of the tree being emptied. */
interface Level {
  name: ByteString;
  readonly directories: ByteString[];
  rounds: number;
}

async function removeTree(path: ByteString, slice: Slice): Promise<void> {
  const root = openChildDirectory(AT_FDCWD, path);
  // No longer a directory.
  if (root === -ENOTDIR || root === -ELOOP) return void must(unlinkAt(AT_FDCWD, path));
  const stack = new DirectoryStack(must(root));
  try {
    const levels: Level[] = [{ name: path, directories: await removeFiles(stack, slice), rounds: 1 }];
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (slice.isOver) await slice.rest();
      const name = level.directories.pop();
      if (name !== undefined) {
        if (enter(stack, name)) levels.push({ name, directories: await removeFiles(stack, slice), rounds: 1 });
      } else if (await removeEmptied(stack, level, slice)) levels.pop();
    }
  } finally {
    stack.close();
  }
}

/** Removes everything in the current directory except directories, whose names it returns. */
async function removeFiles(stack: DirectoryStack, slice: Slice): Promise<ByteString[]> {
  const directories: ByteString[] = [];
  for (let records = nextNames(stack.current); records !== null; records = nextNames(stack.current)) {
    for (const { name, type } of records) {
      if (type === "directory" || !removeFile(stack.current, name)) directories.push(name);
      if (slice.isOver) await slice.rest();
    }
  }
  return directories;
}

/** Null at the end, and when the directory has already been removed. */
function nextNames(directory: number): DirectoryRecord[] | null {
  try {
    return nextRecords(directory);
  } catch (error) {
    if (error instanceof OsError && error.errno === ENOENT) return null;
    throw error;
  }
}

/** False when it is a directory. */
function removeFile(directory: number, name: ByteString): boolean {
  const failure = unlinkAt(directory, name);
  if (failure >= 0 || failure === -ENOENT) return true;
  if (failure === -EISDIR) return false;
  if (failure === -EPERM) {
    // Some filesystems report this for a directory. All report it for a file that may not be removed.
    const stat = statAt(directory, name, AT_SYMLINK_NOFOLLOW);
    if (typeof stat !== "number" && stat.type === S_IFDIR) return false;
  }
  throw new OsError(-failure);
}

/** False when the directory no longer exists. Whatever took its name is removed. */
function enter(stack: DirectoryStack, name: ByteString): boolean {
  const fd = openChildDirectory(stack.current, name);
  if (fd >= 0) {
    stack.enter(fd);
    return true;
  }
  if (fd === -ENOENT) return false;
  if (fd !== -ENOTDIR && fd !== -ELOOP) throw new OsError(-fd);
  removeFile(stack.current, name);
  return false;
}

/**
 * Renames an entry to a name that nobody else knows. Its directory is being removed too. Returns the name it has
 * afterwards, which is the old one if it cannot be moved.
 */
function movedAside(directory: number, name: ByteString): ByteString {
  const path = `.exec-server-${crypto.randomUUID()}.removed` as ByteString;
  return renameAt({ directory, path: name }, { directory, path }, RENAME_NOREPLACE) < 0 ? name : path;
}

/** Removes the current directory and goes up. False when it was not empty after all and must be emptied again. */
async function removeEmptied(stack: DirectoryStack, level: Level, slice: Slice): Promise<boolean> {
  const hasParent = stack.leave();
  const parent = hasParent ? stack.current : AT_FDCWD;
  const failure = unlinkAt(parent, level.name, AT_REMOVEDIR);
  if (failure >= 0 || failure === -ENOENT) return true;
  // The directory was moved away, and something else has its name, or had it for a moment.
  if (failure === -ENOTDIR && removeFile(parent, level.name)) return true;
  const isWorthAnother = failure === -ENOTEMPTY || failure === -EEXIST || failure === -ENOTDIR;
  if (!isWorthAnother || level.rounds === MAX_ROUNDS) throw new OsError(-failure);
  level.rounds++;
  if (hasParent && level.rounds > ROUNDS_UNDER_ITS_NAME) level.name = movedAside(parent, level.name);
  // Entered anew: a directory that was read to its end does not show what came later.
  if (hasParent) {
    if (!enter(stack, level.name)) return true;
  } else {
    stack.close();
    stack.enter(must(openChildDirectory(AT_FDCWD, level.name)));
  }
  for (const name of await removeFiles(stack, slice)) level.directories.push(name);
  return false;
}
