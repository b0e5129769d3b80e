/**
 * One child of the posix backend, from its start until its number is released.
 *
 * Owns our ends of its pipes or terminal. A child that has ended stays unreaped until `dispose`. Until then its number
 * cannot be reused, and signals to its group are safe. Starting it, and ending its descendants, is up to the backend.
 */

import type { ChildChannels } from "../../os/children/child_channels.ts";
import { type ChildStatus, reap } from "../../os/children/child_reaping.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { type ExitNoticeOptions, noticeExit } from "../../os/children/exit_notice.ts";
import { FdReader } from "../../os/loop/fd_reader.ts";
import { FdWriter } from "../../os/loop/fd_writer.ts";
import { sendSignal } from "../../os/children/pidfd.ts";
import { listProcesses } from "../../os/children/procfs.ts";
import { foregroundGroup, setTerminalSize } from "../../os/children/pty.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import {
  MAX_OUTPUT_CHUNK_BYTES,
  type NetworkDenial,
  type OutputStream,
  type ProcessObserver,
  type SpawnedProcess,
  type StdinOutcome,
} from "../backend.ts";
import { ownGroupOfCommand } from "./command_group.ts";
import type { DenialRecorder } from "./denial_recorder.ts";
import type { ToldEnd } from "./told_end.ts";
import { SIGKILL } from "../signals.ts";
import { isLiving, type TreeRoot } from "./tree_snapshot.ts";

export interface PosixProcessParts {
  readonly channels: ChildChannels<OutputStream>;
  readonly reactor: Reactor;
  readonly exitNotice: ExitNoticeOptions;
  /** Called for the last time while the number is still the child's. */
  readonly onReaping: () => void;
}

export class PosixProcess implements SpawnedProcess {
  readonly pid: number;
  readonly root: TreeRoot;
  /** Resolves when the child has ended, also after `dispose`. */
  readonly ended: Promise<void>;
  readonly #resolveEnded: () => void;
  /** Resolves when the observer was told that output has ended, or will hear nothing more. */
  readonly toldEnd: Promise<void>;
  readonly #resolveToldEnd: () => void;
  readonly #reactor: Reactor;
  readonly #exitNotice: ExitNoticeOptions;
  /** Null before `begin`, and after `dispose`. */
  #observer: ProcessObserver | null = null;
  #hasBegun = false;
  readonly #onReaping: () => void;
  readonly #readers: readonly FdReader[];
  readonly #writer: FdWriter | null;
  readonly #master: number | null;
  #openReaders: number;
  #readFailure: string | null = null;
  #slave: number | null;
  #endHold: Promise<void> | null = null;
  #told: ToldEnd | null = null;
  #firstInside: number | null = null;
  #hasToldExit = false;
  cleared: Promise<void> | null = null;
  #networkDenials: readonly NetworkDenial[] | null = null;
  #isReading = true;
  isReadToEnd = true;
  #isDisposed = false;
  #life: "running" | "ended" | "reaped" = "running";

  constructor(pid: number, root: TreeRoot, parts: PosixProcessParts) {
    const { channels, reactor } = parts;
    this.pid = pid;
    this.root = root;
    this.#onReaping = parts.onReaping;
    this.#slave = channels.slave;
    this.#master = channels.slave === null ? null : channels.outputs[0]!.fd;
    this.#writer = channels.input === null ? null : new FdWriter(reactor, channels.input);
    this.#openReaders = channels.outputs.length;
    this.#readers = channels.outputs.map(({ stream, fd }) =>
      new FdReader(reactor, fd, {
        maxChunkBytes: MAX_OUTPUT_CHUNK_BYTES,
        onBytes: (bytes) => this.#observer?.output(stream, bytes),
        onEnd: (failure) => this.#readerEnded(failure === null ? null : `${stream}: ${failure}`),
      })
    );
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers<void>());
    ({ promise: this.toldEnd, resolve: this.#resolveToldEnd } = Promise.withResolvers<void>());
    this.#reactor = reactor;
    this.#exitNotice = parts.exitNotice;
  }

  begin(observer: ProcessObserver | null): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#observer = observer;
    // Both report in a later turn of the event loop.
    noticeExit(this.#reactor, this.pid, (status) => this.#exited(status), this.#exitNotice);
    this.#told?.begin((status) => this.#tellExit(status));
    if (this.#isReading) this.resumeOutput();
    else queueMicrotask(() => this.#reportEnd());
  }

  /** Delays the report of the end of output until this: after the report everything is cleaned up. */
  holdEndUntil(cleared: Promise<void>): void {
    this.#endHold = cleared;
  }

  /** The child is a wrapper, and its command's end is told from inside. What is cleared away then is not waited for. */
  endIsToldBy(told: ToldEnd, cleared: Promise<void> | null): void {
    this.#told = told;
    this.cleared = cleared;
  }

  /** The child is a wrapper: its command is the first child of this process, which is the first in the sandbox. */
  wraps(firstPid: number): void {
    this.#firstInside = firstPid;
  }

  leavesNothing(): boolean | null {
    return this.#told?.leavesNothing() ?? null;
  }

  /** Records what this child's sandbox refused. */
  reportDenials({ denials }: DenialRecorder): void {
    this.#networkDenials = denials;
  }

  get networkDenials(): readonly NetworkDenial[] | null {
    return this.#networkDenials;
  }

  get queuedInputBytes(): number {
    return this.#writer?.queuedBytes ?? 0;
  }

  pauseOutput(): void {
    for (const reader of this.#readers) reader.pause();
  }

  resumeOutput(): void {
    if (!this.#hasBegun) return;
    for (const reader of this.#readers) reader.resume();
  }

  stopReading(): void {
    // On a busy machine the caller can be faster than the turn in which the last words would have been read.
    for (const reader of this.#readers) reader.readRest();
    if (!this.#isReading) return;
    this.isReadToEnd = false;
    this.#closeOutput();
    if (this.#hasBegun) queueMicrotask(() => this.#reportEnd());
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome> {
    return this.#writer?.write(bytes) ?? Promise.resolve("closed");
  }

  closeInput(): void {
    if (this.#master === null) this.#writer?.end();
  }

  resize(size: { rows: number; cols: number }): void {
    if (this.#master !== null && this.#isReading) setTerminalSize(this.#master, size);
  }

  signalGroup(signal: number): boolean {
    if (this.#life === "reaped") return false;
    // For the kernel an ended leader alone still counts as a group, but nobody is in it.
    if (this.#life === "ended" && !hasLivingMember(this.pid, this.pid)) return false;
    const inside = this.#firstInside;
    const group = inside === null || this.#life === "ended" ? null : ownGroupOfCommand(this.pid, inside);
    // First the command: the wrapper may end by the signal, and everything inside with it.
    const isHeard = group !== null && sendSignal(-group, signal);
    return sendSignal(-this.pid, signal) || isHeard;
  }

  signalForeground(signal: number): boolean {
    if (this.#master === null || !this.#isReading || this.#life !== "running") return false;
    const group = foregroundGroup(this.#master);
    if (group === null || !hasLivingMember(group.pgid, group.sid)) return false;
    return sendSignal(-group.pgid, signal);
  }

  /** For systems without a readable `/proc`, where the tree finds nothing: this is the best there is. */
  killIfRunning(): void {
    if (this.#life === "running") this.signalGroup(SIGKILL);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    // It is reaped when it ends, even if nobody has begun to hear it.
    this.begin(null);
    this.#observer = null;
    this.#resolveToldEnd();
    this.#networkDenials = null;
    this.#told?.close();
    this.#closeOutput();
    this.#writer?.close();
    this.#releaseSlave();
    // A child that still runs is reaped when it ends.
    if (this.#life === "ended") this.#reap();
  }

  #exited(status: ChildStatus): void {
    // More exact than what a wrapper passes on.
    this.#told?.look();
    this.#readLast();
    this.#releaseSlave();
    this.#life = "ended";
    this.#resolveEnded();
    if (this.#isDisposed) this.#reap();
    else this.#tellExit(status);
  }

  #tellExit(status: ChildStatus): void {
    if (this.#hasToldExit) return;
    this.#hasToldExit = true;
    this.#readLast();
    this.#observer?.exited(status);
  }

  /** What the command itself wrote is in the pipes when it has ended, and is reported first. */
  #readLast(): void {
    for (const reader of this.#readers) reader.readAvailable();
  }

  #reap(): void {
    this.#onReaping();
    this.#life = "reaped";
    reap(this.pid);
  }

  #readerEnded(failure: string | null): void {
    this.#readFailure ??= failure;
    if (--this.#openReaders > 0) return;
    this.#closeOutput();
    this.#reportEnd();
  }

  #reportEnd(): void {
    const report = (): void => {
      this.#resolveToldEnd();
      if (!this.#isDisposed) this.#observer?.outputEnded(this.#readFailure);
    };
    if (this.#endHold === null) report();
    else this.#endHold.finally(report);
  }

  #closeOutput(): void {
    this.#isReading = false;
    for (const reader of this.#readers) reader.close();
    // A terminal has only one life: if nobody reads from it, nothing is typed into it either, and closing it hangs it
    // up.
    if (this.#master !== null) this.#writer?.close();
  }

  #releaseSlave(): void {
    if (this.#slave !== null) closeDescriptor(this.#slave);
    this.#slave = null;
  }
}

function hasLivingMember(pgid: number, sid: number): boolean {
  return listProcesses().some((process) => process.pgid === pgid && process.sid === sid && isLiving(process));
}
