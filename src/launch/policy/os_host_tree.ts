/**
 * The disk of a Linux host as a `HostTree`: like `DenoHostTree`, but with system calls that take a microsecond each. A
 * policy is made for every confined file operation, and most of that time goes into looking at the disk.
 */

import { toByteString } from "../../os/files/byte_string.ts";
import { EACCES, ELOOP, ENOENT, ENOTDIR } from "../../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW } from "../../os/files/file_calls.ts";
import { S_IFDIR, S_IFLNK, statAt } from "../../os/files/file_stat.ts";
import { DenoHostTree } from "./deno_host_tree.ts";
import { type HostEntry } from "./host_tree.ts";
import { HostKernelMounts, type KernelMounts } from "../kernel_mounts.ts";
import { looksLikePlaceholder } from "./placeholders.ts";
import { isWithin } from "../../text_path.ts";

/** Single devices are granted by a rule of their own. */
const DEVICES = "/dev";

export class OsHostTree extends DenoHostTree {
  readonly #kernelMounts: KernelMounts;

  constructor(kernelMounts: KernelMounts = new HostKernelMounts()) {
    super();
    this.#kernelMounts = kernelMounts;
  }

  override isMadeUp(path: string): boolean {
    return !isWithin(path, DEVICES) && this.#kernelMounts.kindAt(path) !== null;
  }

  override look(path: string): HostEntry | "missing" | "blocked" {
    const stat = statAt(AT_FDCWD, toByteString(path), AT_SYMLINK_NOFOLLOW);
    if (typeof stat === "number") {
      if (stat === -ENOENT) return "missing";
      if (stat === -EACCES || stat === -ENOTDIR || stat === -ELOOP) return "blocked";
      return super.look(path);
    }
    const isSymlink = stat.type === S_IFLNK;
    // Rare, and needs more checks: who owns it, and whether it is empty.
    if (looksLikePlaceholder({ mode: stat.mode, isSymlink })) {
      const entry = super.look(path);
      return typeof entry === "string" ? entry : { ...entry, id: stat.identity };
    }
    if (isSymlink) return { type: "symlink", id: stat.identity };
    if (stat.type === S_IFDIR) return { type: "directory", id: stat.identity };
    return { type: "file", id: stat.identity, version: stat.version };
  }
}
