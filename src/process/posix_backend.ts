/**
 * Children by posix_spawn, with pipes or a terminal: the way to start programs on Linux.
 *
 * Each child leads a session and a process group of its own, has only descriptors 0 to 2, default signals, and exactly
 * the environment it was given. Its descendants are found and ended wherever they went (`tree.ts`); should this program
 * be killed, the guard ends them instead (`os/guard.ts`).
 *
 * A child that has ended stays unreaped until `dispose`: as long as that, its number cannot come to mean somebody else,
 * and signals to its group are safe.
 */

import { internalError } from "../errors.ts";
import { errorFields, type Logger, silentLogger } from "../log.ts";
import { type ChildChannels, descriptorsOf, openPipeChannels, openTerminalChannels } from "../os/child_channels.ts";
import { type ChildLimits, sharedChildLimits } from "../os/child_limits.ts";
import { becomeSubreaper, keepChildStatuses } from "../os/child_reaping.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import type { ExitWatchOptions } from "../os/exit_watch.ts";
import { Guard } from "../os/guard.ts";
import { canMark, MarkSeries } from "../os/process_mark.ts";
import type { ProcessStat } from "../os/procfs.ts";
import { type Reactor, sharedReactor } from "../os/reactor.ts";
import { type ChildStdio, spawnProgram } from "../os/spawn.ts";
import {
  type Confinement,
  type EndReport,
  type OutputStream,
  type ProcessBackend,
  type ProcessIo,
  type ProcessObserver,
  type SpawnedProcess,
  type SpawnRequest,
} from "./backend.ts";
import { ConfinedLaunch, SandboxSetUpError } from "./confined_launch.ts";
import { DenialWatch } from "./denial_watch.ts";
import { PosixProcess } from "./posix_process.ts";
import { whenSandboxEnds } from "./sandbox_end.ts";
import { SetUpObserver } from "./set_up_observer.ts";
import { StartQueue } from "./start_queue.ts";
import { ProcessTree } from "./tree.ts";

export interface PosixBackendOptions {
  readonly logger?: Logger;
  /** How exits are noticed. */
  readonly exitWatch?: ExitWatchOptions;
}

/** What exists from the first child on. */
interface Machinery {
  readonly reactor: Reactor;
  readonly limits: ChildLimits;
  readonly tree: ProcessTree;
  readonly hasMarks: boolean;
  /** Null where marks are not available: there would be nothing it could find. */
  readonly guard: Guard | null;
}

export class PosixBackend implements ProcessBackend {
  readonly name = "posix";
  readonly #logger: Logger;
  readonly #exitWatch: ExitWatchOptions;
  /** All that have not been reaped. */
  readonly #processes = new Set<PosixProcess>();
  readonly #starts = new StartQueue();
  readonly #denialWatches = new Set<DenialWatch>();
  /** What sandboxes held on the disk and have yet to give back. */
  readonly #releases = new Set<Promise<void>>();
  #machinery: Machinery | null = null;
  #hasWarnedOfGuard = false;
  #isClosed = false;

  constructor(options: PosixBackendOptions = {}) {
    this.#logger = options.logger ?? silentLogger();
    this.#exitWatch = options.exitWatch ?? {};
  }

  /** Finds and ends descendants; for children of other parts of the program that want protection from that. */
  get tree(): ProcessTree {
    return this.#prepared().tree;
  }

  /** Loads and starts what the first child would otherwise wait for, some ten milliseconds. */
  async prepare(): Promise<void> {
    await this.#ensureGuard(this.#prepared());
  }

  async spawn(request: SpawnRequest, observer: ProcessObserver): Promise<SpawnedProcess> {
    const { confinement } = request;
    const process = confinement === undefined
      ? await this.#start(request.io, observer, { spawn: (stdio) => spawnProgram(request, stdio) })
      : await this.#startConfined(request.io, observer, confinement);
    process.begin();
    return process;
  }

  /** What runs below a child that was started here, wherever it went; without the child itself. */
  descendantsOf(process: SpawnedProcess): ProcessStat[] {
    return process instanceof PosixProcess ? this.#prepared().tree.descendantsOf(process.root) : [];
  }

  async endTrees(processes: readonly SpawnedProcess[], options: { graceMs: number }): Promise<EndReport> {
    const ours = processes.filter((process) => process instanceof PosixProcess);
    const roots = ours.map(({ root }) => root);
    const report = await this.#prepared().tree.endAll({ roots, graceMs: options.graceMs });
    for (const process of ours) process.killIfRunning();
    return report;
  }

  async close(options: { graceMs: number }): Promise<EndReport> {
    this.#isClosed = true;
    const machinery = this.#machinery;
    if (machinery === null) return { endedCount: 0, survivors: [] };
    // Ends what is being started just now, too; a start that gets through is met by the second time.
    const first = await machinery.tree.endEverything(options);
    await this.#starts.empty();
    const second = await machinery.tree.endEverything({ graceMs: 0 });
    const report = { endedCount: first.endedCount + second.endedCount, survivors: second.survivors };
    const survivors = new Set(report.survivors);
    const ended = [...this.#processes].filter(({ pid }) => !survivors.has(pid));
    for (const process of ended) process.killIfRunning();
    await Promise.all(ended.map((process) => process.ended));
    for (const process of ended) process.dispose();
    await Promise.all(this.#releases);
    for (const watch of this.#denialWatches) watch.close();
    machinery.tree.close();
    // With survivors the guard stays: it tries once more when we are gone.
    if (survivors.size === 0) {
      await machinery.guard?.stop(machinery.reactor);
      await machinery.reactor.idle();
    }
    return report;
  }

  /** Starts a child when it is its turn. Nothing of it is read or watched before `begin`. */
  async #start(io: ProcessIo, observer: ProcessObserver, starter: Starter): Promise<PosixProcess> {
    return await this.#inTurn((machinery) => this.#startNow(machinery, io, observer, starter));
  }

  /** Does this when it is its turn, guarded; not any more once everything is being closed. */
  async #inTurn<Value>(work: (machinery: Machinery) => Value | Promise<Value>): Promise<Value> {
    const leave = await this.#starts.enter();
    try {
      if (this.#isClosed) throw internalError("Cannot start process: the server is shutting down");
      const machinery = this.#prepared();
      await this.#ensureGuard(machinery);
      return await work(machinery);
    } finally {
      leave();
    }
  }

  async #startNow(
    machinery: Machinery,
    io: ProcessIo,
    observer: ProcessObserver,
    starter: Starter,
  ): Promise<PosixProcess> {
    const { limits, tree, reactor, hasMarks } = machinery;
    const channels: ChildChannels<OutputStream> = openChannels(io);
    const descriptors = descriptorsOf(channels);
    const root = tree.plan();
    limits.startBegins(Math.max(...descriptors, starter.highestFd ?? 0));
    if (hasMarks) limits.inheritMark(tree.markForStart());
    let pid: number;
    try {
      pid = await starter.spawn(channels.stdio);
    } catch (error) {
      limits.startEnded(null);
      tree.failed(root);
      descriptors.forEach(closeDescriptor);
      throw error;
    }
    limits.startEnded({ pid, mark: hasMarks ? tree.markOf(root) : null });
    tree.started(root, pid);
    channels.childEnds.forEach(closeDescriptor);
    const process = new PosixProcess(pid, root, {
      channels,
      observer,
      reactor,
      exitWatch: this.#exitWatch,
      onReaping: () => {
        tree.release(root);
        this.#processes.delete(process);
      },
    });
    this.#processes.add(process);
    return process;
  }

  /** Resolves when the command runs inside its sandbox. */
  async #startConfined(io: ProcessIo, observer: ProcessObserver, confinement: Confinement): Promise<PosixProcess> {
    // First of all: what the sandbox needs on the disk is to go also if we are killed in the next moment.
    const machinery = await this.#inTurn((machinery) => machinery);
    const launch = await ConfinedLaunch.prepare(confinement, machinery.guard?.leftovers);
    const setUp = new SetUpObserver(observer);
    let process: PosixProcess;
    try {
      process = await this.#start(io, setUp, launch);
    } catch (error) {
      launch.abandon();
      throw error;
    }
    const { reactor, tree } = machinery;
    const { report, firstPid, listener } = await launch.outcome(reactor);
    if (report.type === "executed") {
      if (listener !== null) process.reportDenials(this.#watchDenials(reactor, listener));
      if (launch.isWrapped) {
        const ended = firstPid === null ? null : whenSandboxEnds(reactor, { wrapperPid: process.pid, firstPid });
        process.holdEndUntil(this.#releaseAfter(ended ?? endOfTree(process, tree), launch));
      } else this.#releaseAfter(process.ended, launch);
      return process;
    }
    if (listener !== null) closeDescriptor(listener);
    // What the wrapper has to say is in its pipes.
    setUp.failed();
    process.begin();
    process.killIfRunning();
    await this.#releaseAfter(endOfTree(process, tree), launch);
    process.dispose();
    throw new SandboxSetUpError(report, setUp.complaint);
  }

  #watchDenials(reactor: Reactor, listener: number): DenialWatch {
    const watch = new DenialWatch(reactor, listener, () => this.#denialWatches.delete(watch));
    this.#denialWatches.add(watch);
    return watch;
  }

  #releaseAfter(ended: Promise<void>, launch: ConfinedLaunch): Promise<void> {
    const release = ended.then(() => launch.release()).finally(() => this.#releases.delete(release));
    this.#releases.add(release);
    return release;
  }

  #prepared(): Machinery {
    if (this.#machinery !== null) return this.#machinery;
    keepChildStatuses();
    if (!becomeSubreaper()) this.#logger.warn("Cannot adopt orphans of children: they may outlive the server");
    const series = new MarkSeries();
    const hasMarks = canMark();
    if (!hasMarks) this.#logger.warn("Cannot mark children: some may outlive the server if it is killed");
    return this.#machinery = {
      reactor: sharedReactor(),
      limits: sharedChildLimits(),
      tree: new ProcessTree(series),
      hasMarks,
      guard: hasMarks ? new Guard(series) : null,
    };
  }

  async #ensureGuard({ guard }: Machinery): Promise<void> {
    try {
      await guard?.ensureRunning();
    } catch (error) {
      // A machine without a shell can still run programs. Said once, not for every child.
      if (!this.#hasWarnedOfGuard) {
        this.#logger.warn(
          "Cannot start the guard: children will outlive the server if it is killed",
          errorFields(error),
        );
      }
      this.#hasWarnedOfGuard = true;
    }
  }
}

/** How a child comes to be, once it is its turn. */
interface Starter {
  /** The highest of the descriptors that were opened for it, besides its input and output. */
  readonly highestFd?: number;
  spawn(stdio: ChildStdio): number | Promise<number>;
}

/** Resolves when a child has ended, with everything below it. */
async function endOfTree(process: PosixProcess, tree: ProcessTree): Promise<void> {
  await process.ended;
  await tree.endAll({ roots: [process.root], graceMs: 0 });
}

function openChannels(io: ProcessIo): ChildChannels<OutputStream> {
  return io.type === "pty" ? openTerminalChannels(io) : openPipeChannels(io.stdin);
}
