/**
 * The mounts that a process sees, as the kernel lists them in `/proc/<pid>/mountinfo`.
 *
 * It is read in pieces. So it shows one moment only if nothing is mounted meanwhile.
 */

import { closeDescriptor, O_RDONLY, openDescriptor, readInto } from "../descriptor.ts";
import { allocate, libcFunctions } from "../libc.ts";

/** One line of the list. Most is taken out of it only when asked for: a machine may have hundreds of mounts. */
export class MountEntry {
  readonly id: number;
  /** The id of the mount it lies on, which need not be in the list: the root's parent is not. */
  readonly parentId: number;
  /** Which file system, which directory or file of it, and where. A copy in the same place has the same key. */
  readonly key: string;
  readonly isReadOnly: boolean;
  readonly #line: string;

  /** @throws when the line is not as the kernel writes it */
  constructor(line: string) {
    const afterId = line.indexOf(" ");
    const afterParent = line.indexOf(" ", afterId + 1);
    let afterPoint = afterParent;
    for (let field = 0; field < 3; field++) afterPoint = line.indexOf(" ", afterPoint + 1);
    if (afterPoint <= afterParent) throw new Error(`not a line of a mount table: ${line}`);
    this.id = Number(line.slice(0, afterId));
    this.parentId = Number(line.slice(afterId + 1, afterParent));
    this.key = line.slice(afterParent + 1, afterPoint);
    this.isReadOnly = line.startsWith("ro,", afterPoint + 1) || line.startsWith("ro ", afterPoint + 1);
    this.#line = line;
  }

  /** `major:minor` of the file system. */
  get device(): string {
    return this.key.slice(0, this.key.indexOf(" "));
  }

  /** Which directory or file of the file system it begins with. */
  get root(): string {
    return unescaped(this.key.split(" ")[1]!);
  }

  /** Where it lies, as seen from the process's root directory. */
  get point(): string {
    return unescaped(this.key.slice(this.key.lastIndexOf(" ") + 1));
  }

  /** `tmpfs`, `proc` and the like. */
  get type(): string {
    // Any number of fields about propagation come before the dash. They contain no dash of their own.
    return this.#line.slice(this.#line.indexOf(" - ") + 3).split(" ", 1)[0]!;
  }
}

/** Spaces, line ends and backslashes are written as three octal digits. */
function unescaped(path: string): string {
  if (!path.includes("\\")) return path;
  return path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

const pollFunctions = libcFunctions({
  poll: { parameters: ["buffer", "usize", "i32"], result: "i32" },
});

/** The kernel hands out a page at a time, or a little more. */
const buffer = allocate(32 * 1024);

/** Null when it cannot be read, for example because there is no such process. */
export function readMountTable(pid: number): readonly MountEntry[] | null {
  const fd = openDescriptor(`/proc/${pid}/mountinfo`, O_RDONLY);
  if (fd < 0) return null;
  try {
    return readEntries(fd);
  } finally {
    closeDescriptor(fd);
  }
}

function readEntries(fd: number): readonly MountEntry[] | null {
  const decoder = new TextDecoder();
  let text = "";
  let count: number;
  while ((count = readInto(fd, buffer)) > 0) text += decoder.decode(buffer.subarray(0, count), { stream: true });
  if (count < 0 || text === "") return null;
  return text.trimEnd().split("\n").map((line) => new MountEntry(line));
}

/**
 * The mounts that this process sees itself, read again only when the kernel says that they have changed. Holds a
 * descriptor for that from the first look on.
 */
export class OwnMountTable {
  /** A `struct pollfd` that asks for nothing. Only a change is reported, because it counts as an error. */
  readonly #poll = allocate(8);
  #fd: number | null = null;
  #entries: readonly MountEntry[] | null = null;

  /** The same array for as long as nothing has changed. Null when it cannot be read. */
  get entries(): readonly MountEntry[] | null {
    if (this.#entries !== null && pollFunctions().poll(this.#poll, 1n, 0) === 0) return this.#entries;
    if (this.#fd !== null) closeDescriptor(this.#fd);
    const fd = openDescriptor("/proc/self/mountinfo", O_RDONLY);
    this.#fd = fd < 0 ? null : fd;
    new DataView(this.#poll.buffer).setInt32(0, fd, true);
    // Changes count from the opening on: one that is missed while reading shows next time.
    return this.#entries = fd < 0 ? null : readEntries(fd);
  }
}
