/**
 * How each rule of a policy becomes a mount of a bubblewrap sandbox, in the order broad to narrow.
 *
 * A readable path is mounted read-only and a writable one writable. A denied path is hidden by what is mounted over it:
 * a denied file by the null device, a denied directory by an empty one that nobody may enter, a missing path by its
 * placeholder. Pure: the arguments are bubblewrap's, and `process/posix/view_check.ts` checks the result.
 */

import type { KernelMounts } from "../kernel_mounts.ts";
import type { PlannedDescriptor, PlannedMount, PlannedView } from "../launch_plan.ts";
import { accessTo, type FilePolicy, type MissingPath, type PathRule } from "../policy/policy.ts";
import { depthOf, isWithin, parentPath } from "../../text_path.ts";

/**
 * Where a sandbox has its own instance. The host's must not be visible: `/proc` leads to the files of every process.
 */
const OWN_MOUNTS: readonly string[] = ["/dev", "/proc"];

/**
 * What the kernel lets user 0 write in any `/proc`, without a capability and in any namespace: its settings (one of
 * them names a program to run at every crash) and those of its drivers. bubblewrap protects its own list only where the
 * directory itself looks writable, which `/proc/sys` does not.
 */
export const SETTINGS_OF_ROOT: readonly string[] = [
  "/proc/sys",
  "/proc/sysrq-trigger",
  "/proc/fs",
  "/proc/acpi",
  "/proc/scsi",
  "/proc/asound",
];

/** One step of building the view: its path, its arguments, and what it mounts there. */
interface Step {
  readonly path: string;
  readonly args: readonly string[];
  readonly mounts: Pick<PlannedMount, "shows" | "isWritable" | "id"> | null;
}

const ITSELF_TO_READ = { shows: "itself", isWritable: false, id: null } as const;
const ITSELF_TO_WRITE = { shows: "itself", isWritable: true, id: null } as const;
const NULL_DEVICE = { shows: "null", isWritable: false, id: null } as const;
const NOTHING = { shows: "empty", isWritable: false, id: null } as const;

interface MountOptions {
  readonly bindsDescriptors: boolean;
  readonly isRoot: boolean;
  readonly kernelMounts: KernelMounts;
  readonly devices: PlannedView["devices"];
  /**
   * Where it matters which process does something, none may change another's memory, which the files of `/proc` would
   * allow to every process of the same user.
   */
  readonly isProcReadOnly: boolean;
  /** The number of the first descriptor that the mounts may use. */
  readonly firstFd: number;
}

/** The arguments for all mounts of a policy, what they must show, and the descriptors they use. */
export class MountArguments {
  readonly args: readonly string[];
  readonly planned: readonly PlannedMount[];
  readonly descriptors: PlannedDescriptor[] = [];
  readonly #files: FilePolicy;
  readonly #bindsDescriptors: boolean;
  readonly #kernelMounts: KernelMounts;
  readonly #firstFd: number;
  /** Our mounts that contain mount points of other mounts, so that they can be made read-only only at the end. */
  readonly #closedLast: string[] = [];

  constructor(files: FilePolicy, options: MountOptions) {
    const { bindsDescriptors, isRoot, kernelMounts, devices, isProcReadOnly, firstFd } = options;
    this.#files = files;
    this.#bindsDescriptors = bindsDescriptors;
    this.#kernelMounts = kernelMounts;
    this.#firstFd = firstFd;
    const rules = files.rules.filter((rule) => !isOwnMount(rule.path, rule.access) && !this.#isForeignProcfs(rule));
    const steps: Step[] = [
      ...rules.map((rule) => this.#rule(rule)),
      ...this.#kernelSteps(rules),
      ...files.pinned.map((path) => ({ path, args: this.#bind(path, "--bind"), mounts: ITSELF_TO_WRITE })),
      ...files.missing.map((missing) => this.#missing(missing)),
      ...files.links.map(({ path, target }) => ({ path, args: ["--symlink", target, path], mounts: null })),
    ];
    steps.sort((a, b) => depthOf(a.path) - depthOf(b.path));
    this.planned = steps.flatMap(({ path, mounts }) =>
      mounts === null ? [] : [{ path, ...mounts, isInHostDirectory: this.#showsHost(parentPath(path)) }]
    );
    this.args = [
      ...(devices === "host" ? ["--dev-bind", "/", "/"] : [...this.#root(), "--dev", "/dev"]),
      "--proc",
      "/proc",
      ...(isProcReadOnly
        ? ["--remount-ro", "/proc"]
        : isRoot
        ? SETTINGS_OF_ROOT.flatMap((path) => ["--ro-bind-try", path, path])
        : []),
      ...steps.flatMap(({ args }) => args),
      ...this.#closedLast.flatMap((path) => ["--remount-ro", path]),
    ];
  }

  /** Nothing of the host's procfs is let in, wherever it is mounted. */
  #isForeignProcfs({ path, access }: PathRule): boolean {
    return access !== "deny" && !isWithin(path, "/dev") && this.#kernelMounts.kindAt(path) === "procfs";
  }

  /**
   * Makes filesystems of the kernel read-only where they lie inside something writable, and hides every procfs except
   * the sandbox's own. A read-only mount covers everything below it.
   */
  #kernelSteps(rules: readonly PathRule[]): Step[] {
    const steps: Step[] = [];
    for (const mount of this.#kernelMounts.list()) {
      const { path } = mount;
      const isProcfs = mount.kind === "procfs";
      if (OWN_MOUNTS.some((own) => isWithin(path, own))) continue;
      const rule = rules.findLast((rule) => isWithin(path, rule.path));
      const access = rule?.access ?? this.#files.base;
      if (access === "deny" || access === "hidden" || (access === "read" && !isProcfs)) continue;
      const above = steps.findLast((step) => isWithin(path, step.path));
      const isDone = above !== undefined && depthOf(above.path) >= depthOf(rule?.path ?? "/");
      if (isDone && (above.mounts?.shows !== "itself" || !isProcfs)) continue;
      const shape = this.#kernelMounts.shapeOf(mount);
      if (shape === null) continue;
      steps.push(this.#rule({ path, access: isProcfs ? "deny" : "read", type: shape, id: null }));
    }
    return steps;
  }

  #root(): string[] {
    switch (this.#files.base) {
      case "hidden":
        this.#closedLast.push("/");
        return ["--tmpfs", "/"];
      case "read":
        return ["--ro-bind", "/", "/"];
      case "write":
        return ["--bind", "/", "/"];
    }
  }

  #rule({ path, access, type, id }: Omit<PathRule, "id"> & Pick<PlannedMount, "id">): Step {
    switch (access) {
      case "read":
        return { path, args: this.#bind(path, "--ro-bind"), mounts: { ...ITSELF_TO_READ, id } };
      case "write": {
        // A granted device must be usable, which a plain bind does not allow.
        const args = isWithin(path, "/dev") ? ["--dev-bind", path, path] : this.#bind(path, "--bind");
        return { path, args, mounts: { ...ITSELF_TO_WRITE, id } };
      }
      case "deny": {
        // A device on a mount that allows no devices: opening it always fails.
        if (type === "file") return { path, args: ["--ro-bind", "/dev/null", path], mounts: { ...NULL_DEVICE, id } };
        this.#closedLast.push(path);
        const args = ["--perms", this.#leadsOn(path) ? "0111" : "0000", "--tmpfs", path];
        return { path, args, mounts: { ...NOTHING, id } };
      }
    }
  }

  /** Covers a placeholder, whether it is still empty or not. */
  #missing({ path, placeholder, isHidden }: MissingPath): Step {
    if (!isHidden) return { path, args: ["--ro-bind", path, path], mounts: ITSELF_TO_READ };
    if (placeholder === "directory") return this.#rule({ path, access: "deny", type: "directory", id: null });
    // An empty file that cannot be read. The null device, as for denied files, would hide it too, but a write would
    // fail with the wrong error: clients expect "read-only", not a missing permission.
    const fd = this.#firstFd + this.descriptors.length;
    this.descriptors.push({ fd, type: "bytes", bytes: new Uint8Array() });
    return { path, args: ["--perms", "0000", "--ro-bind-data", String(fd), path], mounts: NOTHING };
  }

  /** Whether a path shows what the host has there. */
  #showsHost(path: string): boolean {
    const access = accessTo(this.#files, path);
    return (access === "read" || access === "write") && !OWN_MOUNTS.some((own) => isWithin(path, own));
  }

  /**
   * Whether something below a denied directory is granted again. Then processes may pass through it, but not list it.
   */
  #leadsOn(path: string): boolean {
    return this.#files.rules.some((rule) => rule.path !== path && isWithin(rule.path, path));
  }

  #bind(path: string, option: "--bind" | "--ro-bind"): string[] {
    if (!this.#bindsDescriptors) return [option, path, path];
    const fd = this.#firstFd + this.descriptors.length;
    this.descriptors.push({ fd, type: "path", path });
    return [`${option}-fd`, String(fd), path];
  }
}

/** Entries do not apply to a sandbox's own `/dev` and `/proc`, and nothing of the host's `/proc` is ever let in. */
function isOwnMount(path: string, access: PathRule["access"]): boolean {
  return OWN_MOUNTS.includes(path) || (isWithin(path, "/proc") && access !== "deny");
}
