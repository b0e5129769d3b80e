/**
 * Numbers of the Linux system calls that the launch stub makes and the filter refuses, for both architectures this
 * program runs on. A call that an architecture does not have is absent there: there is nothing to refuse.
 */

/** As `Deno.build.arch` names them. */
export type Architecture = "x86_64" | "aarch64";

const X86_64 = {
  write: 1,
  rt_sigprocmask: 14,
  ioctl: 16,
  socket: 41,
  connect: 42,
  sendmsg: 46,
  socketpair: 53,
  clone: 56,
  execve: 59,
  fcntl: 72,
  chmod: 90,
  fchmod: 91,
  chown: 92,
  fchown: 93,
  lchown: 94,
  ptrace: 101,
  utime: 132,
  pivot_root: 155,
  prctl: 157,
  mount: 165,
  umount2: 166,
  setxattr: 188,
  lsetxattr: 189,
  fsetxattr: 190,
  removexattr: 197,
  lremovexattr: 198,
  fremovexattr: 199,
  exit_group: 231,
  utimes: 235,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  fchownat: 260,
  futimesat: 261,
  fchmodat: 268,
  unshare: 272,
  utimensat: 280,
  dup3: 292,
  perf_event_open: 298,
  open_by_handle_at: 304,
  setns: 308,
  process_vm_readv: 310,
  process_vm_writev: 311,
  seccomp: 317,
  bpf: 321,
  userfaultfd: 323,
} as const;

const AARCH64 = {
  setxattr: 5,
  lsetxattr: 6,
  fsetxattr: 7,
  removexattr: 14,
  lremovexattr: 15,
  fremovexattr: 16,
  dup3: 24,
  fcntl: 25,
  ioctl: 29,
  umount2: 39,
  mount: 40,
  pivot_root: 41,
  fchmod: 52,
  fchmodat: 53,
  fchownat: 54,
  fchown: 55,
  write: 64,
  utimensat: 88,
  exit_group: 94,
  unshare: 97,
  ptrace: 117,
  rt_sigprocmask: 135,
  prctl: 167,
  socket: 198,
  socketpair: 199,
  connect: 203,
  sendmsg: 211,
  add_key: 217,
  request_key: 218,
  keyctl: 219,
  clone: 220,
  execve: 221,
  perf_event_open: 241,
  open_by_handle_at: 265,
  setns: 268,
  process_vm_readv: 270,
  process_vm_writev: 271,
  seccomp: 277,
  bpf: 280,
  userfaultfd: 282,
} as const;

/** Calls so young that every architecture numbers them alike. */
const COMMON = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  mount_setattr: 442,
  landlock_restrict_self: 446,
  fchmodat2: 452,
  setxattrat: 463,
  removexattrat: 466,
  open_tree_attr: 467,
  file_setattr: 469,
} as const;

export type SyscallName = keyof typeof X86_64 | keyof typeof AARCH64 | keyof typeof COMMON;

/** Undefined where the architecture has no such call. */
export function syscallNumber(name: SyscallName, architecture: Architecture): number | undefined {
  const own: Partial<Record<SyscallName, number>> = architecture === "x86_64" ? X86_64 : AARCH64;
  const common: Partial<Record<SyscallName, number>> = COMMON;
  return own[name] ?? common[name];
}
