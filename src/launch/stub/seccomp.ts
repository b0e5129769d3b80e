/**
 * The system call filter of a confined process, as the bytes of a classic BPF program.
 *
 * Refused calls fail with an error number, so that programs can tell and go on. The exception is code of another
 * architecture (`int 0x80` and the like): its call numbers mean something else, so the process is killed. Pure; the
 * caller passes the bytes to bubblewrap or builds them into the launch stub.
 *
 * Network calls can also be refused through a listener, whose holder then knows what was refused. The holder can also
 * decide about every execution of a program. If several filters bind a process, the kernel takes the strictest answer;
 * an error number is stricter than a notification. Among equal answers it takes that of the youngest filter. So a
 * notification is sent only if no older filter answers with an error.
 *
 * More than 300 lines: half of it is the list of refused calls with their reasons.
 */

import type { NetworkAccess } from "../../protocol/sandbox.ts";
import { type Architecture, type SyscallName, syscallNumber } from "./syscalls.ts";

export interface SeccompOptions {
  readonly architecture: Architecture;
  readonly network: NetworkAccess;
  /** For a process without network. Default: `errno`. */
  readonly networkRefusal?: NetworkRefusal;
  /**
   * Also refuse what namespaces would prevent, for a backend without namespaces (Landlock): the user's shared memory,
   * semaphores and queues, and limits and priorities of other processes.
   */
  readonly withoutNamespaces?: boolean;
  /**
   * Also refuse what read-only mounts would prevent, for the same backend: changes of owner, mode, times and
   * attributes.
   */
  readonly changesNoFiles?: boolean;
  /**
   * Allow the mount calls by which the launch stub cuts off its mounts from the host's, and protects its devices. Others
   * have no capability for them. No other mounting is allowed.
   */
  readonly letsMountsBeClosed?: boolean;
  /** Every execution of a program waits for the answer of the listener's holder. */
  readonly asksBeforeExec?: boolean;
}

/**
 * How network calls are refused. `errno`: by the kernel. `notify`: by the holder of the filter's listener, which must
 * give the same error. Without a listener, or once it is closed, the call fails with ENOSYS.
 */
export type NetworkRefusal = "errno" | "notify";

/**
 * Refused under every policy. Calls that an unprivileged process cannot make anyway are not listed: each of these
 * works, or opens a way around the sandbox, without any capability.
 */
const ALWAYS_REFUSED: readonly SyscallName[] = [
  // Read and control other processes of the same user, and take descriptors from them.
  "ptrace",
  "process_vm_readv",
  "process_vm_writev",
  "pidfd_getfd",
  // Runs other calls (socket, connect, openat) from inside the kernel, where no filter sees them.
  "io_uring_setup",
  "io_uring_enter",
  "io_uring_register",
  // Keyrings belong to the user and not to a namespace: they may hold the server's credentials.
  "add_key",
  "request_key",
  "keyctl",
  // Large parts of the kernel that programs rarely need and exploits often use.
  "bpf",
  "perf_event_open",
  "userfaultfd",
  // Opens any inode of a file system by number, past every mount that hides it.
  "open_by_handle_at",
  // Join or rearrange namespaces. New user namespaces, which would give the capabilities for it, are refused below. So
  // nobody inside can rebuild the view that was made for them.
  "setns",
  "mount",
  "umount2",
  "pivot_root",
  "move_mount",
  "open_tree",
  "open_tree_attr",
  "fsopen",
  "fsconfig",
  "fsmount",
  "fspick",
  "mount_setattr",
];

/**
 * Without network nothing may be connected to: the socket of a container engine or an agent would be a way out. Nor may
 * anything be offered under a name that programs outside may mistake for another's.
 */
const NETWORK_CALLS: readonly SyscallName[] = ["connect", "bind"];

const METADATA_CALLS: readonly SyscallName[] = [
  "chmod",
  "fchmod",
  "fchmodat",
  "fchmodat2",
  "chown",
  "fchown",
  "lchown",
  "fchownat",
  "utime",
  "utimes",
  "futimesat",
  "utimensat",
  "setxattr",
  "lsetxattr",
  "fsetxattr",
  "setxattrat",
  "removexattr",
  "lremovexattr",
  "fremovexattr",
  "removexattrat",
  "file_setattr",
];

/**
 * Shared memory, semaphores and queues of the user, of any process: they have keys and names, but no place on the
 * disk.
 */
const SHARED_OBJECT_CALLS: readonly SyscallName[] = [
  "shmget",
  "shmat",
  "shmctl",
  "semget",
  "semop",
  "semtimedop",
  "semctl",
  "msgget",
  "msgsnd",
  "msgrcv",
  "msgctl",
  "mq_open",
  "mq_unlink",
];

/** Set limits, CPUs or scheduling of the process in the first argument; 0 is the caller. */
const CALLS_ON_A_PROCESS: readonly SyscallName[] = [
  "prlimit64",
  "sched_setparam",
  "sched_setscheduler",
  "sched_setaffinity",
  "sched_setattr",
];

/** Set priorities of a process, a group or all processes of a user, depending on the number. */
const CALLS_ON_MANY_PROCESSES = { setpriority: 2, ioprio_set: 3 } as const;

/**
 * A lease delays every program that opens the file for writing, for up to 45 seconds. To take one, it is enough to be
 * able to read the file.
 */
const LEASE_COMMANDS = [
  1024, // F_SETLEASE
  1040, // F_SETDELEG
];

/** Puts a byte into a terminal's input, as if typed. On a shared terminal it runs commands outside. */
const TIOCSTI = 0x5412;
/** Does the same on a text console, through its clipboard. */
const TIOCLINUX = 0x541c;
/** The bits of a request that say to which family it belongs. */
const IOCTL_FAMILY = 0xff00;
/** Requests about terminals, and those that apply to every descriptor. */
const TERMINAL_FAMILY = 0x5400;
const SOCKET_FAMILY = 0x8900;

const CLONE_NEWUSER = 0x10000000;
const CLONE_PARENT = 0x00008000;

/** The flags of the one `mount` call by which no mount receives or passes on later mounts. */
export const CLOSE_MOUNTS = 0x4000 | 0x40000; // MS_REC, MS_PRIVATE

/**
 * The flags by which a device becomes read-only, as far as its mode and owner go: it can be written to all the same. They
 * are all that a device has afterwards. So MS_NOEXEC is among them: where the host's `/dev` has it, it cannot be taken
 * away.
 */
export const CLOSE_DEVICE = 0x1 | 0x2 | 0x8 | 0x20 | 0x1000; // MS_RDONLY, MS_NOSUID, MS_NOEXEC, MS_REMOUNT, MS_BIND

/** For the `seccomp` call: to install a filter, which lies behind a `sock_fprog` of this many bytes. */
export const SECCOMP_SET_MODE_FILTER = 1;
export const FILTER_HEADER_BYTES = 16;

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
/** The kernel's own: above it the type argument carries flags. */
const SOCK_TYPE_MASK = 0xf;

const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };
/** Set in the number of every x32 call, which x86-64 kernels may offer beside their own. */
const X32_SYSCALL_BIT = 0x40000000;

const EPERM = 1;
const ENOTTY = 25;
const ENOSYS = 38;

// The kernel's `struct seccomp_data`: the call's number, the architecture, the instruction pointer, six arguments.
const NR_OFFSET = 0;
const ARCH_OFFSET = 4;
const argumentOffset = (index: number): number => 16 + index * 8;

// Classic BPF: the opcodes used here, and what a program may return.
const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;
const RET_KILL_PROCESS = 0x80000000;
const RET_ERRNO = 0x00050000;
const RET_USER_NOTIF = 0x7fc00000;
const RET_ALLOW = 0x7fff0000;

/** One `struct sock_filter`: jumps are counted from the next instruction. */
interface Instruction {
  readonly code: number;
  readonly k: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
}

const plain = (code: number, k: number): Instruction => ({ code, k, ifTrue: 0, ifFalse: 0 });
const jump = (code: number, k: number, ifTrue: number, ifFalse: number): Instruction => ({ code, k, ifTrue, ifFalse });
const refuse = (errno: number): Instruction => plain(RETURN, RET_ERRNO | errno);
const refuseNetwork = (refusal: NetworkRefusal): Instruction =>
  refusal === "errno" ? refuse(EPERM) : plain(RETURN, RET_USER_NOTIF);

/** The filter as an array of `struct sock_filter`, little-endian. */
export function seccompProgram(options: SeccompOptions): Uint8Array<ArrayBuffer> {
  const { architecture, networkRefusal = "errno" } = options;
  const isRestricted = options.network === "restricted";
  const isAlone = options.withoutNamespaces === true;
  const changesNoFiles = options.changesNoFiles === true;

  const program = ownCallsOnly(architecture);
  const { letsMountsBeClosed = false } = options;
  const always = letsMountsBeClosed ? ALWAYS_REFUSED.filter((name) => name !== "mount") : ALWAYS_REFUSED;
  const refused = [
    ...always,
    ...(changesNoFiles ? METADATA_CALLS : []),
    ...(isAlone ? SHARED_OBJECT_CALLS : []),
  ];
  for (const name of refused) program.push(...onCall(name, architecture, [refuse(EPERM)]));

  if (letsMountsBeClosed) program.push(...onCall("mount", architecture, ONLY_CLOSING_MOUNTS));

  // Its flags lie in memory, where a filter cannot look. Programs fall back to clone, as on a kernel without it.
  program.push(...onCall("clone3", architecture, [refuse(ENOSYS)]));
  for (const name of ["clone", "unshare"] as const) {
    program.push(...onCall(name, architecture, [
      plain(LOAD_WORD, argumentOffset(0)),
      jump(JUMP_ANY_BIT, CLONE_NEWUSER, 0, 1),
      refuse(EPERM),
    ]));
  }
  program.push(...onCall("fcntl", architecture, [
    plain(LOAD_WORD, argumentOffset(1)),
    ...LEASE_COMMANDS.flatMap((command) => [jump(JUMP_EQUAL, command, 0, 1), refuse(EPERM)]),
  ]));
  // The kernel uses only the low half of a request, so only that is compared.
  program.push(...onCall("ioctl", architecture, [
    plain(LOAD_WORD, argumentOffset(1)),
    ...[TIOCSTI, TIOCLINUX].flatMap((request) => [jump(JUMP_EQUAL, request, 0, 1), refuse(EPERM)]),
    ...(changesNoFiles ? NO_REQUESTS_TO_FILES : []),
  ]));
  if (isAlone) {
    for (const name of CALLS_ON_A_PROCESS) {
      program.push(...onCall(name, architecture, [
        plain(LOAD_WORD, argumentOffset(0)),
        jump(JUMP_EQUAL, 0, 1, 0),
        refuse(EPERM),
      ]));
    }
    for (const [name, user] of Object.entries(CALLS_ON_MANY_PROCESSES)) {
      program.push(...onCall(name as keyof typeof CALLS_ON_MANY_PROCESSES, architecture, [
        plain(LOAD_WORD, argumentOffset(0)),
        jump(JUMP_EQUAL, user, 2, 0),
        plain(LOAD_WORD, argumentOffset(1)),
        jump(JUMP_EQUAL, 0, 1, 0),
        refuse(EPERM),
      ]));
    }
  }
  if (isRestricted) program.push(...withoutNetwork(architecture, networkRefusal));
  if (options.asksBeforeExec === true) program.push(...onEveryExec(architecture));
  program.push(plain(RETURN, RET_ALLOW));
  return encode(program);
}

/** A filter that refuses only the network, for a process that is also bound by the other one. */
export function networkFilter(architecture: Architecture, refusal: NetworkRefusal): Uint8Array<ArrayBuffer> {
  return encode([...ownCallsOnly(architecture), ...withoutNetwork(architecture, refusal), plain(RETURN, RET_ALLOW)]);
}

/** A filter that asks before every execution of a program. If the network is to be refused, it asks about that too. */
export function execFilter(architecture: Architecture, network: NetworkAccess): Uint8Array<ArrayBuffer> {
  const offline = network === "restricted" ? withoutNetwork(architecture, "notify") : [];
  return encode([
    ...ownCallsOnly(architecture),
    ...offline,
    ...onEveryExec(architecture),
    plain(RETURN, RET_ALLOW),
  ]);
}

/**
 * All calls that execute a program. If the kernel gets a new one, this list must grow: nobody would be asked about it.
 */
export const EXEC_CALLS = ["execve", "execveat"] as const satisfies readonly SyscallName[];

/**
 * What a program may do depends on who started it. So no process may start another one as a child of its own parent.
 * Hardly any program does that.
 */
function onEveryExec(architecture: Architecture): Instruction[] {
  return [
    ...EXEC_CALLS.flatMap((name) => onCall(name, architecture, [plain(RETURN, RET_USER_NOTIF)])),
    ...onCall("clone", architecture, [
      plain(LOAD_WORD, argumentOffset(0)),
      jump(JUMP_ANY_BIT, CLONE_PARENT, 0, 1),
      refuse(EPERM),
    ]),
    // Its flags lie in memory, where a filter cannot look. Programs fall back to clone, as on a kernel without it.
    ...onCall("clone3", architecture, [refuse(ENOSYS)]),
  ];
}

/** Goes on, with the call's number loaded, only for call numbers of this architecture. */
function ownCallsOnly(architecture: Architecture): Instruction[] {
  return [
    plain(LOAD_WORD, ARCH_OFFSET),
    jump(JUMP_EQUAL, AUDIT_ARCH[architecture], 1, 0),
    plain(RETURN, RET_KILL_PROCESS),
    plain(LOAD_WORD, NR_OFFSET),
    ...(architecture === "x86_64" ? [jump(JUMP_AT_LEAST, X32_SYSCALL_BIT, 0, 1), refuse(ENOSYS)] : []),
  ];
}

function withoutNetwork(architecture: Architecture, refusal: NetworkRefusal): Instruction[] {
  const refused = refuseNetwork(refusal);
  return [
    ...NETWORK_CALLS.flatMap((name) => onCall(name, architecture, [refused])),
    ...(["socket", "socketpair"] as const).flatMap((name) => onCall(name, architecture, onlyLocalStreams(refused))),
  ];
}

/**
 * Allows only sockets that can reach nothing without `connect`: local ones of a kind that ignores addresses when
 * sending. A local datagram socket does not; it could talk to any socket file of the host.
 */
function onlyLocalStreams(refused: Instruction): Instruction[] {
  return [
    plain(LOAD_WORD, argumentOffset(0)),
    jump(JUMP_EQUAL, AF_UNIX, 1, 0),
    refused,
    plain(LOAD_WORD, argumentOffset(1)),
    plain(AND, SOCK_TYPE_MASK),
    jump(JUMP_EQUAL, SOCK_STREAM, 2, 0),
    jump(JUMP_EQUAL, SOCK_SEQPACKET, 1, 0),
    refused,
  ];
}

/**
 * Every file system has its own requests that change a file which is only open for reading (flags, versions, snapshots,
 * seals). So the allowed ones are listed. The others fail as on a file that does not know them.
 */
const NO_REQUESTS_TO_FILES: readonly Instruction[] = [
  plain(AND, IOCTL_FAMILY),
  jump(JUMP_EQUAL, TERMINAL_FAMILY, 2, 0),
  jump(JUMP_EQUAL, SOCKET_FAMILY, 1, 0),
  refuse(ENOTTY),
];

const ONLY_CLOSING_MOUNTS: readonly Instruction[] = [
  plain(LOAD_WORD, argumentOffset(3)),
  jump(JUMP_EQUAL, CLOSE_MOUNTS, 2, 0),
  jump(JUMP_EQUAL, CLOSE_DEVICE, 1, 0),
  refuse(EPERM),
  plain(LOAD_WORD, argumentOffset(3) + 4),
  jump(JUMP_EQUAL, 0, 1, 0),
  refuse(EPERM),
];

/** Runs `body` for one call, then goes on with the call's number loaded again. Empty where there is no such call. */
function onCall(name: SyscallName, architecture: Architecture, body: readonly Instruction[]): Instruction[] {
  const number = syscallNumber(name, architecture);
  if (number === undefined) return [];
  const reload = body.some(({ code }) => code === LOAD_WORD) ? [plain(LOAD_WORD, NR_OFFSET)] : [];
  return [jump(JUMP_EQUAL, number, 0, body.length + reload.length), ...body, ...reload];
}

function encode(program: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  program.forEach(({ code, k, ifTrue, ifFalse }, index) => {
    const at = index * 8;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, ifTrue);
    view.setUint8(at + 3, ifFalse);
    view.setUint32(at + 4, k, true);
  });
  return bytes;
}
