/**
 * `fs/writeFile` in place: the file stays the same inode, with its mode, its owner and all its names.
 *
 * A reader may see a part of it meanwhile; `atomic_write.ts` is for when that matters. What has begun is finished, even
 * when the client has gone: half a file helps nobody.
 */

import type { ByteString } from "../os/byte_string.ts";
import { EEXIST, ENOENT } from "../os/errno.ts";
import {
  chmodFd,
  closeFd,
  O_CREAT,
  O_EXCL,
  O_NOCTTY,
  O_NONBLOCK,
  O_RDWR,
  O_TRUNC,
  O_WRONLY,
} from "../os/file_calls.ts";
import { truncate } from "../os/file_content.ts";
import { S_IFCHR, S_IFREG, statFd } from "../os/file_stat.ts";
import type { ContentDigest } from "../protocol/fs.ts";
import { writeAtomically } from "./atomic_write.ts";
import { toBytePath } from "./byte_path.ts";
import { openRegular, writeAll } from "./content.ts";
import type { WriteFileRequest } from "./file_system.ts";
import { Expectation } from "./if_match.ts";
import type { IoContext } from "./io_context.ts";
import { ContentMismatchError, ENXIO, must, notAFile, OsError } from "./map_error.ts";
import { mustBeLinkFree, openPath } from "./open_path.ts";

/** Of a file that is made, before the umask. */
const NEW_FILE_MODE = 0o666;

export async function writeFile(io: IoContext, request: WriteFileRequest): Promise<void> {
  if (request.atomic) return await writeAtomically(io, request);
  const fd = await openForWriting(io, request);
  try {
    if (request.mode !== null) must(chmodFd(fd, request.mode));
    await writeAll(io, fd, request.data, 0);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  must(closeFd(fd));
}

/** An empty file, or one whose old content matched and is being given up. */
async function openForWriting(io: IoContext, request: WriteFileRequest): Promise<number> {
  const path = toBytePath(request.path);
  if (request.ifMatch === null) return openEmptied(path, request);
  if (request.ifMatch === "absent") return createAbsent(path, request);
  return await openMatching(io, path, request, request.ifMatch);
}

function openEmptied(path: ByteString, { followSymlinks, mode }: WriteFileRequest): number {
  const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY;
  const fd = openPath(path, flags, { followSymlinks, mode: mode ?? NEW_FILE_MODE });
  if (fd === -ENXIO) throw notAFile(path);
  if (followSymlinks) must(fd);
  else mustBeLinkFree(fd);
  const stat = statFd(fd);
  const type = typeof stat === "number" ? stat : stat.type;
  // Devices like /dev/null take what they are given, as in the reference; opened like this none makes us wait.
  if (type === S_IFREG || (type === S_IFCHR && followSymlinks)) return fd;
  closeFd(fd);
  throw typeof stat === "number" ? new OsError(-stat) : notAFile(path);
}

function createAbsent(path: ByteString, { followSymlinks, mode }: WriteFileRequest): number {
  const fd = openPath(path, O_WRONLY | O_CREAT | O_EXCL, { followSymlinks, mode: mode ?? NEW_FILE_MODE });
  if (fd === -EEXIST) throw new ContentMismatchError("absent", "exists");
  return followSymlinks ? must(fd) : mustBeLinkFree(fd);
}

async function openMatching(
  io: IoContext,
  path: ByteString,
  { followSymlinks }: WriteFileRequest,
  expected: ContentDigest,
): Promise<number> {
  const { fd } = openExisting(path, { followSymlinks }, expected);
  try {
    const expectation = await Expectation.match(io, fd, expected);
    await expectation.lock();
    for (let look = statFd(fd); !expectation.isMet(look); look = statFd(fd)) await expectation.matchAgain(look);
    must(truncate(fd, 0));
    return fd;
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

function openExisting(path: ByteString, options: { followSymlinks: boolean }, expected: ContentDigest) {
  try {
    return openRegular(path, { ...options, flags: O_RDWR });
  } catch (error) {
    if (!(error instanceof OsError) || error.errno !== ENOENT) throw error;
    throw new ContentMismatchError(expected, "does not exist");
  }
}
