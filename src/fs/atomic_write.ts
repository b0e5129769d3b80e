/**
 * `fs/writeFile` with `atomic`: the content is written to a file beside, brought to the device and then given the name.
 *
 * Whoever opens the path sees the old content or the new one, also after a crash. Mode, owner, access control list and
 * users' attributes are kept. Because the name gets a new inode, other hard links would keep the old content: that is
 * refused unless the caller wants it. A link is followed to the name it stands for.
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
} from "../os/file_calls.ts";
import { type FileStat, S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../os/file_stat.ts";
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

/** Nobody else may look into the new file before it has the mode that the content is meant for. */
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
    await syncDirectory(io, target.directory);
  } finally {
    if (expectation !== undefined) closeFd(expectation.fd);
    closeFd(target.directory);
  }
}

/** What is there now, if it may be replaced; null when nothing is. */
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
  // Forbidden; or put there after the path was followed, and then the caller may find out by trying again.
  if (existing.type === S_IFLNK) throw crossesALink();
  if (existing.type !== S_IFREG) throw notAFile(toBytePath(request.path));
  if (existing.links > 1 && !breakHardLinks) {
    throw invalidRequest(
      `Cannot write atomically: the file has ${existing.links} hard links, which only breakHardLinks may separate`,
    );
  }
  // A file that may not be written is not to be replaced either, though its directory would allow it.
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

/** Gives it the content, on the device, and the right mode and owner. */
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
  // After the owner, because changing that one takes set-id bits away.
  const finalMode = request.mode ?? existing?.mode;
  if (finalMode !== undefined) must(chmodFd(fd, finalMode));
  await syncToDevice(io, fd);
}

function keepOwner(fd: number, { uid, gid }: FileStat): void {
  const own = must(statFd(fd));
  if (own.uid !== uid || own.gid !== gid) must(chownFd(fd, uid, gid));
}

function keepAttributesOf({ directory, name }: Location, fd: number): void {
  const flags = O_NOFOLLOW | O_NONBLOCK;
  const readable = openAt(directory, name, O_RDONLY | flags);
  const old = readable === -EACCES ? openAt(directory, name, O_WRONLY | flags) : readable;
  if (old === -ENOENT) return; // Gone meanwhile: there is nothing to be kept.
  must(old);
  try {
    keepAttributes(old, fd);
  } finally {
    closeFd(old);
  }
}

/** Gives the new file the name, if everything still is as it was found. Nothing of ours comes between look and rename. */
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

/** So that the new name survives a crash, too. */
async function syncDirectory(io: IoContext, directory: number): Promise<void> {
  try {
    await syncToDevice(io, directory);
  } catch {
    // A directory that may not be read cannot be synced. The file is complete either way: at worst its old content is
    // back after a crash, which an error now would not change.
  }
}
