/**
 * How a confined command ended, as told by the stub that stays behind as its parent.
 *
 * It tells exactly, where a wrapper only passes on a number, and it tells before the sandbox is taken down, for which
 * the kernel takes longer than most commands take to run.
 *
 * A program inside could find the stub's pipe and write to it. So it is believed how the command ended, which only the
 * command's own caller would be deceived about. That nothing is left is looked up as well.
 */

import { parseEndReport } from "../../launch/stub/launch_stub.ts";
import { END_REPORT_BYTES } from "../../launch/stub/machine_code.ts";
import type { ChildStatus } from "../../os/children/child_reaping.ts";
import {
  hasChildren,
  listNumbersIn,
  listProcesses,
  readDescriptorLink,
  readLink,
  readStat,
} from "../../os/children/procfs.ts";
import { concatBytes } from "../../bytes.ts";
import { setNonblocking } from "../../os/descriptor.ts";
import { FdReader } from "../../os/loop/fd_reader.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { isLiving } from "./tree_snapshot.ts";

/** Several times what is told. */
const MAX_TOLD_BYTES = 64;

export class ToldEnd {
  readonly #reader: FdReader;
  readonly #tellerPid: number | null;
  #told: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #onEnded: ((status: ChildStatus) => void) | null = null;

  /**
   * Takes over the pipe, whose other end the teller has. All processes of the command are below the teller. If its
   * number is not known, nothing is believed but how the command ended.
   */
  constructor(reactor: Reactor, pipe: number, tellerPid: number | null) {
    this.#tellerPid = tellerPid;
    setNonblocking(pipe);
    this.#reader = new FdReader(reactor, pipe, {
      maxChunkBytes: MAX_TOLD_BYTES,
      onBytes: (bytes) => this.#add(bytes),
      onEnd: () => {},
    });
  }

  /** Calls `onEnded` at most once: not if the teller was ended before it could tell. */
  begin(onEnded: (status: ChildStatus) => void): void {
    this.#onEnded = onEnded;
    this.#reader.resume();
  }

  /** Takes what was told by now. */
  look(): void {
    this.#reader.readAvailable();
  }

  /** Whether the command has ended, and nothing is left of what it started. */
  leavesNothing(): boolean {
    this.look();
    const report = parseEndReport(this.#told);
    if (report === null) return false;
    const isEmptied = !report.leavesOthers || this.#told.length > END_REPORT_BYTES;
    return isEmptied && this.#tellerPid !== null && !hasChildren(this.#tellerPid);
  }

  /**
   * Whether the command has left something behind that can still write to these pipes. A wrapper has them open as long as
   * anything runs, so they have no end that says so.
   */
  leavesWriters(readEnds: readonly number[]): boolean {
    const teller = this.#tellerPid;
    if (teller === null) return true;
    const pipes = new Set(readEnds.map(readDescriptorLink));
    const processes = listProcesses();
    const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]));
    return processes.some((process) => {
      if (!isLiving(process) || !isBelow(process.pid, teller, parents)) return false;
      const fds = listNumbersIn(`/proc/${process.pid}/fd`);
      // One that cannot be looked into may have them.
      return fds === null || fds.some((fd) => pipes.has(readLink(`/proc/${process.pid}/fd/${fd}`)));
    });
  }

  close(): void {
    this.#onEnded = null;
    this.#reader.close();
  }

  #add(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#told.length >= MAX_TOLD_BYTES) return;
    this.#told = concatBytes([this.#told, bytes]);
    const report = parseEndReport(this.#told);
    const onEnded = this.#onEnded;
    if (report === null || onEnded === null) return;
    this.#onEnded = null;
    onEnded(report.end);
  }
}

/**
 * Whether a process descends from another, by what was seen of everybody's parents. If a parent ended during that look,
 * its children have another one by now. True when it cannot be found out.
 */
export function isBelow(
  pid: number,
  ancestor: number,
  parents: Map<number, number>,
  parentNow: (pid: number) => number | undefined = (pid) => readStat(pid)?.ppid,
): boolean {
  let child = pid;
  // If numbers reused during the look form a circle, the climb ends all the same.
  for (let steps = 0; steps <= 2 * parents.size; steps++) {
    const parent = parents.get(child)!;
    if (parent === ancestor) return true;
    if (parent <= 1) return false;
    if (parents.has(parent)) child = parent;
    else {
      const adopter = parentNow(child);
      if (adopter === undefined) return true;
      // It still has that one: a process that we are not shown, and so none of a sandbox of ours.
      if (adopter === parent) return false;
      parents.set(child, adopter);
    }
  }
  return true;
}
