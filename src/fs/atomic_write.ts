/**
 * `fs/writeFile` with `atomic`: the content is written to a second file, flushed to the device (unless the caller turns
 * that off), and then renamed.
 *
 * A reader of the path sees either the old content or the new one. If the new content was flushed, this holds even
 * after a crash. Mode, owner, access control list and users' attributes are kept. The name gets a new inode, so other
 * hard links would keep the old content: that is refused unless the caller allows it. A link is followed to the name it
 * stands for.
 */

import { invalidRequest } from "../errors.ts";
import { EACCES, EEXIST, EISDIR, ENOENT } from "../os/errno.ts";
import {
  AT_SYMLINK_NOFOLLOW,
  chmodFd,
  chownFd,
  closeFd,
  mayWriteAt,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_WRONLY,
  openAt,
  renameAt,
  setModifiedFd,
} from "../os/files/file_calls.ts";
import { type FileStat, S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../os/files/file_stat.ts";
import type { ContentDigest } from "../protocol/fs.ts";
import { toBytePath } from "./byte_path.ts";
import { syncToDevice, writeAll } from "./content.ts";
import type { WriteFileRequest } from "./file_system.ts";
import { Expectation } from "./if_match.ts";
import type { IoContext } from "./io_context.ts";
import { keepAttributes } from "./keep_attributes.ts";
import { ContentMismatchError, crossesALink, must, notAFile, OsError } from "./map_error.ts";
import { renameToFree } from "./names.ts";
import { FileBeside } from "./file_beside.ts";
import { locate, type Location } from "./open_path.ts";

/** The content may be secret: nobody else may open the new file before it has its final mode. */
const PRIVATE_MODE = 0o600;

export async function writeAtomically(io: IoContext, request: WriteFileRequest): Promise<void> {
  const target = locate(toBytePath(request.path), request);
  let expectation: Expectation | undefined;
  try {
    const existing = inspect(target, request);
    if (request.ifMatch !== null && request.ifMatch !== "absent") {
      expectation = await expect(io, target, request.ifMatch);
    }
    const beside = new FileBeside(target.directory, existing === null && request.mode === null ? 0o666 : PRIVATE_MODE);
    try {
      await fill(io, beside.fd, target, request, existing);
      await commit(target, beside, request, expectation);
    } finally {
      beside.close();
    }
    if (request.flush !== false) await syncDirectory(io, target.directory);
  } finally {
    if (expectation !== undefined) closeFd(expectation.fd);
    closeFd(target.directory);
  }
}

/** The existing file, if it may be replaced; null when there is none. */
function inspect({ directory, name }: Location, request: WriteFileRequest): FileStat | null {
  const { ifMatch, breakHardLinks } = request;
  const stat = statAt(directory, name, AT_SYMLINK_NOFOLLOW);
  if (stat === -ENOENT) {
    if (ifMatch !== null && ifMatch !== "absent") throw new ContentMismatchError(ifMatch, "does not exist");
    return null;
  }
  const existing = must(stat);
  if (ifMatch === "absent") throw new ContentMismatchError(ifMatch, "exists");
  if (existing.type === S_IFDIR) throw new OsError(EISDIR);
  // Either links are forbidden, or the link was put there after the path was followed. Then the caller may try again.
  if (existing.type === S_IFLNK) throw crossesALink();
  if (existing.type !== S_IFREG) throw notAFile(toBytePath(request.path));
  if (existing.links > 1 && !breakHardLinks) {
    throw invalidRequest(
      `Cannot write atomically: the file has ${existing.links} hard links: set breakHardLinks to separate them`,
    );
  }
  // A file that may not be written may not be replaced either, even if its directory would allow it.
  must(mayWriteAt(directory, name));
  return existing;
}

async function expect(io: IoContext, { directory, name }: Location, digest: ContentDigest): Promise<Expectation> {
  const fd = openAt(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd === -ENOENT) throw new ContentMismatchError(digest, "does not exist");
  must(fd);
  try {
    return await Expectation.match(io, fd, digest);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

/**
 * Writes the content, sets mode, owner and time, and flushes all of it to the device unless the request turns that off.
 */
async function fill(
  io: IoContext,
  fd: number,
  target: Location,
  request: WriteFileRequest,
  existing: FileStat | null,
): Promise<void> {
  await writeAll(io, fd, request.data, 0);
  if (existing !== null) {
    keepOwner(fd, existing);
    keepAttributesOf(target, fd);
  }
  // After the owner, because a change of owner clears set-id bits.
  const finalMode = request.mode ?? existing?.mode;
  if (finalMode !== undefined) must(chmodFd(fd, finalMode));
  if (request.modifiedAtMs !== undefined && request.modifiedAtMs !== null) {
    must(setModifiedFd(fd, request.modifiedAtMs));
  }
  if (request.flush !== false) await syncToDevice(io, fd);
}

function keepOwner(fd: number, { uid, gid }: FileStat): void {
  const own = must(statFd(fd));
  if (own.uid !== uid || own.gid !== gid) must(chownFd(fd, uid, gid));
}

function keepAttributesOf({ directory, name }: Location, fd: number): void {
  const flags = O_NOFOLLOW | O_NONBLOCK;
  const readable = openAt(directory, name, O_RDONLY | flags);
  const old = readable === -EACCES ? openAt(directory, name, O_WRONLY | flags) : readable;
  if (old === -ENOENT) return; // It is gone by now: there is nothing to keep.
  must(old);
  try {
    keepAttributes(old, fd);
  } finally {
    closeFd(old);
  }
}

/**
 * Renames the new file, if everything is still as it was found. No other code of ours runs between the look and the
 * rename.
 */
async function commit(
  { directory, name }: Location,
  beside: FileBeside,
  request: WriteFileRequest,
  expectation: Expectation | undefined,
): Promise<void> {
  await expectation?.lock();
  const from = beside.takeName();
  const to = { directory, path: name };
  if (request.ifMatch === "absent") {
    const failure = renameToFree(from, to);
    if (failure === -EEXIST) throw new ContentMismatchError("absent", "exists");
    must(failure);
    return beside.nameIsGone();
  }
  if (expectation !== undefined) {
    const look = () => statAt(directory, name, AT_SYMLINK_NOFOLLOW);
    for (let now = look(); !expectation.isMet(now); now = look()) await expectation.matchAgain(now);
  }
  inspect({ directory, name }, request);
  must(renameAt(from, to));
  beside.nameIsGone();
}

/** So that the new name survives a crash too. */
async function syncDirectory(io: IoContext, directory: number): Promise<void> {
  try {
    await syncToDevice(io, directory);
  } catch {
    // A directory that cannot be read cannot be synced. The file is complete either way. At worst a crash brings the
    // old content back, which an error now would not change.
  }
}
