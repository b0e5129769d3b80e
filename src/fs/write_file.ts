/**
 * `fs/writeFile` in place: the file keeps its inode, mode, owner and all its names.
 *
 * A reader may see a part of the new content meanwhile; `atomic_write.ts` is for when that matters. A write that has
 * begun is finished even if the client has gone, because half a file helps nobody.
 */

import type { ByteString } from "../os/files/byte_string.ts";
import { EEXIST, ENOENT, ENXIO } from "../os/errno.ts";
import {
  chmodFd,
  closeFd,
  O_CREAT,
  O_EXCL,
  O_NOCTTY,
  O_NONBLOCK,
  O_RDWR,
  O_WRONLY,
  openAt,
  setModifiedFd,
} from "../os/files/file_calls.ts";
import { truncate } from "../os/files/file_content.ts";
import { S_IFCHR, S_IFREG, statFd } from "../os/files/file_stat.ts";
import type { ContentDigest } from "../protocol/fs.ts";
import { writeAtomically } from "./atomic_write.ts";
import { toBytePath } from "./byte_path.ts";
import { type OpenedFile, openRegular, SET_ID_BITS, writeInOrder } from "./content.ts";
import type { WriteFileRequest } from "./file_system.ts";
import { Expectation } from "./if_match.ts";
import type { IoContext } from "./io_context.ts";
import { ContentMismatchError, must, notAFile, OsError } from "./map_error.ts";
import { locate, mustBeLinkFree, openPath } from "./open_path.ts";

/** Mode of a new file, before the umask. */
const NEW_FILE_MODE = 0o666;

/** A file ready to be overwritten. */
interface Opened {
  readonly fd: number;
  /** Null for a device, which has none. */
  readonly oldSize: number | null;
}

export async function writeFile(io: IoContext, request: WriteFileRequest): Promise<void> {
  if (request.atomic) return await writeAtomically(io, request);
  const { fd, oldSize } = await openForWriting(io, request);
  try {
    if (request.mode !== null && oldSize !== null) must(chmodFd(fd, request.mode));
    await writeInOrder(io, fd, request.data, 0);
    // The file is cut at the end of the write, not emptied at the beginning. Emptying waits until the old content is on
    // the device, and makes the kernel flush the new content at once. That took a hundred times as long.
    const size = request.data.length;
    if (oldSize !== null && (oldSize > size || size === 0)) must(truncate(fd, size));
    // Writing clears these bits again, unless we are root with all of root's capabilities.
    if (request.mode !== null && oldSize !== null && (request.mode & SET_ID_BITS) !== 0) {
      must(chmodFd(fd, request.mode));
    }
    const { modifiedAtMs } = request;
    if (modifiedAtMs !== undefined && modifiedAtMs !== null && oldSize !== null) must(setModifiedFd(fd, modifiedAtMs));
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  must(closeFd(fd));
}

async function openForWriting(io: IoContext, request: WriteFileRequest): Promise<Opened> {
  const path = toBytePath(request.path);
  if (request.ifMatch === null) return openAny(path, request);
  if (request.ifMatch === "absent") return createAbsent(path, request);
  return await openMatching(io, path, request, request.ifMatch);
}

function openAny(path: ByteString, { followSymlinks, mode }: WriteFileRequest): Opened {
  const flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY;
  const fd = openPath(path, flags, { followSymlinks, mode: mode ?? NEW_FILE_MODE });
  if (fd === -ENXIO) throw notAFile(path);
  if (followSymlinks) must(fd);
  else mustBeLinkFree(fd);
  const stat = statFd(fd);
  if (typeof stat !== "number") {
    if (stat.type === S_IFREG) return { fd, oldSize: stat.size };
    // Devices like /dev/null take what they are given, as in the reference. Opened like this, none makes us wait.
    if (stat.type === S_IFCHR && followSymlinks) return { fd, oldSize: null };
  }
  closeFd(fd);
  throw typeof stat === "number" ? new OsError(-stat) : notAFile(path);
}

function createAbsent(path: ByteString, { followSymlinks, mode }: WriteFileRequest): Opened {
  const flags = O_WRONLY | O_CREAT | O_EXCL;
  const newMode = mode ?? NEW_FILE_MODE;
  let fd = openPath(path, flags, { followSymlinks, mode: newMode });
  // There may be a link whose target is the file that must not exist.
  if (fd === -EEXIST && followSymlinks) fd = createBehindLinks(path, flags, newMode);
  if (fd === -EEXIST) throw new ContentMismatchError("absent", "exists");
  return { fd: followSymlinks ? must(fd) : mustBeLinkFree(fd), oldSize: 0 };
}

/** The kernel follows no link when a file must be new. */
function createBehindLinks(path: ByteString, flags: number, mode: number): number {
  const { directory, name } = locate(path, { followSymlinks: true });
  const fd = openAt(directory, name, flags, mode);
  closeFd(directory);
  return fd;
}

/** Locked, and with the expected content. */
async function openMatching(
  io: IoContext,
  path: ByteString,
  { followSymlinks }: WriteFileRequest,
  expected: ContentDigest,
): Promise<Opened> {
  const { fd, stat } = openExisting(path, { followSymlinks }, expected);
  try {
    const expectation = await Expectation.match(io, fd, expected);
    await expectation.lock();
    for (let look = statFd(fd); !expectation.isMet(look); look = statFd(fd)) await expectation.matchAgain(look);
    return { fd, oldSize: stat.size };
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

function openExisting(path: ByteString, options: { followSymlinks: boolean }, expected: ContentDigest): OpenedFile {
  try {
    return openRegular(path, { ...options, flags: O_RDWR });
  } catch (error) {
    if (!(error instanceof OsError) || error.errno !== ENOENT) throw error;
    throw new ContentMismatchError(expected, "does not exist");
  }
}
