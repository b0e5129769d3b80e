/**
 * Children by posix_spawn, with pipes or a terminal: the way to start programs on Linux.
 *
 * Each child leads its own session and process group, has only descriptors 0 to 2, default signals, and exactly the
 * environment it was given. Its descendants are found and ended wherever they went (`tree.ts`). If this program is
 * killed, the guard ends them instead (`process/posix/guard.ts`).
 *
 * A child that has ended stays unreaped until `dispose`. Until then its number cannot be reused, and signals to its
 * group are safe.
 */

import { internalError } from "../../errors.ts";
import { errorFields, type Logger, silentLogger } from "../../log.ts";
import {
  type ChildChannels,
  descriptorsOf,
  openPipeChannels,
  openTerminalChannels,
} from "../../os/children/child_channels.ts";
import { type ChildLimits, sharedChildLimits } from "../../os/children/child_limits.ts";
import { becomeSubreaper, keepChildStatuses } from "../../os/children/child_reaping.ts";
import { type ChildCgroup, joinChildCgroup, leaveChildCgroup } from "../../os/children/child_cgroup.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { compileLibc } from "../../os/libc.ts";
import type { ExitNoticeOptions } from "../../os/children/exit_notice.ts";
import { Guard } from "./guard.ts";
import { canMark, MarkSeries } from "../../os/children/process_mark.ts";
import type { ProcessStat } from "../../os/children/procfs.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import { type Reactor, sharedReactor } from "../../os/loop/reactor.ts";
import { loadTerminalFunctions } from "../../os/children/pty.ts";
import { spawnProgram } from "../../os/children/spawn.ts";
import {
  type Confinement,
  type EndReport,
  type OutputStream,
  type ProcessBackend,
  type ProcessIo,
  type ProcessObserver,
  type ProcessUsage,
  type SpawnedProcess,
  type SpawnRequest,
} from "../backend.ts";
import type { ConfinedStarts, ConfinedSurroundings, Starter } from "./confined_start.ts";
import { PosixProcess } from "./posix_process.ts";
import { StartQueue } from "./start_queue.ts";
import { ProcessTree, type ProcessTreeOptions } from "./tree.ts";
import { treeUsages } from "./tree_usage.ts";
import type { WaitingSandbox } from "./waiting_sandbox.ts";

export interface PosixBackendOptions {
  readonly logger?: Logger;
  /** How exits are noticed. */
  readonly exitNotice?: ExitNoticeOptions;
  readonly tree?: ProcessTreeOptions;
}

/** What exists from the first child on. */
interface Machinery {
  readonly reactor: Reactor;
  readonly limits: ChildLimits;
  readonly tree: ProcessTree;
  readonly hasMarks: boolean;
  /** Null where marks are not available: it could find nothing. */
  readonly guard: Guard | null;
}

export class PosixBackend implements ProcessBackend {
  readonly name = "posix";
  readonly #logger: Logger;
  readonly #options: PosixBackendOptions;
  /** All that have not been reaped. */
  readonly #processes = new Set<PosixProcess>();
  readonly #starts = new StartQueue();
  #confined: Promise<ConfinedStarts> | null = null;
  #machinery: Machinery | null = null;
  /** The control group in which all children live, if there is one. */
  #cgroup: Promise<ChildCgroup | null> | null = null;
  #hasWarnedOfGuard = false;
  #isClosed = false;

  constructor(options: PosixBackendOptions = {}) {
    this.#logger = options.logger ?? silentLogger();
    this.#options = options;
  }

  /** Finds and ends descendants. Other parts of the program use it to protect their children from that. */
  get tree(): ProcessTree {
    return this.#prepared().tree;
  }

  /** The control group and the guard: ten to thirty milliseconds, most of it in the kernel. */
  async prepare(): Promise<void> {
    if (!this.#isClosed) await this.#inTurn(() => {});
  }

  async prepareRest(): Promise<void> {
    if (this.#isClosed) return;
    compileLibc();
    loadTerminalFunctions();
    (await this.#cgroup)?.tidyUp();
    await this.#confinedStarts();
  }

  async spawn(request: SpawnRequest): Promise<SpawnedProcess> {
    const { confinement } = request;
    return confinement === undefined
      ? await this.#start(request.io, { spawn: (stdio) => spawnProgram(request, stdio) })
      : await this.#confine(request.io, (confined, surroundings) => confined.start(surroundings, confinement));
  }

  /** A sandbox that waits for its command, which will have this input and output. For a plan without a command. */
  async standBy(io: ProcessIo, confinement: Confinement): Promise<WaitingSandbox> {
    return await this.#confine(io, (confined, surroundings) => confined.standBy(surroundings, confinement));
  }

  /** A child that works with descriptors of somebody else: its input and output are not ours. Reaped when it ends. */
  async spawnBare(observer: Pick<ProcessObserver, "exited">, starter: Starter): Promise<SpawnedProcess> {
    const quiet: ProcessObserver = { output() {}, outputEnded() {}, exited: (status) => observer.exited(status) };
    const process = await this.#inTurn((machinery) => this.#startNow(machinery, NO_CHANNELS, starter));
    process.begin(quiet);
    return process;
  }

  /** All descendants of a child that was started here, wherever they went; without the child itself. */
  descendantsOf(process: SpawnedProcess): ProcessStat[] {
    return process instanceof PosixProcess ? this.#prepared().tree.descendantsOf(process.root) : [];
  }

  /** Those of these children that run, or may have left something running. Far cheaper than looking at everything. */
  unended(processes: readonly SpawnedProcess[]): SpawnedProcess[] {
    const isUnended = this.#prepared().tree.unendedNow();
    return processes.filter((process) => process instanceof PosixProcess && isUnended(process.root));
  }

  async usage(processes: readonly SpawnedProcess[]): Promise<(ProcessUsage | null)[]> {
    const ours = processes.map((process) => process instanceof PosixProcess ? process.root : null);
    const roots = ours.filter((root) => root !== null);
    if (roots.length === 0) return processes.map(() => null);
    const members = this.#prepared().tree.snapshot().membersOf(roots);
    const trees = ours.map((root) => root === null ? [] : members.get(root)!);
    const usages = await treeUsages(trees, sharedPacer());
    return usages.map((usage, index) => ours[index] === null ? null : usage);
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
    // Also ends what is being started right now. A start that gets through is found by the second search.
    const first = await machinery.tree.endEverything(options);
    await this.#starts.empty();
    const second = await machinery.tree.endEverything({ graceMs: 0 });
    const report = { ...second, endedCount: first.endedCount + second.endedCount };
    const survivors = new Set(report.survivors);
    const ended = [...this.#processes].filter(({ pid }) => !survivors.has(pid));
    for (const process of ended) process.killIfRunning();
    // The end of a child that nobody has begun to hear is waited for as well.
    for (const process of ended) process.begin(null);
    await Promise.all(ended.map((process) => process.ended));
    // Callers that wait for the end of output are told. A sandbox may delay that until it has been cleaned up.
    for (const process of ended) process.stopReading();
    await Promise.all(ended.map((process) => process.toldEnd));
    for (const process of ended) process.dispose();
    await (await this.#confined)?.close();
    machinery.tree.close();
    // If there are survivors the guard stays: it tries once more when we are gone.
    if (survivors.size === 0) {
      await machinery.guard?.stop(machinery.reactor);
      if (this.#cgroup !== null) await leaveChildCgroup();
      this.#cgroup = null;
      await machinery.reactor.idle();
    }
    return report;
  }

  /** Starts a child when it is its turn. Nothing of it is read or noticed before `begin`. */
  async #start(io: ProcessIo, starter: Starter): Promise<PosixProcess> {
    return await this.#inTurn((machinery) => this.#startNow(machinery, openChannels(io), starter));
  }

  /** Runs this when it is its turn, guarded; not any more once everything is being closed. */
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
    channels: ChildChannels<OutputStream>,
    starter: Starter,
  ): Promise<PosixProcess> {
    const { limits, tree, reactor, hasMarks } = machinery;
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
      reactor,
      exitNotice: this.#options.exitNotice ?? {},
      onReaping: () => {
        tree.release(root);
        this.#processes.delete(process);
      },
    });
    this.#processes.add(process);
    return process;
  }

  async #confine<Value>(
    io: ProcessIo,
    work: (confined: ConfinedStarts, surroundings: ConfinedSurroundings) => Promise<Value>,
  ): Promise<Value> {
    const confined = await this.#confinedStarts();
    // First of all: what the sandbox puts on the disk must be removed even if we are killed in the next moment.
    const { reactor, tree, guard } = await this.#inTurn((machinery) => machinery);
    const start = (starter: Starter) => this.#start(io, starter);
    return await work(confined, { reactor, tree, guard, start });
  }

  #confinedStarts(): Promise<ConfinedStarts> {
    return this.#confined ??= import("./confined_start.ts").then(({ ConfinedStarts }) => new ConfinedStarts());
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
      tree: new ProcessTree(series, {
        standStill: async (work) => await (await this.#cgroup)?.standStill(work) ?? false,
        ...this.#options.tree,
      }),
      hasMarks,
      guard: hasMarks ? new Guard(series, async () => await this.#cgroup) : null,
    };
  }

  async #ensureGuard({ guard }: Machinery): Promise<void> {
    await (this.#cgroup ??= joinChildCgroup());
    try {
      await guard?.ensureRunning();
    } catch (error) {
      // A machine without a shell can still run programs. Logged once, not for every child.
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

/** For a child that is started with descriptors of somebody else. */
const NO_CHANNELS: ChildChannels<OutputStream> = {
  stdio: { type: "descriptors", stdin: null, stdout: -1, stderr: -1 },
  childEnds: [],
  input: null,
  outputs: [],
  slave: null,
};

function openChannels(io: ProcessIo): ChildChannels<OutputStream> {
  return io.type === "pty" ? openTerminalChannels(io) : openPipeChannels(io.stdin, io.stderr === "joined");
}
