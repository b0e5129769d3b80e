/**
 * What the first process of a sandbox does when no wrapper has made the sandbox: the system calls, in their order.
 *
 * For one view only: the host's files, all of them read-only, with a `/dev` and a `/proc` of the sandbox's own. Commands
 * find in it what they would find in a sandbox that bubblewrap makes of the same policy, and the same check from outside
 * (`process/posix/view_check.ts`) is passed before they run.
 *
 * Only a list. `namespace_code.ts` turns it into machine code.
 */

import { DEVICES } from "../devices.ts";
import type { SyscallName } from "./syscalls.ts";

export interface NamespaceOptions {
  readonly uid: number;
  readonly gid: number;
  /** Whether it has a network of its own, in which there is nothing but itself. */
  readonly ownsNetwork: boolean;
  /** This descriptor and all behind it are closed when the stub begins. */
  readonly firstFreeDescriptor: number;
  /** Binds everything inside, the first process included. */
  readonly seccomp: Uint8Array<ArrayBuffer>;
}

/** A text or bytes stand for their address. */
type Value = number | string | Uint8Array<ArrayBuffer>;

/** One system call. Unless it may fail, its failure ends everything. */
export interface NamespaceStep {
  readonly call: SyscallName;
  readonly args: readonly Value[];
  /** The first argument is what the call before returned; `args` begins with the second. */
  readonly usesResult?: true;
  readonly mayFail?: true;
}

const CLONE_NEWNS = 0x00020000;
const CLONE_NEWIPC = 0x08000000;
const CLONE_NEWUSER = 0x10000000;
const CLONE_NEWPID = 0x20000000;
const CLONE_NEWNET = 0x40000000;
export const SIGCHLD = 17;

/** For `clone`: the namespaces of the first process. */
export function namespaceFlags({ ownsNetwork }: NamespaceOptions): number {
  return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (ownsNetwork ? CLONE_NEWNET : 0) | SIGCHLD;
}

/** For `close_range`. */
export const LAST_DESCRIPTOR = 0xffffffff;
const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const O_WRONLY_CLOEXEC = 0o2000001;
const O_CREAT_CLOEXEC = 0o2000100;
const O_CLOEXEC = 0o2000000;
const OPEN_TREE_CLONE = 1;
const MOVE_MOUNT_F_EMPTY_PATH = 4;

const MS_NOSUID = 2;
const MS_NODEV = 4;
const MS_NOEXEC = 8;
const MS_PRIVATE = 0x40000;

const MOUNT_ATTR_RDONLY = 1;
const MOUNT_ATTR_NOSUID = 2;
const MOUNT_ATTR_NODEV = 4;
const MOUNT_ATTR_NOEXEC = 8;
/** The size of `struct mount_attr`. */
const MOUNT_ATTR_BYTES = 32;

const PR_SET_PDEATHSIG = 1;
const PR_SET_NAME = 15;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;
/** One for each bit of a set. The kernel refuses those that it does not have. */
const CAPABILITY_COUNT = 64;

/** `_LINUX_CAPABILITY_VERSION_3`, for the caller. */
const CAPABILITY_HEADER = Uint8Array.of(0x22, 0x05, 0x08, 0x20, 0, 0, 0, 0);
const NO_CAPABILITIES = new Uint8Array(24);

const AF_INET = 2;
const SOCK_DGRAM_CLOEXEC = 0o2000002;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
/** `struct ifreq`: a name of 16 bytes, then the flags. */
const IFREQ_BYTES = 40;
const IFREQ_FLAGS_AT = 16;

const DEVICE_LINKS: Readonly<Record<string, string>> = {
  stdin: "/proc/self/fd/0",
  stdout: "/proc/self/fd/1",
  stderr: "/proc/self/fd/2",
  fd: "/proc/self/fd",
  core: "/proc/kcore",
  ptmx: "pts/ptmx",
};
/** Descriptors that the stub has no other use for, one for each device. */
const FIRST_DEVICE_FD = 64;
/** The sandbox's own `/proc`, while it is being set up. */
const WRITABLE_PROC_FD = FIRST_DEVICE_FD + DEVICES.length;

/**
 * After which number those of processes inside begin: the first for systems that have 32768, the second for those that
 * have four million, which is most. A program outside that reads a number from a file of a command hardly ever finds a
 * process of its own by it; the small numbers are those of the host's services.
 */
export const LAST_PIDS: readonly string[] = ["24000", "3000000"];

/** The calls of the process that the server starts, before there are namespaces. */
export const OUTER_STEPS: readonly NamespaceStep[] = [
  { call: "prctl", args: [PR_SET_NAME, "launch", 0, 0, 0], mayFail: true },
  { call: "prctl", args: [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0] },
];

/** All calls from the first in the new namespaces until nothing is left to be set up. */
export function namespaceSteps(options: NamespaceOptions): NamespaceStep[] {
  const { uid, gid, ownsNetwork, firstFreeDescriptor } = options;
  const closeAll: NamespaceStep = { call: "close_range", args: [firstFreeDescriptor, LAST_DESCRIPTOR, 0] };
  return [
    // New terminals can only be mounted where user 0 is somebody.
    ...identity(AT_FDCWD, { inside: 0, outside: uid }, { inside: 0, outside: gid }),
    // A file system with a file that is open for writing cannot be made read-only.
    closeAll,
    ...mounts(),
    ...(ownsNetwork ? loopback() : []),
    ...processNumbers(),
    ...(uid === 0 && gid === 0 ? [] : [
      // The user's own numbers again, in a second namespace.
      { call: "unshare", args: [CLONE_NEWUSER] } as const,
      ...identity(WRITABLE_PROC_FD, { inside: uid, outside: 0 }, { inside: gid, outside: 0 }),
    ]),
    closeAll,
    ...Array.from({ length: CAPABILITY_COUNT }, (_, capability) => (
      { call: "prctl", args: [PR_CAPBSET_DROP, capability, 0, 0, 0], mayFail: true } as const
    )),
    { call: "capset", args: [CAPABILITY_HEADER, NO_CAPABILITIES] },
    { call: "prctl", args: [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0] },
    // A change of rights may reset it, so it comes behind them.
    { call: "prctl", args: [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0] },
  ];
}

interface Mapped {
  readonly inside: number;
  readonly outside: number;
}

/** Who the user and the group are in a namespace that was just made. There is nobody else. */
function identity(proc: number, user: Mapped, group: Mapped): NamespaceStep[] {
  const map = ({ inside, outside }: Mapped): string => `${inside} ${outside} 1`;
  const texts = { uid_map: map(user), setgroups: "deny", gid_map: map(group) };
  return Object.entries(texts).flatMap(([name, text]): NamespaceStep[] => [
    { call: "openat", args: [proc, `${proc === AT_FDCWD ? "/proc/" : ""}self/${name}`, O_WRONLY_CLOEXEC, 0] },
    { call: "write", args: [text, text.length], usesResult: true },
  ]);
}

function mounts(): NamespaceStep[] {
  const hostFiles = mountAttributes(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, MS_PRIVATE);
  const devices = mountAttributes(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, MS_PRIVATE);
  return [
    // Before devices are forbidden everywhere.
    ...DEVICES.flatMap((path, index): NamespaceStep[] => [
      ...copyOfMount(path, FIRST_DEVICE_FD + index),
      // Devices can be written to, but their modes and owners are the host's.
      attributes(FIRST_DEVICE_FD + index, "", AT_EMPTY_PATH, devices),
    ]),
    // Everything that the host has, and nothing that it mounts later.
    attributes(AT_FDCWD, "/", AT_RECURSIVE, hostFiles),
    mount("tmpfs", "/dev", MS_NOSUID | MS_NODEV, "mode=0755"),
    ...DEVICES.flatMap((path, index): NamespaceStep[] => [
      { call: "openat", args: [AT_FDCWD, path, O_CREAT_CLOEXEC, 0o444] },
      { call: "move_mount", args: [FIRST_DEVICE_FD + index, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH] },
    ]),
    // Whatever the server's mask for new files is.
    ...["shm", "pts"].flatMap((name): NamespaceStep[] => [
      { call: "mkdirat", args: [AT_FDCWD, `/dev/${name}`, 0o755] },
      { call: "fchmodat", args: [AT_FDCWD, `/dev/${name}`, 0o755] },
    ]),
    ...Object.entries(DEVICE_LINKS).map(([name, target]) => (
      { call: "symlinkat", args: [target, AT_FDCWD, `/dev/${name}`] } as const
    )),
    mount("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"),
    mount("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC),
    ...copyOfMount("/proc", WRITABLE_PROC_FD),
    // Its files change the kernel's settings, for user 0, and the memory of every other process inside.
    attributes(AT_FDCWD, "/proc", 0, mountAttributes(MOUNT_ATTR_RDONLY)),
  ];
}

/** A mount that lies nowhere, under a number of our choice. */
function copyOfMount(path: string, descriptor: number): NamespaceStep[] {
  return [
    { call: "open_tree", args: [AT_FDCWD, path, OPEN_TREE_CLONE | O_CLOEXEC] },
    { call: "dup3", args: [descriptor, O_CLOEXEC], usesResult: true },
  ];
}

function mount(type: string, path: string, flags: number, options: string | 0 = 0): NamespaceStep {
  return { call: "mount", args: [type, path, type, flags, options] };
}

function attributes(directory: number, path: string, flags: number, attr: Uint8Array<ArrayBuffer>): NamespaceStep {
  return { call: "mount_setattr", args: [directory, path, flags, attr, MOUNT_ATTR_BYTES] };
}

/** A `struct mount_attr`: what is set, what is cleared, and whom mounts are passed on to. */
function mountAttributes(set: number, propagation = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(MOUNT_ATTR_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, set, true);
  view.setUint32(16, propagation, true);
  return bytes;
}

/** Where the kernel does not let them be chosen they begin with the next. */
function processNumbers(): NamespaceStep[] {
  return LAST_PIDS.flatMap((text): NamespaceStep[] => [
    {
      call: "openat",
      args: [WRITABLE_PROC_FD, "sys/kernel/ns_last_pid", O_WRONLY_CLOEXEC, 0],
      mayFail: true,
    },
    { call: "write", args: [text, text.length], usesResult: true, mayFail: true },
  ]);
}

/** Programs expect to reach themselves. */
function loopback(): NamespaceStep[] {
  const request = new Uint8Array(IFREQ_BYTES);
  request.set(new TextEncoder().encode("lo"));
  request[IFREQ_FLAGS_AT] = IFF_UP;
  return [
    { call: "socket", args: [AF_INET, SOCK_DGRAM_CLOEXEC, 0] },
    { call: "ioctl", args: [SIOCSIFFLAGS, request], usesResult: true },
  ];
}

/** What the calls point at, in the order in which they name it. Texts have their end. */
export function constantsOf(steps: readonly NamespaceStep[]): Uint8Array<ArrayBuffer>[] {
  return steps.flatMap(({ args }) => args.filter((value) => typeof value !== "number"))
    .map((value) => typeof value === "string" ? new TextEncoder().encode(`${value}\0`) : value);
}
