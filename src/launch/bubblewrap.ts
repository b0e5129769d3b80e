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
import { depthOf, isWithin } from "./host_tree.ts";
import {
  type ConfinedCommand,
  type LaunchPlan,
  type PlannedDescriptor,
  WRAPPER_BLOCKED_SIGNALS,
} from "./launch_plan.ts";
import { launchStub } from "./launch_stub.ts";
import type { FilePolicy, MissingPath, PathRule, Policy } from "./policy.ts";
import { networkFilter, seccompProgram } from "./seccomp.ts";
import type { Architecture } from "./syscalls.ts";

/** An installed bubblewrap, as `bubblewrap_tool.ts` finds it. */
export interface BubblewrapTool {
  /** Absolute, and not for anybody to change who may be confined by it. */
  readonly path: string;
  readonly version: string;
  /**
   * Whether it can bind an opened directory instead of a path. Without that, a program that may write where a root lies
   * can try to put a link in its place in the moment between our look and the mount.
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
const OWN_MOUNTS = ["/dev", "/proc"];

/**
 * What the kernel lets user 0 write in any `/proc`, without a capability and whatever the namespace: its settings (a
 * program to be run for every crash is one of them) and those of its drivers. bubblewrap covers its own list only where
 * the directory itself looks writable, which `/proc/sys` does not.
 */
const SETTINGS_OF_ROOT = ["/proc/sys", "/proc/sysrq-trigger", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/asound"];

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
  const { tool, architecture, isRoot } = options;
  // In the sandbox's first process, where the stub never runs, this filter is alone and has no listener: it refuses just
  // the same. The command is bound by the stub's filter as well, whose answer then counts.
  const isWatched = options.reportsDenials === true && policy.network === "restricted";
  const filter = seccompProgram({
    architecture,
    network: policy.network,
    networkRefusal: isWatched ? "notify" : "errno",
  });
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
      { fd: STUB_FD, type: "bytes", bytes: stubFor(architecture, isWatched) },
      { fd: INFO_FD, type: "info" },
      ...mounts.descriptors,
    ],
    blockedSignals: WRAPPER_BLOCKED_SIGNALS,
  };
}

/** The pid, as the host sees it, of the first process inside; null when bubblewrap did not get that far. */
export function parseFirstProcess(info: Uint8Array): number | null {
  const pid = /"child-pid":\s*(\d+)/.exec(new TextDecoder().decode(info))?.[1];
  return pid === undefined ? null : Number(pid);
}

const stubs = new Map<string, Uint8Array<ArrayBuffer>>();

/** Always the same bytes, so they are made once. */
function stubFor(architecture: Architecture, isWatched: boolean): Uint8Array<ArrayBuffer> {
  const key = `${architecture} ${isWatched}`;
  const stub = stubs.get(key) ?? launchStub({
    architecture,
    reportDescriptor: REPORT_FD,
    closeOnExec: [ARGS_FD, SECCOMP_FD, STUB_FD, INFO_FD],
    ...(!isWatched ? {} : {
      seccomp: networkFilter(architecture, "errno"),
      listening: { seccomp: networkFilter(architecture, "notify"), descriptor: STUB_FD },
    }),
  });
  stubs.set(key, stub);
  return stub;
}

/** Each step of building the view: a path it is about, and the arguments for it. */
interface Step {
  readonly path: string;
  readonly args: readonly string[];
}

class MountArguments {
  readonly args: readonly string[];
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
      ...files.pinned.map((path) => ({ path, args: this.#bind(path, "--bind") })),
      ...files.missing.map((missing) => this.#missing(missing)),
      ...files.links.map(({ path, target }) => ({ path, args: ["--symlink", target, path] })),
    ];
    steps.sort((a, b) => depthOf(a.path) - depthOf(b.path));
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

  #rule({ path, access, type }: PathRule): Step {
    switch (access) {
      case "read":
        return { path, args: this.#bind(path, "--ro-bind") };
      case "write":
        // A device is granted to be used, which a plain bind does not allow.
        return { path, args: isWithin(path, "/dev") ? ["--dev-bind", path, path] : this.#bind(path, "--bind") };
      case "deny":
        // A device on a mount without devices: opening it fails, whoever tries.
        if (type === "file") return { path, args: ["--ro-bind", "/dev/null", path] };
        this.#closedLast.push(path);
        return { path, args: ["--perms", this.#leadsOn(path) ? "0111" : "0000", "--tmpfs", path] };
    }
  }

  /**
   * Covers a placeholder, whether it is still empty or not. By path and not by descriptor: nobody inside another sandbox
   * can swap it, since every sandbox for which the place is protected has covered it.
   */
  #missing({ path, placeholder, isHidden }: MissingPath): Step {
    if (!isHidden) return { path, args: ["--ro-bind", path, path] };
    if (placeholder === "directory") return this.#rule({ path, access: "deny", type: "directory", id: "" });
    // An empty file that cannot be read. A device as for denied files would do as well, but fail a write with the wrong
    // error: that the place is read-only, and not that one lacks a permission, is what clients expect.
    const fd = FIRST_BIND_FD + this.descriptors.length;
    this.descriptors.push({ fd, type: "bytes", bytes: new Uint8Array() });
    return { path, args: ["--perms", "0000", "--ro-bind-data", String(fd), path] };
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
