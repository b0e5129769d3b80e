/**
 * Reads for a confined client in the server itself, for policies that make everything readable. A helper would find the
 * same and take longer.
 *
 * It must never find more than a helper. So capabilities are dropped for the call that opens a file. No link is
 * followed, since it may lead to a place where a sandbox has its own files. And only filesystems that store what is
 * written to them are read. The opened file tells which filesystem it is on, and no rename can change that. The kernel
 * may show its own filesystems, such as any procfs, differently to a helper, or not at all. If anything is refused
 * here, a helper is asked, and its answer counts.
 */

import { DomainError } from "../../errors.ts";
import { hasCapabilities, withoutCapabilities } from "../../os/children/thread_capabilities.ts";
import { closeFd } from "../../os/files/file_calls.ts";
import { FILESYSTEM } from "../../os/files/filesystem_types.ts";
import { filesystemTypeOfFd } from "../../os/files/file_stat.ts";
import type { FsGetMetadataResult } from "../../protocol/fs.ts";
import type {
  ByteSink,
  GetMetadataRequest,
  LargeContentReceiver,
  OpenFile,
  OpenRequest,
  ReadFileRequest,
} from "../file_system.ts";
import type { IoContext } from "../io_context.ts";
import { getMetadata } from "../metadata.ts";
import { openFile } from "../open_file.ts";
import { readFile } from "../read_file.ts";

/** Not a `FileSystem`, so that nothing that reads with all our rights can be passed by mistake. */
export class ConfinedReader {
  readonly #io: IoContext;

  constructor(io: IoContext) {
    this.#io = { ...io, guardOpen: openAsConfined };
  }

  readFile(
    request: ReadFileRequest,
    sink: ByteSink,
    signal?: AbortSignal,
    large?: LargeContentReceiver,
  ): Promise<void> {
    return readFile(this.#io, { ...request, followSymlinks: false }, { sink, signal, large });
  }

  getMetadata(request: GetMetadataRequest, signal?: AbortSignal): Promise<FsGetMetadataResult> {
    return getMetadata(this.#io, { ...request, followSymlinks: false }, signal);
  }

  openToRead(request: OpenRequest): Promise<OpenFile> {
    return openFile(this.#io, { ...request, mode: "read", followSymlinks: false });
  }
}

/** Whether a watch by the server itself would see no more than a helper's. */
export function watchesLikeConfined(): boolean {
  return !hasCapabilities();
}

/** Clients never see this: a helper is asked instead. */
class NotForReaderError extends DomainError {
  override readonly name = "NotForReaderError";

  constructor() {
    super("invalidRequest", "this filesystem is read by a confined helper only");
  }
}

function openAsConfined(open: () => number): number {
  const fd = withoutCapabilities(open);
  if (fd < 0 || KEEPING_FILESYSTEMS.has(filesystemTypeOfFd(fd))) return fd;
  closeFd(fd);
  throw new NotForReaderError();
}

/** The types of filesystems that store what is written to them. One that is missing here only costs time. */
const KEEPING_FILESYSTEMS: ReadonlySet<number> = new Set([
  FILESYSTEM.ext,
  FILESYSTEM.xfs,
  FILESYSTEM.btrfs,
  FILESYSTEM.f2fs,
  FILESYSTEM.bcachefs,
  FILESYSTEM.zfs,
  FILESYSTEM.jfs,
  FILESYSTEM.nilfs,
  FILESYSTEM.overlayfs,
  FILESYSTEM.aufs,
  FILESYSTEM.ecryptfs,
  FILESYSTEM.tmpfs,
  FILESYSTEM.ramfs,
  FILESYSTEM.fat,
  FILESYSTEM.exfat,
  FILESYSTEM.ntfs,
  FILESYSTEM.ntfs3,
  FILESYSTEM.hfsPlus,
  FILESYSTEM.squashfs,
  FILESYSTEM.erofs,
  FILESYSTEM.iso9660,
  FILESYSTEM.udf,
  FILESYSTEM.fuse,
  FILESYSTEM.nfs,
  FILESYSTEM.cifs,
  FILESYSTEM.smb2,
  FILESYSTEM.p9,
  FILESYSTEM.ceph,
  FILESYSTEM.virtualBox,
]);
