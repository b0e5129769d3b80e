/**
 * What `/proc` says about processes.
 *
 * Read through the C library: the runtime's file functions need every permission to open anything below `/proc`. Every
 * answer is a snapshot; a process that is gone is null or left out.
 */

import { concatBytes } from "../../bytes.ts";
import { closeDescriptor, O_RDONLY, openDescriptor, readInto } from "../descriptor.ts";
import { allocate, type CBuffer, cString, libc, libcFunctions } from "../libc.ts";

/** More than any `stat` or `limits` file has. */
const FILE_BYTES = 8 * 1024;
const DIRECTORY_BYTES = 32 * 1024;

// Of `struct linux_dirent64`.
const RECORD_LENGTH = 16;
const RECORD_NAME = 19;

export interface ProcessStat {
  readonly pid: number;
  /** One letter: R S D T t Z X I. */
  readonly state: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  /** Clock ticks after boot: with the pid it identifies a process. */
  readonly startTime: number;
}

const fileBuffer: CBuffer = allocate(FILE_BYTES);
const decoder = new TextDecoder("latin1");

/** How often a look at all processes is completed. Somebody could start new ones faster than they can be read. */
const MAX_COMPLETIONS = 3;

/**
 * All visible processes. The youngest are looked at first: they are the likeliest to disappear. If one has, what it had
 * just started is not in the list, and is looked for.
 */
export function listProcesses(): ProcessStat[] {
  const found: ProcessStat[] = [];
  const looked = new Set<number>();
  for (let look = 0, hasLost = true; hasLost && look <= MAX_COMPLETIONS; look++) {
    hasLost = false;
    for (const pid of listPids().reverse()) {
      if (looked.has(pid)) continue;
      looked.add(pid);
      const stat = readStat(pid);
      if (stat === null) hasLost = true;
      else found.push(stat);
    }
  }
  return found;
}

export function readStat(pid: number): ProcessStat | null {
  const text = readText(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The program's name comes second, in parentheses, and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    state: fields[0] ?? "",
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    sid: Number(fields[3]),
    startTime: Number(fields[19]),
  };
}

/** Children of a process whose only thread this is, ended ones included; null where nobody keeps such a list. */
export type ListChildren = (pid: number) => number[] | null;

/** The kernel's own list. Not every kernel has it (`CONFIG_PROC_CHILDREN`), and nobody has one of a process that is gone. */
export const listChildren: ListChildren = (pid) => {
  const path = `/proc/${pid}/task/${pid}/children`;
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return null;
  closeDescriptor(fd);
  return readWholeText(path).split(" ").filter((word) => word !== "").map(Number);
};

/** The same by a look at all processes, which takes far longer. Null if some of them changed their places meanwhile. */
function findChildren(pid: number): number[] | null {
  for (let look = 0; look <= MAX_COMPLETIONS; look++) {
    const processes = listProcesses();
    const children = processes.filter(({ ppid }) => ppid === pid);
    if (children.length > 0) return children.map((child) => child.pid);
    const seen = new Set(processes.map((process) => process.pid));
    // A process whose parent has just ended gets a new parent. That may be this process.
    const isSettled = processes.every((process) =>
      seen.has(process.ppid) || readStat(process.pid)?.ppid === process.ppid
    );
    if (isSettled) return [];
  }
  return null;
}

/** The child of a process that has exactly one, and one thread; null otherwise. */
export function onlyChildOf(pid: number, list: ListChildren = listChildren): number | null {
  const [child, ...others] = list(pid) ?? findChildren(pid) ?? [];
  return child === undefined || others.length > 0 ? null : child;
}

/**
 * Whether a process that has one thread has children, ended ones included. False when it is gone itself; true where
 * nobody can tell.
 */
export function hasChildren(pid: number, list: ListChildren = listChildren): boolean {
  const listed = list(pid);
  if (listed !== null) return listed.length > 0;
  // One that is gone has no list either, and needs no look at everything: that takes longer than most commands.
  if (readStat(pid) === null) return false;
  const found = findChildren(pid);
  return found === null ? readStat(pid) !== null : found.length > 0;
}

/**
 * All orphans that we have adopted, also those that have ended, among other children of ours. The kernel gives orphans
 * to our first thread, and adds them at the end: none is missed. Null where it keeps no such list.
 */
export function listAdopted(): number[] | null {
  return listChildren(Deno.pid);
}

/** A soft limit of another process by its name in `/proc/<pid>/limits`; null when unlimited, unknown or gone. */
export function readSoftLimit(pid: number, name: string): bigint | null {
  const text = readText(`/proc/${pid}/limits`);
  if (text === null) return null;
  const line = text.split("\n").find((line) => line.startsWith(name));
  const soft = line?.slice(name.length).trimStart().split(/\s/, 1)[0];
  return soft !== undefined && /^\d+$/.test(soft) ? BigInt(soft) : null;
}

/** Files that are mapped into our own memory: the program itself, libraries, and whatever else it has mapped. */
export function listMappedFiles(): string[] {
  const paths = readWholeText("/proc/self/maps").split("\n").map((line) =>
    line.indexOf("/") === -1 ? "" : line.slice(line.indexOf("/"))
  );
  return [...new Set(paths.filter((path) => path !== ""))];
}

/** Numbers of our own open descriptors, including the one used for looking. */
export function listOwnDescriptors(): number[] {
  return listNumbers("/proc/self/fd");
}

/** What one of our own descriptors is open on: a path, or `socket:[…]` and the like. Null when it is closed. */
export function readDescriptorLink(fd: number): string | null {
  return readLink(`/proc/self/fd/${fd}`);
}

/** What a link below `/proc` leads to. Null when it is gone, or somebody else's. */
export function readLink(path: string): string | null {
  const length = libc().readlink(cString(path), fileBuffer, BigInt(fileBuffer.length));
  return length < 0 ? null : decoder.decode(fileBuffer.subarray(0, length));
}

function listPids(): number[] {
  return listNumbers("/proc");
}

/** Entries of a directory whose names are numbers. None of one that cannot be opened. */
export function listNumbers(path: string): number[] {
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return [];
  const numbers: number[] = [];
  const buffer = allocate(DIRECTORY_BYTES);
  const view = new DataView(buffer.buffer);
  try {
    for (;;) {
      const count = readRecords(fd, buffer);
      if (count <= 0) return numbers;
      for (let offset = 0; offset < count; offset += view.getUint16(offset + RECORD_LENGTH, true)) {
        const number = parseNumber(buffer, offset + RECORD_NAME);
        if (number !== null) numbers.push(number);
      }
    }
  } finally {
    closeDescriptor(fd);
  }
}

const directoryFunctions = libcFunctions({
  /** Raw directory records, as many whole ones as fit. */
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "i32" },
});

/** Bytes of raw directory records: as many whole ones as fit. Not positive at the end. */
export function readRecords(fd: number, into: CBuffer): number {
  return directoryFunctions().getdents64(fd, into, BigInt(into.length));
}

/** The NUL-terminated decimal number at `offset`, or null for any other name. */
function parseNumber(buffer: CBuffer, offset: number): number | null {
  let number = 0;
  for (let index = offset; index < buffer.length; index++) {
    const byte = buffer[index]!;
    if (byte === 0) return index > offset ? number : null;
    if (byte < 0x30 || byte > 0x39) return null;
    number = number * 10 + (byte - 0x30);
  }
  return null;
}

/** A field of our own `/proc/self/status`, such as `CapEff`; null when it cannot be read. */
export function readOwnStatus(field: string): string | null {
  const line = readText("/proc/self/status")?.split("\n").find((line) => line.startsWith(`${field}:`));
  return line?.slice(field.length + 1).trim() ?? null;
}

/** A setting of the kernel, such as `user.max_user_namespaces`; null where there is no such thing. */
export function readSysctl(name: string): string | null {
  return readText(`/proc/sys/${name.replaceAll(".", "/")}`)?.trim() ?? null;
}

/** The mapping of user ids that holds for this process (`uid_map`); null when it cannot be read. */
export function readUidMap(): string | null {
  return readText("/proc/self/uid_map");
}

/** A table of any length, which may change while it is read. Empty when it cannot be read. */
export function readWholeText(path: string): string {
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return "";
  let text = "";
  for (let count = readInto(fd, fileBuffer); count > 0; count = readInto(fd, fileBuffer)) {
    text += decoder.decode(fileBuffer.subarray(0, count));
  }
  closeDescriptor(fd);
  return text;
}

/** The bytes of a file of any length. Empty when it cannot be read. */
export function readWholeBytes(path: string): Uint8Array<ArrayBuffer> {
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return new Uint8Array(0);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let count = readInto(fd, fileBuffer); count > 0; count = readInto(fd, fileBuffer)) {
    parts.push(fileBuffer.slice(0, count));
  }
  closeDescriptor(fd);
  return concatBytes(parts);
}

/** A short file. Null when it cannot be read. */
export function readText(path: string): string | null {
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return null;
  // One read: the kernel creates these files as a whole, and a second read could describe another moment.
  const count = readInto(fd, fileBuffer);
  closeDescriptor(fd);
  return count > 0 ? decoder.decode(fileBuffer.subarray(0, count)) : null;
}
