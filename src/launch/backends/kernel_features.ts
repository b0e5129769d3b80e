/**
 * The unusual kernel features that this program uses, each tested by using it. This is for people who want to know why
 * something does not work here. The parts that need these features test them by themselves.
 */

import { toByteString } from "../../os/files/byte_string.ts";
import { becomeSubreaper } from "../../os/children/child_reaping.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { closeFd, O_PATH, openWithoutLinks } from "../../os/files/file_calls.ts";
import { landlockVersion } from "../../os/children/landlock.ts";
import { addressOf, allocate, libc } from "../../os/libc.ts";
import { openPidfd } from "../../os/children/pidfd.ts";
import { canMark } from "../../os/children/process_mark.ts";
import { MIN_LANDLOCK_ABI } from "./landlock.ts";
import { canMakeNamespaces } from "./namespace_probe.ts";
import { type Architecture, syscallNumber } from "../stub/syscalls.ts";

export const KERNEL_FEATURES = [
  "userNamespaces",
  "seccompFilter",
  "landlock",
  "pidfd",
  "childSubreaper",
  "openat2",
  "processMarks",
] as const;
export type KernelFeatureName = typeof KERNEL_FEATURES[number];

export interface KernelFeature {
  readonly name: KernelFeatureName;
  readonly works: boolean;
  /** What it is used for. */
  readonly purpose: string;
}

const PURPOSES: Readonly<Record<KernelFeatureName, string>> = {
  userNamespaces: "bubblewrap builds sandboxes from them",
  seccompFilter: "refuses system calls in every sandbox",
  landlock: `the fallback for bubblewrap; needs version ${MIN_LANDLOCK_ABI} or newer`,
  pidfd: "signals reach only the process they are meant for",
  childSubreaper: "orphans of children are found and ended",
  openat2: "paths are opened without following links",
  processMarks: "children end even when the server is killed",
};

/** Changes this process: from now on it adopts the orphans of its children. */
export async function kernelFeatures(architecture: Architecture = Deno.build.arch): Promise<KernelFeature[]> {
  const works: Readonly<Record<KernelFeatureName, boolean>> = {
    userNamespaces: await canMakeNamespaces(architecture),
    seccompFilter: hasSeccompFilter(architecture),
    landlock: landlockVersion() >= MIN_LANDLOCK_ABI,
    pidfd: hasPidfd(),
    childSubreaper: becomeSubreaper(),
    openat2: hasOpenat2(),
    processMarks: canMark(),
  };
  return KERNEL_FEATURES.map((name) => ({ name, works: works[name], purpose: PURPOSES[name] }));
}

const SECCOMP_GET_ACTION_AVAIL = 2n;
const SECCOMP_RET_ERRNO = 0x0005_0000;

/** Whether a filter may answer a call with an error. The question installs no filter. */
function hasSeccompFilter(architecture: Architecture): boolean {
  const action = allocate(4);
  new DataView(action.buffer).setUint32(0, SECCOMP_RET_ERRNO, true);
  const number = BigInt(syscallNumber("seccomp", architecture)!);
  return libc().syscall(number, SECCOMP_GET_ACTION_AVAIL, 0n, addressOf(action), 0n) === 0;
}

function hasPidfd(): boolean {
  const fd = openPidfd(Deno.pid);
  if (fd >= 0) closeDescriptor(fd);
  return fd >= 0;
}

function hasOpenat2(): boolean {
  const fd = openWithoutLinks(toByteString("/"), O_PATH);
  if (fd >= 0) closeFd(fd);
  return fd >= 0;
}
