/**
 * Where the kernel's own filesystems are mounted: procfs, sysfs and the like.
 *
 * A write there changes the kernel or another process, not a file, and a client that grants a directory does not mean
 * that. A root directory for another system in a workspace (a chroot) contains all of them. So no such filesystem is
 * writable in a sandbox, and no procfs except the sandbox's own is visible, because a procfs shows other processes.
 */

import { withoutCapabilities } from "../os/children/thread_capabilities.ts";
import { toByteString } from "../os/files/byte_string.ts";
import { closeFd, O_PATH, openWithoutLinks } from "../os/files/file_calls.ts";
import { type MountedStat, S_IFDIR, statMountedFd } from "../os/files/file_stat.ts";
import { type MountEntry, OwnMountTable } from "../os/files/mount_table.ts";
import { depthOf } from "../text_path.ts";

/** As the mount table calls them. */
const KERNEL_FILESYSTEMS: ReadonlySet<string> = new Set([
  "proc",
  "sysfs",
  "cgroup",
  "cgroup2",
  "debugfs",
  "tracefs",
  "securityfs",
  "configfs",
  "bpf",
  "pstore",
  "efivarfs",
  "selinuxfs",
  "smackfs",
  "fusectl",
  "binfmt_misc",
  "resctrl",
  "nfsd",
  "rpc_pipefs",
  "xenfs",
  "functionfs",
  // Devices and terminals of the host: their nodes cannot be opened, and must not be removed or created either.
  "devtmpfs",
  "devpts",
  "mqueue",
]);

export function isKernelMount({ type }: MountEntry): boolean {
  return KERNEL_FILESYSTEMS.has(type);
}

/** A `procfs` shows processes, the others do not. */
export type KernelKind = "procfs" | "other";

/** One such mount, as far as translating a policy needs it. */
export interface KernelMount {
  readonly path: string;
  readonly kind: KernelKind;
}

/** The host's mounts of such filesystems. */
export interface KernelMounts {
  /** Broad before narrow. */
  list(): readonly KernelMount[];
  /** What the root of such a mount is. Null: a confined process could not get there, or something else covers it. */
  shapeOf(mount: KernelMount): "file" | "directory" | null;
  /** The kind of kernel filesystem that a path without links lies on. Null: it lies on none. */
  kindAt(path: string): KernelKind | null;
}

/** For a system without any, and for tests. */
export const NO_KERNEL_MOUNTS: KernelMounts = { list: () => [], shapeOf: () => null, kindAt: () => null };

interface ListedMount extends KernelMount {
  readonly id: number;
}

/** The real ones, listed again only when mounts have changed. */
export class HostKernelMounts implements KernelMounts {
  readonly #table = new OwnMountTable();
  #known: { readonly entries: readonly MountEntry[]; readonly mounts: readonly ListedMount[] } | null = null;

  list(): readonly KernelMount[] {
    const { entries } = this.#table;
    // Every sandbox is checked before its command runs, so the start fails if a mount is missed here.
    if (entries === null) return [];
    if (this.#known?.entries !== entries) {
      const mounts = entries.filter(isKernelMount)
        .map(({ point, type, id }): ListedMount => ({ path: point, kind: kindOf(type), id }));
      this.#known = { entries, mounts: mounts.sort((a, b) => depthOf(a.path) - depthOf(b.path)) };
    }
    return this.#known.mounts;
  }

  shapeOf(mount: KernelMount): "file" | "directory" | null {
    // With the rights of the confined process: bubblewrap has no others, and fails where it cannot go.
    const found = withoutCapabilities(() => statMounted(mount.path));
    if (typeof found === "number" || found.mountId !== (mount as ListedMount).id) return null;
    return found.type === S_IFDIR ? "directory" : "file";
  }

  kindAt(path: string): KernelKind | null {
    const found = statMounted(path);
    // What cannot be inspected cannot be granted either. The plan is then outdated, which shows before it is carried
    // out.
    if (typeof found === "number") return null;
    const entry = this.#table.entries?.find(({ id }) => id === found.mountId);
    return entry !== undefined && isKernelMount(entry) ? kindOf(entry.type) : null;
  }
}

function kindOf(type: string): KernelKind {
  return type === "proc" ? "procfs" : "other";
}

function statMounted(path: string): MountedStat | number {
  const fd = openWithoutLinks(toByteString(path), O_PATH);
  if (fd < 0) return fd;
  try {
    return statMountedFd(fd);
  } finally {
    closeFd(fd);
  }
}
