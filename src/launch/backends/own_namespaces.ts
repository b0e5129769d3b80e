/**
 * A sandbox that the launch stub makes by itself, without bubblewrap, for one policy: everything can be read, nothing can
 * be written and nothing is hidden.
 *
 * That needs no path that a client has named, and so none of bubblewrap's care with paths; and it takes a third of the
 * time, because bubblewrap is a program with libraries and reads the mount table once for every mount. Its view is the
 * same, and is checked from outside in the same way. All other policies are bubblewrap's.
 *
 * Pure. Only for sandboxes that wait for their command.
 */

import { type LaunchPlan, WRAPPER_BLOCKED_SIGNALS } from "../launch_plan.ts";
import type { KernelMounts } from "../kernel_mounts.ts";
import type { Policy } from "../policy/policy.ts";
import { launchStub, processLimits } from "../stub/launch_stub.ts";
import { execFilter, seccompProgram } from "../stub/seccomp.ts";
import type { Architecture } from "../stub/syscalls.ts";
import { MountArguments } from "./bubblewrap_mounts.ts";

const REPORT_FD = 3;
const STUB_FD = 4;
const COMMAND_FD = 5;
const END_FD = 6;

export interface NamespacePlanOptions {
  readonly architecture: Architecture;
  /** The server's. */
  readonly uid: number;
  readonly gid: number;
  /** Processes and threads inside at a time. */
  readonly maxProcesses?: number | undefined;
  readonly kernelMounts: KernelMounts;
}

/** Null for a policy that needs more than this. */
export function planOwnNamespaces(
  policy: Policy,
  { architecture, uid, gid, maxProcesses, kernelMounts }: NamespacePlanOptions,
): LaunchPlan | null {
  const { files, network } = policy;
  if (architecture !== "x86_64" || files === "unrestricted" || files.base !== "read") return null;
  const options = { bindsDescriptors: false, isRoot: uid === 0, kernelMounts, isProcReadOnly: true } as const;
  const mounts = new MountArguments(files, { ...options, devices: "own", firstFd: END_FD + 1 });
  if (mounts.planned.length > 0 || files.links.length > 0) return null;
  const stub = launchStub({
    architecture,
    reportDescriptor: REPORT_FD,
    awaitsGo: true,
    commandDescriptor: COMMAND_FD,
    endDescriptor: END_FD,
    closeOnExec: [STUB_FD, COMMAND_FD],
    limits: processLimits(maxProcesses),
    listening: { seccomp: execFilter(architecture, network), descriptor: STUB_FD, isRequired: true },
    namespaces: {
      uid,
      gid,
      ownsNetwork: network === "restricted",
      firstFreeDescriptor: END_FD + 1,
      seccomp: seccompProgram({
        architecture,
        network,
        // In the first process, which makes no such call, nobody would answer.
        networkRefusal: network === "restricted" ? "notify" : "errno",
      }),
    },
  });
  return {
    program: `/proc/self/fd/${STUB_FD}`,
    argv: ["launch"],
    env: {},
    cwd: "/",
    descriptors: [
      { fd: REPORT_FD, type: "report" },
      { fd: STUB_FD, type: "bytes", bytes: stub },
      { fd: COMMAND_FD, type: "command" },
      { fd: END_FD, type: "end" },
    ],
    blockedSignals: WRAPPER_BLOCKED_SIGNALS,
    view: { base: "read", devices: "own", mounts: [] },
  };
}
