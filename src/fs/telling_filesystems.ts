/** Where a watch notices every change, some, or none. */

import { DomainError } from "../errors.ts";
import type { ByteString } from "../os/byte_string.ts";
import { filesystemTypeOf } from "../os/file_stat.ts";

/**
 * Those of which every change is made by a program of this machine and told. Of the others some are shared with machines
 * that do not tell (NFS, FUSE, 9p) and some are made up by the kernel as one looks (/proc, /sys).
 */
const TELLING_FILESYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x2fc12fc1, // ZFS
  0x794c7630, // overlayfs
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0x4d44, // FAT
  0x2011bab0, // exFAT
  0x73717368, // SquashFS
  0xe0f5e1e2, // EROFS
  0x9660, // ISO 9660
]);

/** Made up by the kernel as one looks: whatever changes there, nobody is told. */
const SILENT_FILESYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x9fa0, "proc"],
  [0x62656572, "sysfs"],
  [0x1cd1, "devpts"],
  [0x27e0eb, "cgroup"],
  [0x63677270, "cgroup2"],
  [0x64626720, "debugfs"],
  [0x74726163, "tracefs"],
  [0x73636673, "securityfs"],
  [0x62656570, "configfs"],
  [0xcafe4a11, "bpf"],
  [0xf97cff8c, "selinuxfs"],
]);

export function tellsOfChanges(directory: ByteString): boolean {
  return TELLING_FILESYSTEMS.has(filesystemTypeOf(directory));
}

/** Watching would look as if it worked. */
export class SilentFilesystemError extends DomainError {
  override readonly name = "SilentFilesystemError";

  constructor(type: string) {
    super("invalidRequest", `Cannot watch: the kernel tells nobody of changes on this filesystem (${type})`);
  }

  /** Null where at least what programs of this machine change is told. */
  static at(path: ByteString): SilentFilesystemError | null {
    const type = SILENT_FILESYSTEMS.get(filesystemTypeOf(path));
    return type === undefined ? null : new SilentFilesystemError(type);
  }
}
