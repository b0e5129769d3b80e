/**
 * What a waiting thread of another process has: its descriptors, its directory, its limits, and the files it sees.
 *
 * Every answer is about the process that has that number now. The caller makes sure that this is still the thread that
 * was meant, by asking its listener afterwards (`isCallWaiting`). Returned descriptors are close-on-exec and belong to
 * the caller.
 */

import { closeDescriptor } from "../descriptor.ts";
import { type ByteString, toByteString, writeCString } from "../files/byte_string.ts";
import {
  AT_FDCWD,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_PATH,
  openAt,
  openWithoutLinks,
  readLinkAt,
} from "../files/file_calls.ts";
import { S_IFREG, statFd } from "../files/file_stat.ts";
import { fileSymbols, settle } from "../files/file_symbols.ts";
import { ENOENT, ENOTDIR } from "../errno.ts";
import { allocate, type CBuffer, libc, libcFunctions, whilePinned } from "../libc.ts";
import { openPidfd } from "./pidfd.ts";
import { listNumbers, readText } from "./procfs.ts";
import { getLimit, type Limit, RLIMIT_LOCKS } from "./resource_limits.ts";

const SYS_PIDFD_OPEN = 434n;
const SYS_PIDFD_GETFD = 438n;
/** Linux 6.9: a descriptor of one thread, which may have other descriptors than the rest of its process. */
const PIDFD_THREAD = 0o200n;

/** Resources that the kernel has limits for. */
const RESOURCES = 16;

/** The process of a thread, and other facts from its `status`. */
export interface ThreadStatus {
  readonly tgid: number;
  readonly umask: number;
  /** Signals that wait for it or for its process, as bits from signal 1 on. */
  readonly pendingSignals: bigint;
  /** Those that it ignores by its own choice. */
  readonly ignoredSignals: bigint;
}

export function threadStatus(tid: number): ThreadStatus | null {
  const text = readText(`/proc/${tid}/status`);
  if (text === null) return null;
  const field = (name: string): string => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(text)?.[1] ?? "0";
  return {
    tgid: Number(field("Tgid")),
    umask: parseInt(field("Umask"), 8),
    pendingSignals: BigInt(`0x${field("SigPnd")}`) | BigInt(`0x${field("ShdPnd")}`),
    ignoredSignals: BigInt(`0x${field("SigIgn")}`),
  };
}

/** The process that a thread belongs to; null when it is gone. */
export function processOf(tid: number): number | null {
  // The kernel gives this only for a process. Asking for it takes a tenth of the time of reading `status`.
  const pidfd = openPidfd(tid);
  if (pidfd < 0) return threadStatus(tid)?.tgid ?? null;
  closeDescriptor(pidfd);
  return tid;
}

/** A pidfd through which a thread's descriptors can be taken; negative when the kernel gives none. */
export function openThread(tid: number, tgid: number): number {
  const thread = libc().syscall(SYS_PIDFD_OPEN, BigInt(tid), PIDFD_THREAD, 0n, 0n);
  return thread >= 0 || tid !== tgid ? thread : openPidfd(tid);
}

/** A copy of a descriptor of that process; null when it has none of that number, or we may not take it. */
export function takeDescriptor(pidfd: number, fd: number): number | null {
  const copy = libc().syscall(SYS_PIDFD_GETFD, BigInt(pidfd), BigInt(fd), 0n, 0n);
  return copy < 0 ? null : copy;
}

/** Numbers of the descriptors that a thread would keep when it becomes another program. */
export function inheritableDescriptors(tid: number): number[] {
  return listNumbers(`/proc/${tid}/fd`).filter((fd) => {
    const flags = /^flags:\s*(\d+)/m.exec(readText(`/proc/${tid}/fdinfo/${fd}`) ?? "")?.[1];
    return flags !== undefined && (parseInt(flags, 8) & 0o2000000) === 0;
  });
}

/** All limits, except the one that carries our marks. */
export function limitsOf(tid: number): { readonly resource: number; readonly limit: Limit }[] {
  return Array.from({ length: RESOURCES }, (_, resource) => resource).flatMap((resource) => {
    const limit = resource === RLIMIT_LOCKS ? null : getLimit(resource, tid);
    return limit === null ? [] : [{ resource, limit }];
  });
}

/** Where a link of a thread's `/proc` leads, as it sees it: `cwd`, `exe`, `fd/3`. Null when it is gone. */
export function linkOf(tid: number, name: string): ByteString | null {
  const target = readLinkAt(AT_FDCWD, toByteString(`/proc/${tid}/${name}`));
  return typeof target === "number" ? null : target;
}

/**
 * Opens the directory at a path through our own mounts, if a thread is in it. What we start there then sees it as we
 * do, and not through the thread's mounts. Null if the thread is in another directory, or the path is not a directory
 * for us.
 */
export function openOwnDirectory(tid: number, path: ByteString): number | null {
  const theirs = openAt(AT_FDCWD, toByteString(`/proc/${tid}/cwd`), O_PATH | O_DIRECTORY);
  if (theirs < 0) return null;
  const ours = openWithoutLinks(path, O_PATH | O_DIRECTORY);
  const isSame = ours >= 0 && identityOf(ours) === identityOf(theirs);
  closeDescriptor(theirs);
  if (isSame) return ours;
  if (ours >= 0) closeDescriptor(ours);
  return null;
}

/**
 * What a link of a thread's `/proc` leads to: its name, and which file it is, both of one moment. Null when there is no
 * such link.
 */
export function fileBehind(tid: number, name: string): { readonly path: ByteString; readonly identity: string } | null {
  const fd = openBehind(tid, name);
  if (fd < 0) return null;
  const path = linkOf(Deno.pid, `fd/${fd}`);
  const identity = identityOf(fd);
  closeDescriptor(fd);
  return path === null || identity === null ? null : { path, identity };
}

/** Opens it with `O_PATH`: a descriptor, or minus the error number. */
export function openBehind(tid: number, name: string): number {
  return openAt(AT_FDCWD, toByteString(`/proc/${tid}/${name}`), O_PATH);
}

/** Device, inode and birth time as one text. Null when they cannot be told. */
export function identityOf(fd: number): string | null {
  const stat = statFd(fd);
  return typeof stat === "number" ? null : stat.identity;
}

// ---------------------------------------------------------------- files as the thread sees them

const SYS_OPENAT2 = 437n;
const O_CLOEXEC = 0o2000000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_IN_ROOT = 0x10;
const OPEN_HOW_BYTES = 24;

/** What a path means to a thread: a file, certainly nothing, or we cannot tell. */
export type SeenFile =
  | { readonly type: "file"; readonly identity: string; readonly isProgram: boolean }
  | { readonly type: "missing" }
  | { readonly type: "unknown" };

/** Each process that asks finds its own files there. */
const OWN_PLACES = /^\/+(?:proc|dev)(?:\/|$)/;

const pathFunctions = libcFunctions({
  /** `openat2`, on another thread. Buffers belong to the call. */
  openat2: {
    name: "syscall",
    parameters: ["i64", "i32", "buffer", "buffer", "usize"],
    result: "i32",
    nonblocking: true,
  },
});

/**
 * Looks at an absolute path, which may contain links, from a thread's root directory. On another thread, since the path
 * may lead to a mount that does not answer.
 */
export async function findFileSeenBy(tid: number, path: ByteString): Promise<SeenFile> {
  if (OWN_PLACES.test(path)) return { type: "unknown" };
  openedAndClosed(await openSeenBy(tid, path));
  // The other thread has got an answer, so the same call is quick here too. And here it gives a reason.
  return fileSeenBy(tid, path);
}

/**
 * Opens with `O_PATH` what a path leads to for a thread, in the same way. What only the thread itself finds, as below
 * `/proc/self`, is not found. A descriptor, or negative.
 */
export async function openSeenBy(tid: number, path: ByteString): Promise<number> {
  const root = openAt(AT_FDCWD, toByteString(`/proc/${tid}/root`), O_PATH | O_DIRECTORY);
  if (root < 0) return root;
  const name = cPath(path);
  const how = openHow.slice();
  new DataView(how.buffer).setUint32(0, (O_PATH | O_CLOEXEC) >>> 0, true);
  const size = BigInt(OPEN_HOW_BYTES);
  const fd = await whilePinned([name, how], () => pathFunctions().openat2(SYS_OPENAT2, root, name, how, size));
  closeDescriptor(root);
  return fd;
}

/** The same on this thread, for a place that has answered before. */
export function fileSeenBy(tid: number, path: ByteString): SeenFile {
  if (OWN_PLACES.test(path)) return { type: "unknown" };
  const root = openAt(AT_FDCWD, toByteString(`/proc/${tid}/root`), O_PATH | O_DIRECTORY);
  if (root < 0) return { type: "unknown" };
  try {
    const fd = openInRoot(root, path, O_PATH);
    // A link that leads nowhere for us may lead somewhere for the thread, below its own /proc. So a link never counts
    // as missing.
    const isMissing = (fd === -ENOENT || fd === -ENOTDIR) &&
      openedAndClosed(openInRoot(root, path, O_PATH | O_NOFOLLOW)) < 0;
    if (fd < 0) return { type: isMissing ? "missing" : "unknown" };
    const stat = statFd(fd);
    closeDescriptor(fd);
    if (typeof stat === "number") return { type: "unknown" };
    return { type: "file", identity: stat.identity, isProgram: stat.type === S_IFREG && (stat.mode & 0o111) !== 0 };
  } finally {
    closeDescriptor(root);
  }
}

const openHow = allocate(OPEN_HOW_BYTES);
const openHowView = new DataView(openHow.buffer);
openHowView.setUint32(16, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, true);

/** A descriptor, or minus the error number. */
function openInRoot(root: number, path: ByteString, flags: number): number {
  const name = cPath(path);
  openHowView.setUint32(0, (flags | O_CLOEXEC) >>> 0, true);
  return settle(() => fileSymbols().syscall(SYS_OPENAT2, root, name, openHow, BigInt(OPEN_HOW_BYTES)));
}

/** One of its own for each call: some are made on other threads. */
function cPath(path: ByteString): CBuffer {
  const name = allocate(path.length + 1);
  writeCString(path, name);
  return name;
}

function openedAndClosed(fd: number): number {
  if (fd >= 0) closeDescriptor(fd);
  return fd;
}
