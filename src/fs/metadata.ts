/** `fs/getMetadata` and `fs/canonicalize`. */

import { looksLikePlaceholder } from "../launch/policy/placeholders.ts";
import type { ByteString } from "../os/files/byte_string.ts";
import { ENOENT } from "../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW, closeFd, O_NOFOLLOW, O_PATH, realPath } from "../os/files/file_calls.ts";
import { type FileStat, S_IFDIR, S_IFLNK, S_IFREG, statAt, statFd } from "../os/files/file_stat.ts";
import type { NativePath } from "../path_uri.ts";
import type { ContentDigest, FsGetMetadataResult } from "../protocol/fs.ts";
import { toBytePath, toNativePath } from "./byte_path.ts";
import { openRegular } from "./content.ts";
import { digestOf } from "./content_digest.ts";
import { isPlaceholder } from "./tree/directory_reader.ts";
import type { GetMetadataRequest } from "./file_system.ts";
import type { IoContext, OpenGuard } from "./io_context.ts";
import { MAX_READ_FILE_BYTES } from "./limits.ts";
import { isALink, must, OsError, tooLarge } from "./map_error.ts";
import { mustBeLinkFree, openPath } from "./open_path.ts";

export async function getMetadata(
  io: IoContext,
  request: GetMetadataRequest,
  signal?: AbortSignal,
): Promise<FsGetMetadataResult> {
  const path = toBytePath(request.path);
  const { stat, isSymlink } = request.followSymlinks ? followed(path) : linkFree(path, io.guardOpen);
  if (!request.fields.includes("digest")) return describe(request, stat, isSymlink);
  if (stat.type !== S_IFREG) return describe(request, stat, isSymlink, null);

  // All values are of the file that was digested, in case the name leads to another file meanwhile.
  const opened = openRegular(path, request, io.guardOpen);
  try {
    const { size } = opened.stat;
    if (size > MAX_READ_FILE_BYTES) throw tooLarge();
    const digest = await digestOf(io, { fd: opened.fd, size }, signal);
    return describe(request, must(statFd(opened.fd)), isSymlink, digest);
  } finally {
    closeFd(opened.fd);
  }
}

interface Found {
  readonly stat: FileStat;
  readonly isSymlink: boolean;
}

function followed(path: ByteString): Found {
  const own = must(statAt(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW));
  const isSymlink = own.type === S_IFLNK;
  const stat = isSymlink ? must(statAt(AT_FDCWD, path)) : own;
  if (looksLikePlaceholder({ mode: stat.mode, isSymlink: false })) {
    refusePlaceholder(isSymlink ? must(realPath(path)) : path);
  }
  return { stat, isSymlink };
}

function linkFree(path: ByteString, guardOpen?: OpenGuard): Found {
  const open = (): number => openPath(path, O_PATH | O_NOFOLLOW, { followSymlinks: false });
  const fd = mustBeLinkFree(guardOpen === undefined ? open() : guardOpen(open));
  try {
    const stat = must(statFd(fd));
    if (stat.type === S_IFLNK) throw isALink();
    if (looksLikePlaceholder({ mode: stat.mode, isSymlink: false })) refusePlaceholder(path);
    return { stat, isSymlink: false };
  } finally {
    closeFd(fd);
  }
}

/** A placeholder does not exist for clients: a client that looks for `.git` must not find it. */
function refusePlaceholder(path: ByteString): void {
  if (isPlaceholder(AT_FDCWD, path)) throw new OsError(ENOENT);
}

function describe(
  { fields }: GetMetadataRequest,
  stat: FileStat,
  isSymlink: boolean,
  digest: ContentDigest | null = null,
): FsGetMetadataResult {
  const result: FsGetMetadataResult = {
    isDirectory: stat.type === S_IFDIR,
    isFile: stat.type === S_IFREG,
    isSymlink,
    size: stat.size,
    createdAtMs: stat.createdAtMs,
    modifiedAtMs: stat.modifiedAtMs,
  };
  if (fields.length === 0) return result;
  const { mode, uid, gid, links: nlink, inode } = stat;
  const additions = { mode, uid, gid, nlink, inode, digest };
  return { ...result, ...Object.fromEntries(fields.map((field) => [field, additions[field]])) };
}

export function canonicalize(path: NativePath): NativePath {
  const real = must(realPath(toBytePath(path)));
  refusePlaceholder(real);
  return toNativePath(real);
}
