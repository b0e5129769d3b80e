/**
 * Control groups of our own (cgroup v2), in which all our children and their descendants live. A whole group can be
 * frozen, however fast its processes fork.
 *
 * A child starts in the group of this process. So this process moves into its own group before the first child, and
 * starting a child costs nothing more. To freeze the children, this process moves on to a new group and lets the kernel
 * freeze the groups it left. A process born into a frozen group is frozen too. So a look at all processes finds
 * everything there, and a kill reaches it. Where no group may be created (an ordinary user without a delegated one,
 * most containers) none of this is available.
 *
 * The groups lie below the one this process was started in. They have no controllers, so they change no share of CPU or
 * memory.
 */

import { closeDescriptor, O_RDONLY, openDescriptor, readInto, writeFrom } from "../descriptor.ts";
import { allocate, cString, libcFunctions, whilePinned } from "../libc.ts";
import { readRecords } from "./procfs.ts";
import { readMountTable } from "../files/mount_table.ts";

/** A table of its own: the forty file functions take 7 ms to load, and the first child waits for this. */
const cgroupFunctions = libcFunctions({
  mkdir: { parameters: ["buffer", "u32"], result: "i32" },
  rmdir: { parameters: ["buffer"], result: "i32" },
  /** On another thread: the buffer belongs to the call until its promise resolves. */
  writeOnPool: { name: "write", parameters: ["i32", "buffer", "usize"], result: "i32", nonblocking: true },
});

const O_WRONLY = 1;

const NAME_PREFIX = "exec-server-";

/** A server in another pid namespace may mistake a group that is still empty for one left behind. */
const MAX_ATTEMPTS = 3;

/** Freezing takes about a millisecond. A process that takes longer waits in the kernel, and does not fork meanwhile. */
const FREEZE_LIMIT_MS = 100;

export class ChildCgroup {
  /** Where this process was. */
  readonly home: string;
  /** Contains all our groups and no other processes. */
  readonly top: string;
  /** By their numbers. This process is in the last; earlier ones are kept as long as they have processes. */
  #generations: number[] = [];
  #lastGeneration = 0;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(home: string, top: string) {
    this.home = home;
    this.top = top;
  }

  /** Makes one and moves this process into it. Null where that is not possible. */
  static async make(): Promise<ChildCgroup | null> {
    const home = ownCgroup();
    if (home === null) return null;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      // Not at first: there may be many, and the first child waits for this.
      if (attempt > 1) removeLeftBehind(home);
      const chance = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36);
      const group = new ChildCgroup(home, `${home}/${NAME_PREFIX}${Deno.pid}-${chance}`);
      // The groups left behind may use up what is allowed. The next attempt removes them first.
      if (!makeDirectory(group.top)) continue;
      if (canFreeze(group.top) && await group.#moveOn()) return group;
      removeDirectory(group.top);
    }
    return null;
  }

  /**
   * Runs `work`, which must not wait for anything, while no descendant of our children runs, except children started at
   * this very moment. False, and nothing was done, where that is not possible.
   */
  standStill(work: () => void): Promise<boolean> {
    const result = this.#turn.then(() => this.#standStill(work));
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Removes groups of servers that were killed together with their guards. */
  tidyUp(): void {
    removeLeftBehind(this.home);
  }

  /** Moves this process back to where it was. Groups that still have processes stay behind. */
  leave(): void {
    if (!write(`${this.home}/cgroup.procs`, "0")) return;
    this.#removeEmpty(this.#generations);
    removeDirectory(this.top);
  }

  async #standStill(work: () => void): Promise<boolean> {
    const left = [...this.#generations];
    let hasMoved = false;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && !hasMoved; attempt++) hasMoved = await this.#moveOn();
    if (!hasMoved) return false;
    try {
      for (const generation of left) write(`${this.#path(generation)}/cgroup.freeze`, "1");
      const deadline = performance.now() + FREEZE_LIMIT_MS;
      while (!left.every((generation) => isFrozen(this.#path(generation))) && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      work();
    } finally {
      for (const generation of left) write(`${this.#path(generation)}/cgroup.freeze`, "0");
      this.#removeEmpty(left);
    }
    return true;
  }

  /** Into a new group. On another thread: the first move of a process waits some milliseconds for the kernel. */
  async #moveOn(): Promise<boolean> {
    const generation = this.#lastGeneration + 1;
    const path = this.#path(generation);
    if (!makeDirectory(path)) return false;
    const procs = openDescriptor(`${path}/cgroup.procs`, O_WRONLY);
    if (procs >= 0) {
      const zero = cString("0");
      const count = await whilePinned([zero], () => cgroupFunctions().writeOnPool(procs, zero, 1n));
      closeDescriptor(procs);
      if (count > 0) {
        this.#lastGeneration = generation;
        this.#generations.push(generation);
        return true;
      }
    }
    removeDirectory(path);
    return false;
  }

  #removeEmpty(generations: readonly number[]): void {
    const removed = new Set(generations.filter((generation) => removeDirectory(this.#path(generation))));
    this.#generations = this.#generations.filter((generation) => !removed.has(generation));
  }

  #path(generation: number): string {
    return `${this.top}/${generation}`;
  }
}

let users = 0;
let current: Promise<ChildCgroup | null> | null = null;

/** The group of this process, made for the first caller. Each call must be followed by `leaveChildCgroup`. */
export async function joinChildCgroup(): Promise<ChildCgroup | null> {
  users++;
  return await (current ??= ChildCgroup.make());
}

/** When the last user leaves, this process moves out of the group. */
export async function leaveChildCgroup(): Promise<void> {
  if (--users > 0) return;
  const leaving = await current;
  // Another part of the program may have joined meanwhile.
  if (users > 0) return;
  current = null;
  leaving?.leave();
}

/** The directory of this process's group; null where no cgroup v2 is visible. */
function ownCgroup(): string | null {
  const path = /^0::(\/.*)$/m.exec(readText("/proc/self/cgroup") ?? "")?.[1];
  const mount = readMountTable(Deno.pid)?.find(({ type }) => type === "cgroup2");
  if (path === undefined || mount === undefined) return null;
  // Perhaps only a part of the tree is mounted. Then the path begins with the root of that part.
  const { root, point } = mount;
  const below = root === "/" ? path : path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : null;
  return below === null || below.includes("/..") ? null : `${point}${below === "/" ? "" : below}`;
}

/** Whether the kernel can freeze groups, and this group holds whole processes. */
function canFreeze(group: string): boolean {
  return readText(`${group}/cgroup.freeze`) !== null && readText(`${group}/cgroup.type`)?.trim() === "domain";
}

function isFrozen(group: string): boolean {
  return /^frozen 1$/m.test(readText(`${group}/cgroup.events`) ?? "frozen 1");
}

/**
 * Removes groups of servers that ended without a chance to do so. A group in use cannot be removed. But a group that a
 * living server has just made is empty for a moment, so groups of living processes are left alone.
 */
function removeLeftBehind(home: string): void {
  for (const name of directoriesIn(home)) {
    if (!name.startsWith(NAME_PREFIX)) continue;
    const pid = parseInt(name.slice(NAME_PREFIX.length));
    if (readText(`/proc/${pid}/stat`) !== null) continue;
    for (const generation of directoriesIn(`${home}/${name}`)) removeDirectory(`${home}/${name}/${generation}`);
    removeDirectory(`${home}/${name}`);
  }
}

// `struct linux_dirent64`: where a record has its length, its type and its name.
const RECORD_LENGTH = 16;
const RECORD_TYPE = 18;
const RECORD_NAME = 19;
const DT_DIR = 4;

/**
 * Names of directories in a directory; none when it cannot be listed. The runtime would need every permission for this.
 */
function directoriesIn(directory: string): string[] {
  const fd = openDescriptor(directory, O_RDONLY);
  if (fd < 0) return [];
  const names: string[] = [];
  const view = new DataView(buffer.buffer);
  for (let count = readRecords(fd, buffer); count > 0; count = readRecords(fd, buffer)) {
    for (let at = 0; at < count; at += view.getUint16(at + RECORD_LENGTH, true)) {
      const name = buffer.subarray(at + RECORD_NAME, buffer.indexOf(0, at + RECORD_NAME));
      if (buffer[at + RECORD_TYPE] !== DT_DIR) continue;
      const text = new TextDecoder().decode(name);
      if (text !== "." && text !== "..") names.push(text);
    }
  }
  closeDescriptor(fd);
  return names;
}

const buffer = allocate(16 * 1024);

function readText(path: string): string | null {
  const fd = openDescriptor(path, O_RDONLY);
  if (fd < 0) return null;
  const count = readInto(fd, buffer);
  closeDescriptor(fd);
  return count < 0 ? null : new TextDecoder().decode(buffer.subarray(0, count));
}

function write(path: string, text: string): boolean {
  const fd = openDescriptor(path, O_WRONLY);
  if (fd < 0) return false;
  // Without the NUL at its end.
  const count = writeFrom(fd, cString(text).subarray(0, text.length));
  closeDescriptor(fd);
  return count > 0;
}

function makeDirectory(path: string): boolean {
  return cgroupFunctions().mkdir(cString(path), 0o755) === 0;
}

function removeDirectory(path: string): boolean {
  return cgroupFunctions().rmdir(cString(path)) === 0;
}
