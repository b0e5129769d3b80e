/** What the kernel knows about a file, by `statx`: the same layout on every architecture, and it has the birth time. */

import { type ByteString, writeCString } from "./byte_string.ts";
import { ENAMETOOLONG, ENOSYS } from "../errno.ts";
import { AT_SYMLINK_NOFOLLOW } from "./file_calls.ts";
import { fileSymbols, firstPath, settle } from "./file_symbols.ts";
import { allocate, type CBuffer } from "../libc.ts";

const AT_EMPTY_PATH = 0x1000;
const emptyPath = allocate(1);

export const S_IFMT = 0o170000;
export const S_IFCHR = 0o020000;
export const S_IFDIR = 0o040000;
export const S_IFREG = 0o100000;
export const S_IFLNK = 0o120000;

export interface FileStat {
  /** One of the `S_IF` values. */
  readonly type: number;
  /** Permission, set-id and sticky bits. */
  readonly mode: number;
  readonly size: number;
  readonly links: number;
  readonly uid: number;
  readonly gid: number;
  /**
   * Identifies a file: device, inode and birth time, since a new file often gets the inode number of a deleted one. On
   * a filesystem without birth times only device and inode count.
   */
  readonly identity: string;
  /** The inode number, in decimal: all 64 bits are used by some filesystems. */
  readonly inode: string;
  /** Changes with every change of content or attributes that the kernel's clock can tell apart. */
  readonly version: string;
  readonly modifiedAtMs: number;
  /** 0 when the filesystem does not record it. */
  readonly createdAtMs: number;
}

const STATX_BASIC_STATS_AND_BTIME = 0xfff;
const STATX_BTIME = 0x800;
const statBytes = allocate(256);
const statView = new DataView(statBytes.buffer);

/** Describes the link itself with `AT_SYMLINK_NOFOLLOW`, otherwise what it leads to. */
export function statAt(directory: number, path: ByteString, flags = 0): FileStat | number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { statx } = fileSymbols();
  const failure = settle(() => statx(directory, firstPath, flags, STATX_BASIC_STATS_AND_BTIME, statBytes));
  return failure < 0 ? failure : new Statx();
}

export function statFd(fd: number): FileStat | number {
  const { statx } = fileSymbols();
  const failure = settle(() => statx(fd, emptyPath, AT_EMPTY_PATH, STATX_BASIC_STATS_AND_BTIME, statBytes));
  return failure < 0 ? failure : new Statx();
}

const STATX_MNT_ID = 0x1000;
const STATX_ATTR_MOUNT_ROOT = 0x2000;

export interface MountedStat extends FileStat {
  /** The mount it was reached through, by its number in the mount table. */
  readonly mountId: number;
  /** Whether it is the root of that mount. */
  readonly isMountRoot: boolean;
}

/**
 * Describes what a name in a directory leads to, on top of all mounts there. A link is not followed. ENOSYS before
 * Linux 5.8.
 */
export function statMountedAt(directory: number, name: ByteString): MountedStat | number {
  if (!writeCString(name, firstPath)) return -ENAMETOOLONG;
  return statMounted(directory, firstPath, AT_SYMLINK_NOFOLLOW);
}

/** The same for an open file, also for one that was opened with `O_PATH`. */
export function statMountedFd(fd: number): MountedStat | number {
  return statMounted(fd, emptyPath, AT_EMPTY_PATH);
}

function statMounted(directory: number, path: CBuffer, flags: number): MountedStat | number {
  const { statx } = fileSymbols();
  const mask = STATX_BASIC_STATS_AND_BTIME | STATX_MNT_ID;
  const failure = settle(() => statx(directory, path, flags, mask, statBytes));
  if (failure < 0) return failure;
  if ((statView.getUint32(0, true) & STATX_MNT_ID) === 0) return -ENOSYS;
  return Object.assign(new Statx(), {
    mountId: readUint64(144),
    isMountRoot: (statView.getUint32(8, true) & STATX_ATTR_MOUNT_ROOT) !== 0,
  });
}

/** A `struct statfs` with room to spare: it is 120 bytes long, and begins with the type. */
const filesystemBytes = allocate(256);
const filesystemView = new DataView(filesystemBytes.buffer);

/** What `statfs` calls the type of the filesystem that a path leads to, or minus the error number. */
export function filesystemTypeOf(path: ByteString): number {
  if (!writeCString(path, firstPath)) return -ENAMETOOLONG;
  const { statfs } = fileSymbols();
  const failure = settle(() => statfs(firstPath, filesystemBytes));
  return failure < 0 ? failure : filesystemView.getUint32(0, true);
}

/** The same for an open file, also for one that was opened with `O_PATH`. */
export function filesystemTypeOfFd(fd: number): number {
  const { fstatfs } = fileSymbols();
  const failure = settle(() => fstatfs(fd, filesystemBytes));
  return failure < 0 ? failure : filesystemView.getUint32(0, true);
}

/** Copies what is cheap out of `struct statx` at once, and composes the rest only when asked. */
class Statx implements FileStat {
  readonly type: number;
  readonly mode: number;
  readonly links = statView.getUint32(16, true);
  readonly uid = statView.getUint32(20, true);
  readonly gid = statView.getUint32(24, true);
  readonly size = readUint64(40);
  readonly modifiedAtMs = readMs(112);
  readonly createdAtMs: number;
  readonly #inodeLow = statView.getUint32(32, true);
  readonly #inodeHigh = statView.getUint32(36, true);
  readonly #deviceMajor = statView.getUint32(136, true);
  readonly #deviceMinor = statView.getUint32(140, true);
  readonly #bornSeconds: number;
  readonly #bornNanoseconds: number;
  readonly #changedSeconds = statView.getUint32(96, true);
  readonly #changedNanoseconds = statView.getUint32(104, true);
  readonly #modifiedNanoseconds = statView.getUint32(120, true);

  constructor() {
    const typeAndMode = statView.getUint16(28, true);
    this.type = typeAndMode & S_IFMT;
    this.mode = typeAndMode & 0o7777;
    const hasBirthTime = (statView.getUint32(0, true) & STATX_BTIME) !== 0;
    this.createdAtMs = hasBirthTime ? readMs(80) : 0;
    this.#bornSeconds = hasBirthTime ? statView.getUint32(80, true) : 0;
    this.#bornNanoseconds = hasBirthTime ? statView.getUint32(88, true) : 0;
  }

  get identity(): string {
    const inode = `${this.#deviceMajor}:${this.#deviceMinor}:${this.#inodeHigh}:${this.#inodeLow}`;
    return `${inode}:${this.#bornSeconds}.${this.#bornNanoseconds}`;
  }

  get inode(): string {
    return ((BigInt(this.#inodeHigh) << 32n) | BigInt(this.#inodeLow)).toString();
  }

  get version(): string {
    const times =
      `${this.#changedSeconds}.${this.#changedNanoseconds}.${this.modifiedAtMs}.${this.#modifiedNanoseconds}`;
    return `${this.identity}:${this.size}:${times}`;
  }
}

function readUint64(offset: number): number {
  return statView.getUint32(offset + 4, true) * 2 ** 32 + statView.getUint32(offset, true);
}

/** Whole milliseconds; what lies before 1970 is 0, as in the reference. */
function readMs(offset: number): number {
  const seconds = statView.getInt32(offset + 4, true) * 2 ** 32 + statView.getUint32(offset, true);
  return Math.max(0, seconds * 1000 + Math.floor(statView.getUint32(offset + 8, true) / 1_000_000));
}
