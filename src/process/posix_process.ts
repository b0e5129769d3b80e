/**
 * One child of the posix backend, from its start until its number is given back.
 *
 * Owns our ends of its pipes or terminal. A child that has ended stays unreaped until `dispose`: as long as that, its
 * number cannot come to mean somebody else, and signals to its group are safe. Starting it, and ending what it has
 * started, is the backend's.
 */

import type { ChildChannels } from "../os/child_channels.ts";
import { type ChildStatus, reap } from "../os/child_reaping.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import { type ExitWatchOptions, watchExit } from "../os/exit_watch.ts";
import { FdReader } from "../os/fd_reader.ts";
import { FdWriter } from "../os/fd_writer.ts";
import { libc } from "../os/libc.ts";
import { listProcesses } from "../os/procfs.ts";
import { setTerminalSize } from "../os/pty.ts";
import type { Reactor } from "../os/reactor.ts";
import {
  MAX_OUTPUT_CHUNK_BYTES,
  type NetworkDenial,
  type OutputStream,
  type ProcessObserver,
  type SpawnedProcess,
  type StdinOutcome,
} from "./backend.ts";
import type { DenialWatch } from "./denial_watch.ts";
import { SIGKILL } from "./signals.ts";
import { isLiving, type TreeRoot } from "./tree_snapshot.ts";

export interface PosixProcessParts {
  readonly channels: ChildChannels<OutputStream>;
  readonly observer: ProcessObserver;
  readonly reactor: Reactor;
  readonly exitWatch: ExitWatchOptions;
  /** Called while the number is still the child's, for the last time. */
  readonly onReaping: () => void;
}

export class PosixProcess implements SpawnedProcess {
  readonly pid: number;
  readonly root: TreeRoot;
  /** Resolves when the child has ended, also after `dispose`. */
  readonly ended: Promise<void>;
  readonly #resolveEnded: () => void;
  readonly #reactor: Reactor;
  readonly #exitWatch: ExitWatchOptions;
  readonly #observer: ProcessObserver;
  readonly #onReaping: () => void;
  readonly #readers: readonly FdReader[];
  readonly #writer: FdWriter | null;
  readonly #master: number | null;
  #openReaders: number;
  #slave: number | null;
  #endHold: Promise<void> | null = null;
  #networkDenials: readonly NetworkDenial[] | null = null;
  #isReading = true;
  #isDisposed = false;
  #life: "running" | "ended" | "reaped" = "running";

  constructor(pid: number, root: TreeRoot, parts: PosixProcessParts) {
    const { channels, reactor } = parts;
    this.pid = pid;
    this.root = root;
    this.#observer = parts.observer;
    this.#onReaping = parts.onReaping;
    this.#slave = channels.slave;
    this.#master = channels.slave === null ? null : channels.outputs[0]!.fd;
    this.#writer = channels.input === null ? null : new FdWriter(reactor, channels.input);
    this.#openReaders = channels.outputs.length;
    this.#readers = channels.outputs.map(({ stream, fd }) =>
      new FdReader(reactor, fd, {
        maxChunkBytes: MAX_OUTPUT_CHUNK_BYTES,
        onBytes: (bytes) => this.#observer.output(stream, bytes),
        onEnd: () => this.#readerEnded(),
      })
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    this.#reactor = reactor;
    this.#exitWatch = parts.exitWatch;
  }

  /** Starts watching the child. Until then nothing is reported, and nothing is lost either. */
  begin(): void {
    // Both report in a later turn of the event loop, when whoever awaits this process has got hold of it.
    watchExit(this.#reactor, this.pid, (status) => this.#exited(status), this.#exitWatch);
    this.resumeOutput();
  }

  /** Reports the end of output no sooner than this: whoever hears of it finds everything cleared away. */
  holdEndUntil(cleared: Promise<void>): void {
    this.#endHold = cleared;
  }

  /** What it watches is this child's sandbox. */
  reportDenials({ denials }: DenialWatch): void {
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
    for (const reader of this.#readers) reader.resume();
  }

  stopReading(): void {
    if (!this.#isReading) return;
    this.#closeOutput();
    queueMicrotask(() => this.#reportEnd());
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
    // An ended leader alone still counts as a group to the kernel, but there is nobody in it.
    if (this.#life === "ended" && !hasLivingMember(this.pid)) return false;
    return libc().kill(-this.pid, signal) === 0;
  }

  /** For systems without a readable `/proc`, where the tree finds nothing and this is the best there is. */
  killIfRunning(): void {
    if (this.#life === "running") this.signalGroup(SIGKILL);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#networkDenials = null;
    this.#closeOutput();
    this.#writer?.close();
    this.#releaseSlave();
    // A child that still runs is reaped when it ends.
    if (this.#life === "ended") this.#reap();
  }

  #exited(status: ChildStatus): void {
    // What the child itself wrote is in the pipes by now, and is told first.
    for (const reader of this.#readers) reader.readAvailable();
    this.#releaseSlave();
    this.#life = "ended";
    this.#resolveEnded();
    if (this.#isDisposed) this.#reap();
    else this.#observer.exited(status);
  }

  #reap(): void {
    this.#onReaping();
    this.#life = "reaped";
    reap(this.pid);
  }

  #readerEnded(): void {
    if (--this.#openReaders > 0) return;
    this.#closeOutput();
    this.#reportEnd();
  }

  #reportEnd(): void {
    const report = (): void => {
      if (!this.#isDisposed) this.#observer.outputEnded();
    };
    if (this.#endHold === null) report();
    else this.#endHold.then(report);
  }

  #closeOutput(): void {
    this.#isReading = false;
    for (const reader of this.#readers) reader.close();
    // A terminal has one life: nobody reads from it, so nothing is typed into it either, and closing hangs it up.
    if (this.#master !== null) this.#writer?.close();
  }

  #releaseSlave(): void {
    if (this.#slave !== null) closeDescriptor(this.#slave);
    this.#slave = null;
  }
}

function hasLivingMember(pgid: number): boolean {
  return listProcesses().some((process) => process.pgid === pgid && isLiving(process));
}
