/**
 * A policy as bubblewrap's arguments: mounts in the order broad to narrow, own namespaces, no capabilities, the system
 * call filter, and the launch stub as the program it runs.
 *
 * Pure. All arguments travel through a descriptor and not through the command line, which every user of the host can
 * read: they hold the command's environment and the client's paths. For the same reason bubblewrap itself gets an empty
 * environment: a variable such as LD_PRELOAD would otherwise run code of the command's choice outside the sandbox.
 *
 * What is not used, and why: `--new-session`, because every child of ours already leads a session without any other
 * terminal, and a second one would take job control away; `--as-pid-1`, because a first process ignores signals it does
 * not handle and nobody would reap orphans; `--json-status-fd`, because the stub's report says more.
 */

import { internalError, invalidRequest } from "../errors.ts";
import { depthOf, isWithin, parentOf } from "./host_tree.ts";
import {
  type ConfinedCommand,
  type LaunchPlan,
  type PlannedDescriptor,
  type PlannedMount,
  WRAPPER_BLOCKED_SIGNALS,
} from "./launch_plan.ts";
import { CLOSING_CAPABILITIES, launchStub } from "./launch_stub.ts";
import { accessTo, type FilePolicy, type MissingPath, type PathRule, type Policy } from "./policy.ts";
import { networkFilter, seccompProgram } from "./seccomp.ts";
import type { Architecture } from "./syscalls.ts";

/** An installed bubblewrap, as `bubblewrap_tool.ts` finds it. */
export interface BubblewrapTool {
  /** Absolute, and not for anybody to change who may be confined by it. */
  readonly path: string;
  readonly version: string;
  /**
   * Whether it can bind an opened directory instead of a path, and notices by itself most of what is swapped meanwhile.
   * Whether all mounts came to lie where they should is looked at afterwards in any case.
   */
  readonly bindsDescriptors: boolean;
}

/** Its own limit. */
const MAX_ARGUMENTS = 9000;

const ARGS_FD = 3;
const SECCOMP_FD = 4;
const REPORT_FD = 5;
const STUB_FD = 6;
const INFO_FD = 7;
const FIRST_BIND_FD = 8;

/** In the sandbox's own `/dev`, the one directory that is always there and never the host's. */
const STUB_PATH = "/dev/.launch";

/** Where a sandbox has its own instance. The host's must not show: `/proc` leads to every process's files. */
export const OWN_MOUNTS: readonly string[] = ["/dev", "/proc"];

/**
 * What the kernel lets user 0 write in any `/proc`, without a capability and whatever the namespace: its settings (a
 * program to be run for every crash is one of them) and those of its drivers. bubblewrap covers its own list only where
 * the directory itself looks writable, which `/proc/sys` does not.
 */
export const SETTINGS_OF_ROOT: readonly string[] = [
  "/proc/sys",
  "/proc/sysrq-trigger",
  "/proc/fs",
  "/proc/acpi",
  "/proc/scsi",
  "/proc/asound",
];

export interface BubblewrapPlanOptions {
  readonly tool: BubblewrapTool;
  readonly architecture: Architecture;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  /** Whether what is refused of the network is to be told, where the kernel can do that. */
  readonly reportsDenials?: boolean;
}

/** What is in `files.missing` must be held by a placeholder lease, from before the start until everything has ended. */
export function planBubblewrap(
  command: ConfinedCommand,
  policy: Policy & { readonly files: FilePolicy },
  options: BubblewrapPlanOptions,
): LaunchPlan {
  const { tool, isRoot } = options;
  // In the sandbox's first process, where the stub never runs, this filter is alone and has no listener: it refuses just
  // the same. The command is bound by the stub's filter as well, whose answer then counts.
  const isWatched = options.reportsDenials === true && policy.network === "restricted";
  const { filter, stub } = programsFor(options, policy.network, isWatched);
  const mounts = new MountArguments(policy.files, { bindsDescriptors: tool.bindsDescriptors, isRoot });
  const args = [
    "--die-with-parent",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    ...(policy.network === "restricted" ? ["--unshare-net"] : []),
    ...mounts.args,
    "--perms",
    "0555",
    "--file",
    String(STUB_FD),
    STUB_PATH,
    "--cap-drop",
    "ALL",
    // For the stub alone. As another user it has left the namespace that the mounts belong to: bubblewrap is root in that
    // one, for the sake of the terminals, and makes a second one in which the user is itself again.
    ...(isRoot ? Object.keys(CLOSING_CAPABILITIES).flatMap((name) => ["--cap-add", name]) : []),
    "--seccomp",
    String(SECCOMP_FD),
    "--info-fd",
    String(INFO_FD),
    ...environmentArguments(command.env),
    "--chdir",
    command.cwd,
  ];
  if (args.length > MAX_ARGUMENTS) {
    throw invalidRequest(`Cannot confine: ${args.length} bubblewrap arguments, and it takes ${MAX_ARGUMENTS}`);
  }
  return {
    program: tool.path,
    argv: ["bwrap", "--args", String(ARGS_FD), "--", STUB_PATH, command.program, ...command.argv],
    env: {},
    cwd: "/",
    descriptors: [
      { fd: ARGS_FD, type: "bytes", bytes: nulTerminated(args) },
      { fd: SECCOMP_FD, type: "bytes", bytes: filter },
      { fd: REPORT_FD, type: "report" },
      { fd: STUB_FD, type: "bytes", bytes: stub },
      { fd: INFO_FD, type: "info" },
      ...mounts.descriptors,
    ],
    blockedSignals: WRAPPER_BLOCKED_SIGNALS,
    view: { base: policy.files.base, mounts: mounts.planned },
  };
}

/** The pid, as the host sees it, of the first process inside; null when bubblewrap did not get that far. */
export function parseFirstProcess(info: Uint8Array): number | null {
  const pid = /"child-pid":\s*(\d+)/.exec(new TextDecoder().decode(info))?.[1];
  return pid === undefined ? null : Number(pid);
}

/** What runs inside besides the command. */
interface Programs {
  readonly filter: Uint8Array<ArrayBuffer>;
  readonly stub: Uint8Array<ArrayBuffer>;
}

const programs = new Map<string, Programs>();

/** Always the same bytes, so they are made once. */
function programsFor(
  { architecture, isRoot }: BubblewrapPlanOptions,
  network: Policy["network"],
  isWatched: boolean,
): Programs {
  const key = [architecture, isRoot, network, isWatched].join();
  const made = programs.get(key) ?? {
    filter: seccompProgram({
      architecture,
      network,
      networkRefusal: isWatched ? "notify" : "errno",
      letsMountsBeClosed: isRoot,
    }),
    stub: launchStub({
      architecture,
      reportDescriptor: REPORT_FD,
      awaitsGo: true,
      closesMounts: isRoot,
      closeOnExec: [ARGS_FD, SECCOMP_FD, STUB_FD, INFO_FD],
      ...(!isWatched ? {} : {
        seccomp: networkFilter(architecture, "errno"),
        listening: { seccomp: networkFilter(architecture, "notify"), descriptor: STUB_FD },
      }),
    }),
  };
  programs.set(key, made);
  return made;
}

/** Each step of building the view: a path it is about, the arguments for it, and what it is to mount there. */
interface Step {
  readonly path: string;
  readonly args: readonly string[];
  readonly mounts: Pick<PlannedMount, "shows" | "isWritable" | "id"> | null;
}

const ITSELF_TO_READ = { shows: "itself", isWritable: false, id: null } as const;
const ITSELF_TO_WRITE = { shows: "itself", isWritable: true, id: null } as const;
const NULL_DEVICE = { shows: "null", isWritable: false, id: null } as const;
const NOTHING = { shows: "empty", isWritable: false, id: null } as const;

class MountArguments {
  readonly args: readonly string[];
  readonly planned: readonly PlannedMount[];
  readonly descriptors: PlannedDescriptor[] = [];
  readonly #files: FilePolicy;
  readonly #bindsDescriptors: boolean;
  /** Mounts of ours that hold mount points of further ones, so that they can be closed only at the end. */
  readonly #closedLast: string[] = [];

  constructor(files: FilePolicy, { bindsDescriptors, isRoot }: { bindsDescriptors: boolean; isRoot: boolean }) {
    this.#files = files;
    this.#bindsDescriptors = bindsDescriptors;
    const rules = files.rules.filter(({ path, access }) => !isOwnMount(path, access)).map((rule) => this.#rule(rule));
    const steps: Step[] = [
      ...rules,
      ...files.pinned.map((path) => ({ path, args: this.#bind(path, "--bind"), mounts: ITSELF_TO_WRITE })),
      ...files.missing.map((missing) => this.#missing(missing)),
      ...files.links.map(({ path, target }) => ({ path, args: ["--symlink", target, path], mounts: null })),
    ];
    steps.sort((a, b) => depthOf(a.path) - depthOf(b.path));
    this.planned = steps.flatMap(({ path, mounts }) =>
      mounts === null ? [] : [{ path, ...mounts, isInHostDirectory: this.#showsHost(parentOf(path)) }]
    );
    this.args = [
      ...this.#root(),
      "--dev",
      "/dev",
      "--proc",
      "/proc",
      ...(isRoot ? SETTINGS_OF_ROOT.flatMap((path) => ["--ro-bind-try", path, path]) : []),
      ...steps.flatMap(({ args }) => args),
      ...this.#closedLast.flatMap((path) => ["--remount-ro", path]),
    ];
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
        // A device is granted to be used, which a plain bind does not allow.
        const args = isWithin(path, "/dev") ? ["--dev-bind", path, path] : this.#bind(path, "--bind");
        return { path, args, mounts: { ...ITSELF_TO_WRITE, id } };
      }
      case "deny": {
        // A device on a mount without devices: opening it fails, whoever tries.
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
    // An empty file that cannot be read. A device as for denied files would do as well, but fail a write with the wrong
    // error: that the place is read-only, and not that one lacks a permission, is what clients expect.
    const fd = FIRST_BIND_FD + this.descriptors.length;
    this.descriptors.push({ fd, type: "bytes", bytes: new Uint8Array() });
    return { path, args: ["--perms", "0000", "--ro-bind-data", String(fd), path], mounts: NOTHING };
  }

  /** Whether what is seen at a path is what the host has there. */
  #showsHost(path: string): boolean {
    const access = accessTo(this.#files, path);
    return (access === "read" || access === "write") && !OWN_MOUNTS.some((own) => isWithin(path, own));
  }

  /** Whether something below a denied directory is granted again: then one may pass through it, and still not look. */
  #leadsOn(path: string): boolean {
    return this.#files.rules.some((rule) => rule.path !== path && isWithin(rule.path, path));
  }

  #bind(path: string, option: "--bind" | "--ro-bind"): string[] {
    if (!this.#bindsDescriptors) return [option, path, path];
    const fd = FIRST_BIND_FD + this.descriptors.length;
    this.descriptors.push({ fd, type: "path", path });
    return [`${option}-fd`, String(fd), path];
  }
}

/** A sandbox's own `/dev` and `/proc` are not subject to entries, and nothing of the host's `/proc` is ever let in. */
function isOwnMount(path: string, access: PathRule["access"]): boolean {
  return OWN_MOUNTS.includes(path) || (isWithin(path, "/proc") && access !== "deny");
}

function environmentArguments(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    // bubblewrap would end over it, which would look like a sandbox that does not work.
    if (name === "" || name.includes("=")) {
      throw internalError(`Cannot start process: \`${name}\` is no name for an environment variable in a sandbox`);
    }
    return ["--setenv", name, value];
  });
}

function nulTerminated(args: readonly string[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(args.map((arg) => `${arg}\0`).join(""));
}
