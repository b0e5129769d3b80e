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
import { hasChildren } from "../../os/children/procfs.ts";
import { concatBytes } from "../../bytes.ts";
import { setNonblocking } from "../../os/descriptor.ts";
import { FdReader } from "../../os/loop/fd_reader.ts";
import type { Reactor } from "../../os/loop/reactor.ts";

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
