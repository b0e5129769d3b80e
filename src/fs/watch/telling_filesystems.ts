/** On which filesystems a watch notices every change, some, or none. */

import { DomainError } from "../../errors.ts";
import type { ByteString } from "../../os/files/byte_string.ts";
import { FILESYSTEM } from "../../os/files/filesystem_types.ts";
import { filesystemTypeOf } from "../../os/files/file_stat.ts";

/**
 * On these every change is made by a program of this machine and reported. Others are shared with machines whose
 * changes are not reported (NFS, FUSE, 9p), or are made up by the kernel on each look (/proc, /sys).
 */
const TELLING_FILESYSTEMS: ReadonlySet<number> = new Set([
  FILESYSTEM.ext,
  FILESYSTEM.xfs,
  FILESYSTEM.btrfs,
  FILESYSTEM.f2fs,
  FILESYSTEM.bcachefs,
  FILESYSTEM.zfs,
  FILESYSTEM.overlayfs,
  FILESYSTEM.tmpfs,
  FILESYSTEM.ramfs,
  FILESYSTEM.fat,
  FILESYSTEM.exfat,
  FILESYSTEM.squashfs,
  FILESYSTEM.erofs,
  FILESYSTEM.iso9660,
]);

/** Made up by the kernel on each look: changes are never reported. */
const SILENT_FILESYSTEMS: ReadonlyMap<number, string> = new Map(
  ([
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "selinuxfs",
  ] as const).map((name) => [FILESYSTEM[name], name]),
);

export function tellsOfChanges(directory: ByteString): boolean {
  return TELLING_FILESYSTEMS.has(filesystemTypeOf(directory));
}

/** Refuses a watch that would only look as if it worked. */
export class SilentFilesystemError extends DomainError {
  override readonly name = "SilentFilesystemError";

  constructor(type: string) {
    super("invalidRequest", `Cannot watch: the kernel does not report changes on this filesystem (${type})`);
  }

  /** Null where at least changes by programs of this machine are reported. */
  static at(path: ByteString): SilentFilesystemError | null {
    const type = SILENT_FILESYSTEMS.get(filesystemTypeOf(path));
    return type === undefined ? null : new SilentFilesystemError(type);
  }
}
