/**
 * A policy as bubblewrap's arguments: mounts (`bubblewrap_mounts.ts`), own namespaces, no capabilities, the system call
 * filter, and the launch stub as the program it runs.
 *
 * Pure. All arguments go through a descriptor and not through the command line, which every user of the host can read:
 * they hold the command's environment and the client's paths. bubblewrap itself gets an empty environment: a variable
 * such as LD_PRELOAD could otherwise run the client's code outside the sandbox.
 *
 * Options that are not used, and why: `--new-session`, because every child of ours already leads its own session, and a
 * second one would break job control; `--as-pid-1`, because a first process ignores signals it does not handle, and
 * nobody would reap orphans; `--json-status-fd`, because the stub's report says more.
 */

import { internalError, invalidRequest } from "../../errors.ts";
import {
  type ConfinedCommand,
  type LaunchPlan,
  planInherited,
  type PlannedView,
  WRAPPER_BLOCKED_SIGNALS,
} from "../launch_plan.ts";
import type { KernelMounts } from "../kernel_mounts.ts";
import { CLOSING_CAPABILITIES, launchStub, type ListeningFilter, processLimits } from "../stub/launch_stub.ts";
import type { FilePolicy, Policy } from "../policy/policy.ts";
import { execFilter, networkFilter, seccompProgram } from "../stub/seccomp.ts";
import type { Architecture } from "../stub/syscalls.ts";
import { MountArguments } from "./bubblewrap_mounts.ts";
import { DEVICES } from "../devices.ts";

/** An installed bubblewrap, as `bubblewrap_tool.ts` finds it. */
export interface BubblewrapTool {
  /** Absolute. Nobody who may be confined by it can change it. */
  readonly path: string;
  readonly version: string;
  /**
   * Whether it can bind an opened directory instead of a path, and so notices most swaps by itself. All mounts are
   * checked afterwards in any case.
   */
  readonly bindsDescriptors: boolean;
}

/** bubblewrap's own limit. */
const MAX_ARGUMENTS = 9000;

const ARGS_FD = 3;
const SECCOMP_FD = 4;
const REPORT_FD = 5;
const STUB_FD = 6;
const INFO_FD = 7;
/** Descriptors that not every sandbox has are numbered from here on, those of the mounts last. */
const FIRST_FURTHER_FD = 8;

/** In the sandbox's own `/dev`, the only directory that always exists and is never the host's. */
const STUB_PATH = "/dev/.launch";

export interface BubblewrapPlanOptions {
  readonly tool: BubblewrapTool;
  readonly architecture: Architecture;
  /** Whether the server, and so its child, is root. */
  readonly isRoot: boolean;
  /** Whether refused network calls are recorded, where the kernel can do that. */
  readonly reportsDenials?: boolean;
  /** Whether the holder of the listener decides every execution of a program. Without a listener nothing starts. */
  readonly asksBeforeExec?: boolean;
  /** Whether the stub stays behind and tells how the command ended, where it can. */
  readonly tellsEnd?: boolean;
  /** Processes and threads inside at a time. Needs a kernel that counts them in each user namespace: Linux 5.14. */
  readonly maxProcesses?: number | undefined;
  /** The kernel's mounts of the host. */
  readonly kernelMounts: KernelMounts;
}

/**
 * Paths in `files.missing` must be held by a placeholder lease, from before the start until everything has ended. A
 * sandbox without a command waits for one (`late_command.ts`).
 */
export function planBubblewrap(
  command: ConfinedCommand | null,
  policy: Policy,
  options: BubblewrapPlanOptions,
): LaunchPlan {
  const { tool, architecture, isRoot, kernelMounts, maxProcesses } = options;
  const devices = policy.files === "unrestricted" ? "host" : "own";
  const files = policy.files === "unrestricted" ? WHOLE_DISK : policy.files;
  const closesMounts = isRoot || devices === "host";
  // The stub never runs in the sandbox's first process. There this filter is the only one and has no listener, but it
  // refuses just the same. The command is also bound by the stub's filter, and then the stub's answer counts.
  const asksBeforeExec = options.asksBeforeExec === true;
  const listensForDenials = (asksBeforeExec || options.reportsDenials === true) && policy.network === "restricted";
  const { network } = policy;
  const isLate = command === null;
  const tellsEnd = options.tellsEnd === true && architecture === "x86_64";
  let nextFd = FIRST_FURTHER_FD;
  const numberIf = (isWanted: boolean): number | null => isWanted ? nextFd++ : null;
  const further = {
    // The wrapper itself.
    wrapperFd: numberIf(isRoot),
    endFd: numberIf(tellsEnd),
    // Of those that bubblewrap passes on it closes its own, but never the first three.
    stdoutFd: numberIf(tellsEnd),
    stderrFd: numberIf(tellsEnd),
    // For others the stub has no right to choose numbers.
    lastPidFd: numberIf(isRoot),
    commandFd: numberIf(isLate),
  };
  const { wrapperFd, endFd, stdoutFd, stderrFd, lastPidFd, commandFd } = further;
  const firstMountFd = nextFd;
  const { filter, stub } = programsFor({
    ...{ architecture, network, listensForDenials, asksBeforeExec, closesMounts, isRoot, devices, maxProcesses },
    ...further,
  });
  const mounts = new MountArguments(files, {
    bindsDescriptors: tool.bindsDescriptors,
    isRoot,
    kernelMounts,
    devices,
    isProcReadOnly: asksBeforeExec,
    firstFd: firstMountFd,
  });
  const inherited = isLate ? NOTHING_INHERITED : planInherited(command, firstMountFd + mounts.descriptors.length);
  // A sandbox with the host's /dev has no directory of its own except /proc, where the descriptor itself can be
  // executed.
  const stubPath = devices === "own" ? STUB_PATH : `/proc/self/fd/${STUB_FD}`;
  // One that stays behind is believed, and kernels differ in whether a program that runs can be written to. The mount that
  // protects it costs time, and matters only then.
  const stubAs = endFd === null ? "--file" : "--ro-bind-data";
  const args = [
    "--die-with-parent",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    ...(policy.network === "restricted" ? ["--unshare-net"] : []),
    ...mounts.args,
    ...(devices === "own" ? ["--perms", "0555", stubAs, String(STUB_FD), STUB_PATH] : []),
    "--cap-drop",
    "ALL",
    // Only for the stub. If the user is not root and the sandbox has its own terminals, the stub could not use them:
    // for those terminals bubblewrap becomes root in the namespace that owns the mounts, and then makes a second
    // namespace in which the user has its own id again.
    ...(closesMounts ? Object.keys(CLOSING_CAPABILITIES).flatMap((name) => ["--cap-add", name]) : []),
    "--seccomp",
    String(SECCOMP_FD),
    "--info-fd",
    String(INFO_FD),
    ...environmentArguments({ ...command?.env, ...inherited.env }),
    "--chdir",
    command?.cwd ?? "/",
  ];
  if (args.length > MAX_ARGUMENTS) {
    throw invalidRequest(
      `Cannot confine: the policy needs ${args.length} bubblewrap arguments, and at most ${MAX_ARGUMENTS} are possible`,
    );
  }
  return {
    program: wrapperFd !== null ? `/proc/self/fd/${wrapperFd}` : tool.path,
    argv: ["bwrap", "--args", String(ARGS_FD), "--", stubPath, ...(isLate ? [] : [command.program, ...command.argv])],
    env: {},
    cwd: "/",
    descriptors: [
      { fd: ARGS_FD, type: "bytes", bytes: nulTerminated(args) },
      { fd: SECCOMP_FD, type: "bytes", bytes: filter },
      { fd: REPORT_FD, type: "report" },
      { fd: STUB_FD, type: "bytes", bytes: stub },
      { fd: INFO_FD, type: "info" },
      ...(wrapperFd !== null ? [{ fd: wrapperFd, type: "program", path: tool.path } as const] : []),
      ...(endFd !== null ? [{ fd: endFd, type: "end" } as const] : []),
      ...(stdoutFd !== null ? [{ fd: stdoutFd, type: "output", stream: "stdout" } as const] : []),
      ...(stderrFd !== null ? [{ fd: stderrFd, type: "output", stream: "stderr" } as const] : []),
      ...(lastPidFd !== null ? [{ fd: lastPidFd, type: "lastPid" } as const] : []),
      ...(commandFd !== null ? [{ fd: commandFd, type: "command" } as const] : []),
      ...mounts.descriptors,
      ...inherited.descriptors,
    ],
    blockedSignals: WRAPPER_BLOCKED_SIGNALS,
    view: { base: files.base, devices, mounts: mounts.planned },
  };
}

/** The host's pid of the first process inside; null when bubblewrap did not get that far. */
export function parseFirstProcess(info: Uint8Array): number | null {
  const pid = /"child-pid":\s*(\d+)/.exec(new TextDecoder().decode(info))?.[1];
  return pid === undefined ? null : Number(pid);
}

const NOTHING_INHERITED: ReturnType<typeof planInherited> = { descriptors: [], env: {} };

/** A policy that confines no files grants this, together with the host's devices. */
const WHOLE_DISK: FilePolicy = { base: "write", rules: [], missing: [], pinned: [], links: [] };

/** What runs inside besides the command. */
interface Programs {
  readonly filter: Uint8Array<ArrayBuffer>;
  readonly stub: Uint8Array<ArrayBuffer>;
}

interface ProgramOptions {
  readonly architecture: Architecture;
  readonly network: Policy["network"];
  readonly listensForDenials: boolean;
  readonly asksBeforeExec: boolean;
  readonly closesMounts: boolean;
  readonly isRoot: boolean;
  readonly wrapperFd: number | null;
  readonly endFd: number | null;
  readonly stdoutFd: number | null;
  readonly stderrFd: number | null;
  readonly lastPidFd: number | null;
  /** Null: the command is known. */
  readonly commandFd: number | null;
  readonly devices: PlannedView["devices"];
  readonly maxProcesses?: number | undefined;
}

const programs = new Map<string, Programs>();

/** The same options always give the same bytes, so they are made once. */
function programsFor(options: ProgramOptions): Programs {
  const { architecture, network, listensForDenials, asksBeforeExec, closesMounts, maxProcesses } = options;
  const { isRoot, wrapperFd, endFd, stdoutFd, stderrFd, lastPidFd, commandFd, devices } = options;
  const key = JSON.stringify(options);
  const made = programs.get(key) ?? {
    filter: seccompProgram({
      architecture,
      network,
      networkRefusal: listensForDenials ? "notify" : "errno",
      letsMountsBeClosed: closesMounts,
    }),
    stub: launchStub({
      architecture,
      reportDescriptor: REPORT_FD,
      awaitsGo: true,
      closesMounts,
      ...(isRoot && devices === "own" ? { readOnlyDevices: DEVICES } : {}),
      closeOnExec: [
        ...[ARGS_FD, SECCOMP_FD, STUB_FD, INFO_FD],
        ...[wrapperFd, commandFd].filter((fd) => fd !== null),
      ],
      ...(endFd === null ? {} : { endDescriptor: endFd }),
      ...(stdoutFd === null || stderrFd === null ? {} : { outputs: [stdoutFd, stderrFd] as const }),
      ...(lastPidFd === null ? {} : { lastPidDescriptor: lastPidFd }),
      limits: processLimits(maxProcesses),
      ...(commandFd === null ? {} : { commandDescriptor: commandFd }),
      ...(asksBeforeExec ? { listening: askingFilter(architecture, network) } : !listensForDenials ? {} : {
        seccomp: networkFilter(architecture, "errno"),
        listening: { seccomp: networkFilter(architecture, "notify"), descriptor: STUB_FD },
      }),
    }),
  };
  programs.set(key, made);
  return made;
}

function askingFilter(architecture: Architecture, network: Policy["network"]): ListeningFilter {
  return { seccomp: execFilter(architecture, network), descriptor: STUB_FD, isRequired: true };
}

function environmentArguments(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    // bubblewrap would fail, which would look like a sandbox that does not work.
    if (name === "" || name.includes("=")) {
      throw internalError(
        `Cannot start process: \`${name}\` is not a valid name of an environment variable in a sandbox`,
      );
    }
    return ["--setenv", name, value];
  });
}

function nulTerminated(args: readonly string[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(args.map((arg) => `${arg}\0`).join(""));
}
