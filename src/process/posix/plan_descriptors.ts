/**
 * The descriptors of a launch plan, opened: everything a confined child gets besides its input and output.
 *
 * Owns them until `close`. All numbers lie above those they get in the child, as `spawnExactly` needs. If a path is no
 * longer what it was when the plan was made, `PlanOutdatedError` is thrown: make a new plan.
 */

import { internalError, invalidRequest } from "../../errors.ts";
import type { LandlockRuleset } from "../../launch/backends/landlock.ts";
import type { PlannedDescriptor } from "../../launch/launch_plan.ts";
import { toByteString } from "../../os/files/byte_string.ts";
import { closeDescriptor, duplicate, failure, openDescriptor, openPipe, raiseDescriptor } from "../../os/descriptor.ts";
import type { ChildStdio } from "../../os/children/spawn.ts";
import { ELOOP, ENOENT, ENOTDIR } from "../../os/errno.ts";
import { O_PATH, O_WRONLY, openWithoutLinks } from "../../os/files/file_calls.ts";
import { addPathRule, createRuleset } from "../../os/children/landlock.ts";
import { lastErrno, libc } from "../../os/libc.ts";
import { openMemoryFile, openMemoryPair } from "../../os/files/memory_file.ts";
import { openSocketPair } from "../../os/loop/socket_message.ts";

const F_DUPFD_CLOEXEC = 1030;
const FIRST_FD = 3;

/**
 * A policy names some dozens of paths. Children usually may have 1024 descriptors, of which a plan must leave the
 * wrapper enough.
 */
const MAX_DESCRIPTORS = 512;

/** Something the plan names has been moved, removed or replaced since. */
export class PlanOutdatedError extends Error {
  override readonly name = "PlanOutdatedError";

  constructor(path: string) {
    super(`${path} has changed`);
  }
}

/** What we hold the other end of. */
type Message = "report" | "info" | "command" | "end" | "complaint";

export class PlanDescriptors {
  readonly #sources: number[] = [];
  /** Which of them are the command's output: until that is placed, copies of where the child complains. */
  readonly #outputs = new Map<number, "stdout" | "stderr">();
  /** Where the child complains, if that is not where the command writes. */
  #complaints: number | null = null;
  readonly #messages = new Map<Message, number>();
  /** Kept until the end, so that no other file can get the identity of one that was opened. */
  readonly #paths: number[] = [];

  constructor(planned: readonly PlannedDescriptor[]) {
    const inOrder = [...planned].sort((a, b) => a.fd - b.fd);
    if (!inOrder.every(({ fd }, index) => fd === FIRST_FD + index)) throw new Error("a launch plan has gaps");
    if (inOrder.length > MAX_DESCRIPTORS) {
      throw invalidRequest(
        `Cannot confine: the sandbox names ${inOrder.length} paths; ${MAX_DESCRIPTORS} are possible`,
      );
    }
    try {
      for (const descriptor of inOrder) {
        if (descriptor.type === "output") this.#outputs.set(this.#sources.length, descriptor.stream);
        this.#sources.push(moveUp(this.#open(descriptor), FIRST_FD + inOrder.length));
        if (descriptor.type === "path") this.#paths.push(this.#sources.at(-1)!);
      }
    } catch (error) {
      this.closeAll();
      throw error;
    }
  }

  /** For the child's descriptors 3, 4, 5 and so on. */
  get sources(): readonly number[] {
    return this.#sources;
  }

  /** Puts the command's output where the plan wants it. Returns what the child itself gets, for one start. */
  placeOutputs(stdio: ChildStdio): ChildStdio {
    const complaints = this.#complaints;
    if (complaints === null) return stdio;
    if (stdio.type === "terminal") throw new Error("a launch plan with places for output needs pipes");
    for (const [index, stream] of this.#outputs) {
      const output = raiseDescriptor(stdio[stream], FIRST_FD + this.#sources.length);
      closeDescriptor(this.#sources[index]!);
      this.#sources[index] = output;
    }
    return { ...stdio, stdout: complaints, stderr: complaints };
  }

  /**
   * Our ends of what the child will write to, a socket and pipes, and of what its command comes in. The caller takes them
   * over.
   */
  takeMessages(): { report: number } & Record<Exclude<Message, "report">, number | null> {
    const report = this.#messages.get("report");
    const info = this.#messages.get("info") ?? null;
    const command = this.#messages.get("command") ?? null;
    const end = this.#messages.get("end") ?? null;
    const complaint = this.#messages.get("complaint") ?? null;
    if (report === undefined) throw new Error("a launch plan has no report");
    this.#messages.clear();
    return { report, info, command, end, complaint };
  }

  /**
   * To be called as soon as the child has its own copies, so that only the child holds them open. Paths are not closed.
   */
  closeSources(): void {
    for (const fd of this.#sources) if (!this.#paths.includes(fd)) closeDescriptor(fd);
    if (this.#complaints !== null) closeDescriptor(this.#complaints);
    this.#complaints = null;
  }

  closePaths(): void {
    this.#paths.splice(0).forEach(closeDescriptor);
  }

  closeAll(): void {
    this.closeSources();
    this.closePaths();
    this.#messages.forEach(closeDescriptor);
    this.#messages.clear();
  }

  #open(planned: PlannedDescriptor): number {
    switch (planned.type) {
      case "bytes":
        return openMemoryFile(planned.bytes);
      case "path":
        return current(planned.path, openWithoutLinks(toByteString(planned.path), O_PATH));
      case "program":
        // A new one each time: a program that runs from it as user 0 can change its mode, so that nobody could execute
        // it.
        return openMemoryFile(programBytes(planned.path));
      case "given":
        return duplicate(planned.descriptor);
      case "landlock":
        return openRuleset(planned.ruleset);
      case "report": {
        const { ours, theirs } = openSocketPair();
        this.#messages.set(planned.type, ours);
        return theirs;
      }
      case "command": {
        const { readable, writable } = openMemoryPair();
        this.#messages.set(planned.type, writable);
        return readable;
      }
      case "lastPid":
        return openLastPid();
      case "output":
        return duplicate(this.#complaints ??= this.#openPipeFor("complaint"));
      case "end":
      case "info":
        return this.#openPipeFor(planned.type);
    }
  }

  #openPipeFor(message: Message): number {
    const { readEnd, writeEnd } = openPipe();
    this.#messages.set(message, readEnd);
    return writeEnd;
  }
}

/** The kernel asks who may choose numbers when they are written, and not here. */
function openLastPid(): number {
  const file = openDescriptor("/proc/sys/kernel/ns_last_pid", O_WRONLY);
  return file >= 0 ? file : openDescriptor("/dev/null", O_WRONLY);
}

const knownPrograms = new Map<string, { readonly version: string; readonly bytes: Uint8Array<ArrayBuffer> }>();

/** Read again only when the program has been replaced. */
function programBytes(path: string): Uint8Array<ArrayBuffer> {
  const { dev, ino, mtime, size } = Deno.statSync(path);
  const version = [dev, ino, mtime?.getTime(), size].join();
  const known = knownPrograms.get(path);
  if (known?.version === version) return known.bytes;
  const bytes = Deno.readFileSync(path);
  knownPrograms.set(path, { version, bytes });
  return bytes;
}

/** The same open file under a number of at least `lowest`. The old number is closed. */
function moveUp(fd: number, lowest: number): number {
  if (fd >= lowest) return fd;
  const moved = libc().fcntl(fd, F_DUPFD_CLOEXEC, lowest);
  const errno = moved < 0 ? lastErrno() : 0;
  closeDescriptor(fd);
  if (moved < 0) throw failure(errno);
  return moved;
}

function openRuleset({ handledFileAccess, handledNetworkAccess, scoped, rules }: LandlockRuleset): number {
  const ruleset = createRuleset({ files: handledFileAccess, network: handledNetworkAccess, scoped });
  try {
    for (const { path, access } of rules) {
      const added = addPathRule(ruleset, toByteString(path), access);
      // A grant for something that does not exist grants nothing: not every machine has every device.
      if (added !== -ENOENT) current(path, added);
    }
    return ruleset;
  } catch (error) {
    closeDescriptor(ruleset);
    throw error;
  }
}

/** The errors of a path without links that exists, or existed a moment ago. */
function current(path: string, result: number): number {
  if (result >= 0) return result;
  if (result === -ENOENT || result === -ELOOP || result === -ENOTDIR) throw new PlanOutdatedError(path);
  throw internalError(`Cannot confine: ${path} cannot be opened (os error ${-result})`);
}
