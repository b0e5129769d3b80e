/**
 * Checks that a sandbox has only the mounts that were planned for it.
 *
 * bubblewrap follows paths while it mounts, also through directories that other programs may write to. A program that
 * swaps in a link at the right moments can have something mounted that was never granted, or in a place where nothing
 * was planned. So every mount of a finished sandbox must be explained: by the plan, as a copy of one of the host's
 * mounts in its own place, or as one of the few that bubblewrap makes for itself. What a planned mount shows is checked
 * elsewhere.
 *
 * Pure: tables in, the first stray mount out.
 */

import type { MountEntry } from "../../os/files/mount_table.ts";
import { SETTINGS_OF_ROOT } from "./bubblewrap_mounts.ts";
import { DEVICES } from "../devices.ts";
import { isKernelMount } from "../kernel_mounts.ts";
import type { PlannedMount, PlannedView } from "../launch_plan.ts";
import { isWithin } from "../../text_path.ts";

/** Types of filesystems that bubblewrap creates itself, so that they contain nothing of the host's. */
const OWN_TYPES = ["tmpfs", "proc", "devpts", "mqueue"];

/** The command's own terminal. */
const CONSOLE = "/dev/console";

/** The mounts that the server itself sees; a sandbox has copies of them. */
export class HostMounts {
  readonly devices: ReadonlySet<string>;
  /** The mount that each one lies on. */
  readonly #parents = new Map<string, string[]>();

  constructor(table: readonly MountEntry[]) {
    this.devices = new Set(table.map(({ device }) => device));
    const byId = new Map(table.map((mount) => [mount.id, mount]));
    for (const { key, parentId } of table) {
      const parents = this.#parents.get(key) ?? [];
      parents.push(byId.get(parentId)?.key ?? "");
      this.#parents.set(key, parents);
    }
  }

  has({ key }: MountEntry): boolean {
    return this.#parents.has(key);
  }

  /** Whether the host also has this mount on this parent. */
  hasPair(mount: MountEntry, parent: MountEntry): boolean {
    return this.#parents.get(mount.key)?.includes(parent.key) === true;
  }
}

export interface StrayMountContext {
  readonly host: HostMounts;
  readonly base: PlannedView["base"];
  readonly devices: PlannedView["devices"];
  /** By their ids in the mount table. */
  readonly planned: ReadonlyMap<number, PlannedMount>;
  /** Whether the path of a mount leads to it. It may be covered, or this user may not be able to reach it. */
  isReachable(mount: MountEntry): boolean;
}

/** The first mount of a sandbox that nothing explains; null when there is none. */
export function findStrayMount(table: readonly MountEntry[], context: StrayMountContext): MountEntry | null {
  return new Sandbox(table, context).stray;
}

class Sandbox {
  readonly #table: readonly MountEntry[];
  readonly #byId: ReadonlyMap<number, MountEntry>;
  readonly #context: StrayMountContext;

  constructor(table: readonly MountEntry[], context: StrayMountContext) {
    this.#table = table;
    this.#byId = new Map(table.map((mount) => [mount.id, mount]));
    this.#context = context;
  }

  get stray(): MountEntry | null {
    return this.#table.find((mount) => !this.#isExplained(mount)) ?? null;
  }

  #isExplained(mount: MountEntry): boolean {
    const { host, base, planned } = this.#context;
    const plan = planned.get(mount.id);
    if (plan !== undefined) return plan.isWritable || mount.isReadOnly;
    const parent = this.#byId.get(mount.parentId);
    if (parent === undefined) {
      if (mount.point !== "/") return false;
      const isRight = base === "hidden" ? isOwnOf(mount, host) : host.has(mount);
      return isRight && (base !== "read" || mount.isReadOnly);
    }
    // If the original lies on a mount, its copy lies on the copy of that mount. A second mount on top is not a copy.
    if (host.hasPair(mount, parent)) return this.#isClosed(mount, parent);
    const under = planned.get(parent.id);
    if (under !== undefined && under.shows === "itself" && host.has(mount) && isWithin(mount.point, under.path)) {
      return this.#isClosed(mount, parent);
    }
    if (isOwnOf(mount, host)) return true;
    if (under === undefined && parent.point === "/dev" && isOwnOf(parent, host)) {
      return DEVICES.includes(mount.point) || (mount.point === CONSOLE && mount.type === "devpts");
    }
    return under === undefined && isSetting(mount);
  }

  /**
   * Whether a copy is read-only where it must be, and is no copy of a procfs. bubblewrap does not change mounts that it
   * cannot reach itself.
   */
  #isClosed(copy: MountEntry, parent: MountEntry): boolean {
    if (copy.isReadOnly && copy.type !== "proc") return true;
    const isGrantable = !isKernelMount(copy) || (this.#context.devices === "host" && isWithin(copy.point, "/dev"));
    return (isGrantable && this.#isGranted(parent)) || !this.#context.isReachable(copy);
  }

  /** Whether the host's mounts on this mount may be writable. */
  #isGranted(mount: MountEntry): boolean {
    const plan = this.#context.planned.get(mount.id);
    if (plan !== undefined) return plan.isWritable;
    const parent = this.#byId.get(mount.parentId);
    return parent === undefined ? this.#context.base === "write" : this.#isGranted(parent);
  }
}

function isOwnOf({ device, type }: MountEntry, host: HostMounts): boolean {
  return OWN_TYPES.includes(type) && !host.devices.has(device);
}

function isSetting({ point, root, type, isReadOnly }: MountEntry): boolean {
  return isReadOnly && type === "proc" && SETTINGS_OF_ROOT.includes(point) && point === `/proc${root}`;
}
