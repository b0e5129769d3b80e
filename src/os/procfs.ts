/**
 * What `/proc` says about processes.
 *
 * Read through the C library: the runtime's own file functions ask for every permission there is before they open
 * anything below `/proc`. Every answer is a moment's picture; a process that is gone is null or left out.
 */

import { closeDescriptor, O_RDONLY, openPath, readInto } from "./descriptor.ts";
import { allocate, type CBuffer, cString, libc } from "./libc.ts";

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

/** Every process that can be seen. The youngest are looked at first: they are the likeliest to be gone in a moment. */
export function listProcesses(): ProcessStat[] {
  const found: ProcessStat[] = [];
  for (const pid of listPids().reverse()) {
    const stat = readStat(pid);
    if (stat !== null) found.push(stat);
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
  const fd = openPath("/proc/self/maps", O_RDONLY);
  if (fd < 0) return [];
  let text = "";
  for (let count = readInto(fd, fileBuffer); count > 0; count = readInto(fd, fileBuffer)) {
    text += decoder.decode(fileBuffer.subarray(0, count));
  }
  closeDescriptor(fd);
  const paths = text.split("\n").map((line) => line.indexOf("/") === -1 ? "" : line.slice(line.indexOf("/")));
  return [...new Set(paths.filter((path) => path !== ""))];
}

/** Numbers of our own open descriptors, among them the one used for looking. */
export function listOwnDescriptors(): number[] {
  return listNumbers("/proc/self/fd");
}

/** What one of our own descriptors is open on: a path, or `socket:[…]` and the like. Null when it is closed. */
export function readDescriptorLink(fd: number): string | null {
  const length = libc().readlink(cString(`/proc/self/fd/${fd}`), fileBuffer, BigInt(fileBuffer.length));
  return length < 0 ? null : decoder.decode(fileBuffer.subarray(0, length));
}

function listPids(): number[] {
  return listNumbers("/proc");
}

function listNumbers(path: string): number[] {
  const fd = openPath(path, O_RDONLY);
  if (fd < 0) return [];
  const numbers: number[] = [];
  const buffer = allocate(DIRECTORY_BYTES);
  const view = new DataView(buffer.buffer);
  try {
    for (;;) {
      const count = libc().getdents64(fd, buffer, BigInt(DIRECTORY_BYTES));
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

function readText(path: string): string | null {
  const fd = openPath(path, O_RDONLY);
  if (fd < 0) return null;
  // One read: the kernel makes these files up as a whole, and a second read could describe another moment.
  const count = readInto(fd, fileBuffer);
  closeDescriptor(fd);
  return count > 0 ? decoder.decode(fileBuffer.subarray(0, count)) : null;
}
