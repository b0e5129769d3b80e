/**
 * Checks a sandbox from outside, after the wrapper has made it and before the command runs: is every mount where the
 * plan says, and does it show what was meant?
 *
 * The wrapper follows paths while it mounts, also through directories that other processes may write to, and cannot be
 * trusted to notice swaps. Afterwards swaps have no effect: mounts stay on what they were put on, wherever that is
 * moved, and nobody inside may mount. So what is found here stays true.
 *
 * Everything is compared by identity, which no rename can change: each mount shows what was meant when the plan was
 * made, in the intended directory, and there is no other mount.
 */

import { withoutCapabilities } from "../../os/children/thread_capabilities.ts";
import { closeDescriptor, openDescriptor } from "../../os/descriptor.ts";
import { toByteString } from "../../os/files/byte_string.ts";
import { describeErrno } from "../../os/errno.ts";
import { AT_FDCWD, AT_SYMLINK_NOFOLLOW, O_DIRECTORY, O_PATH, openWithoutLinksAt } from "../../os/files/file_calls.ts";
import { statAt, statFd, statMountedAt } from "../../os/files/file_stat.ts";
import { type MountEntry, OwnMountTable, readMountTable } from "../../os/files/mount_table.ts";
import type { PlannedMount, PlannedView } from "../../launch/launch_plan.ts";
import { findStrayMount, HostMounts } from "../../launch/backends/stray_mounts.ts";
import { PlanOutdatedError } from "./plan_descriptors.ts";
import { lastName, parentPath } from "../../text_path.ts";

const NULL_DEVICE = toByteString("/dev/null");

/** Patterns may deny files in thousands of directories, and descriptors are limited. */
const MAX_OPEN_DIRECTORIES = 32;

/** A planned mount, and which file or directory was meant. Null where any is right. */
interface ExpectedMount {
  readonly mount: PlannedMount;
  readonly parentIdentity: string | null;
  readonly identity: string | null;
}

export class ViewCheck {
  readonly #base: PlannedView["base"];
  readonly #devices: PlannedView["devices"];
  readonly #expected: readonly ExpectedMount[];

  /** Records what the plan means. Throws `PlanOutdatedError` when it is not what the policy meant. */
  constructor({ base, devices, mounts }: PlannedView) {
    this.#base = base;
    this.#devices = devices;
    const host = new Directories(AT_FDCWD, "/");
    try {
      this.#expected = mounts.map((mount) => expected(mount, host));
    } finally {
      host.close();
    }
  }

  /** What is wrong with the mounts that a process sees; null when they are as planned. */
  problem(pid: number): string | null {
    const table = readMountTable(pid);
    const host = hostMounts();
    // From here paths lead where they do inside.
    const root = openDescriptor(`/proc/${pid}/root`, O_PATH | O_DIRECTORY);
    if (root < 0) return "it cannot be inspected from outside";
    const inside = new Directories(root, "");
    const reachable = new Directories(root, "");
    try {
      const planned = new Map<number, PlannedMount>();
      for (const expected of this.#expected) {
        const found = find(expected, inside);
        if (typeof found === "string") return found;
        if (planned.has(found.mountId)) return `${expected.mount.path} is not mounted`;
        planned.set(found.mountId, expected.mount);
      }
      if (table === null || host === null) return "its mounts cannot be listed";
      // With no more rights than a process inside.
      const isReachable = ({ id, point }: MountEntry): boolean =>
        withoutCapabilities(() => reachable.mountAt(point)) === id;
      const stray = findStrayMount(table, {
        host,
        base: this.#base,
        devices: this.#devices,
        planned,
        isReachable,
      });
      return stray === null ? null : `something is mounted on ${stray.point} that should not be`;
    } finally {
      inside.close();
      reachable.close();
      closeDescriptor(root);
    }
  }
}

function expected(mount: PlannedMount, host: Directories): ExpectedMount {
  const { path, shows, id, isInHostDirectory } = mount;
  const directory = host.open(parentPath(path));
  const found = typeof directory === "number"
    ? directory
    : statAt(directory.fd, toByteString(lastName(path)), AT_SYMLINK_NOFOLLOW);
  if (typeof directory === "number" || typeof found === "number") throw new PlanOutdatedError(path);
  if (id !== null && found.identity !== id) throw new PlanOutdatedError(path);
  const parentIdentity = isInHostDirectory ? directory.identity : null;
  if (shows !== "null") return { mount, parentIdentity, identity: shows === "itself" ? found.identity : null };
  const device = statAt(AT_FDCWD, NULL_DEVICE);
  return { mount, parentIdentity, identity: typeof device === "number" ? "" : device.identity };
}

function find({ mount, parentIdentity, identity }: ExpectedMount, inside: Directories): { mountId: number } | string {
  const { path } = mount;
  const directory = inside.open(parentPath(path));
  if (typeof directory === "number") return `${parentPath(path)} is not there (${describeErrno(-directory)})`;
  if (parentIdentity !== null && directory.identity !== parentIdentity) {
    return `${parentPath(path)} is no longer the same directory`;
  }
  const found = statMountedAt(directory.fd, toByteString(lastName(path)));
  if (typeof found === "number") return `${path} cannot be inspected (${describeErrno(-found)})`;
  if (!found.isMountRoot) return `${path} is not mounted`;
  if (identity !== null && found.identity !== identity) return `${path} was replaced`;
  return found;
}

/** Directories by their paths, reached without following any link and opened once each. */
class Directories {
  readonly #root: number;
  readonly #prefix: string;
  readonly #opened = new Map<string, { readonly fd: number; readonly identity: string } | number>();

  constructor(root: number, prefix: string) {
    this.#root = root;
    this.#prefix = prefix;
  }

  /** Minus the error number when there is no such directory. */
  open(path: string): { readonly fd: number; readonly identity: string } | number {
    const known = this.#opened.get(path);
    if (known !== undefined) return known;
    if (this.#opened.size === MAX_OPEN_DIRECTORIES) this.close();
    const opened = this.#open(`${this.#prefix}${path.slice(1)}` || ".");
    this.#opened.set(path, opened);
    return opened;
  }

  /** The number of the mount that a path leads to; null when it leads nowhere. */
  mountAt(path: string): number | null {
    const directory = this.open(parentPath(path));
    const found = typeof directory === "number" ? directory : statMountedAt(directory.fd, toByteString(lastName(path)));
    return typeof found === "number" ? null : found.mountId;
  }

  #open(path: string): { readonly fd: number; readonly identity: string } | number {
    const fd = openWithoutLinksAt(this.#root, toByteString(path), O_PATH | O_DIRECTORY);
    if (fd < 0) return fd;
    const stat = statFd(fd);
    if (typeof stat !== "number") return { fd, identity: stat.identity };
    closeDescriptor(fd);
    return stat;
  }

  close(): void {
    for (const opened of this.#opened.values()) if (typeof opened !== "number") closeDescriptor(opened.fd);
    this.#opened.clear();
  }
}

const ownTable = new OwnMountTable();
let known: { readonly entries: readonly MountEntry[]; readonly mounts: HostMounts } | null = null;

/** Made again only when they have changed. */
function hostMounts(): HostMounts | null {
  const { entries } = ownTable;
  if (entries === null) return null;
  if (known?.entries !== entries) known = { entries, mounts: new HostMounts(entries) };
  return known.mounts;
}
