/**
 * Finds and ends all descendants of our children, whatever they did to escape.
 *
 * We are the subreaper of all our children, so no descendant can leave the tree below us: an orphan becomes our own
 * child. Which of our children it belongs to is decided, in this order, by its living parents, by the mark it inherited
 * (`os/children/process_mark.ts`), and by its session. A process escapes all three only if it is an orphan, leads its
 * own session, and has changed its limit on file locks on purpose. It is then left alone until the server ends, since
 * it could belong to anybody. A process that was forked within a millisecond of its child's start, among many others,
 * may only be known to belong to one of a few children; it is ended with the last of them. Processes that fork faster
 * than they can be found are frozen first, where that is possible (`os/children/child_cgroup.ts`).
 *
 * It also has orphans reaped that have ended (`orphan_reaper.ts`).
 */

import { GUARD_SERIAL, isOwnMark, type MarkSeries, readMark, SERIAL_COUNT } from "../../os/children/process_mark.ts";
import { listAdopted, listProcesses, type ProcessStat, readStat } from "../../os/children/procfs.ts";
import type { EndReport } from "../backend.ts";
import { OrphanReaper } from "./orphan_reaper.ts";
import { endProcesses, identify } from "./tree_ending.ts";
import { isLiving, type MarkReading, type Owner, ownerFor, TreeRoot, TreeSnapshot } from "./tree_snapshot.ts";

/**
 * Between two sweeps for ended orphans. A sweep reads one file per process of the machine, about 12 us each. Until then
 * an ended orphan only occupies a process number.
 */
const SWEEP_INTERVAL_MS = 5_000;

/**
 * Minimum time between the starts of two searches. Sessions whose connections were cut together expire together; a
 * search for each would look through all processes that many times, and hold up every other client.
 */
const SEARCH_INTERVAL_MS = 20;

export interface EndOptions {
  /** Time between SIGTERM and SIGKILL; with 0 there is no SIGTERM. */
  readonly graceMs: number;
}

/** The outcome of a search for the processes of several owners. */
interface SearchOutcome {
  /** The report for certain owners. */
  of(isMeant: (owner: Owner) => boolean): EndReport;
}

interface PlannedSearch {
  readonly roots: Set<TreeRoot>;
  readonly outcome: Promise<SearchOutcome>;
}

/** Runs `work` while no descendant of our children runs; false where that is not possible. */
export type StandStill = (work: () => void) => Promise<boolean>;

export interface ProcessTreeOptions {
  /** All processes of the machine. */
  readonly list?: () => Iterable<ProcessStat>;
  /** Our own children; null where the kernel does not list them. */
  readonly listAdopted?: () => number[] | null;
  readonly standStill?: StandStill;
  readonly sweepIntervalMs?: number;
}

export class ProcessTree {
  readonly #series: MarkSeries;
  /** The children that each serial number in use may stand for. */
  readonly #candidates = new Map<number, readonly TreeRoot[]>();
  readonly #startingRoots = new Set<TreeRoot>();
  readonly #unreapedRoots = new Map<number, TreeRoot>();
  readonly #protectedPids = new Set<number>();
  readonly #orphans: OrphanReaper;
  /** Something runs that belongs to nobody, and will have to be reaped. */
  #hasStrays = false;
  #lastSerial = GUARD_SERIAL;
  #sweepTimer: ReturnType<typeof setTimeout> | undefined;
  /** Searches that are about to begin, by their grace time. */
  readonly #plannedSearches = new Map<number, PlannedSearch>();
  /** No search begins before this time of `performance.now`. */
  #restUntilMs = 0;
  readonly #listProcesses: () => Iterable<ProcessStat>;
  readonly #listAdopted: () => number[] | null;
  readonly #standStill: StandStill | undefined;
  readonly #sweepIntervalMs: number;

  constructor(series: MarkSeries, options: ProcessTreeOptions = {}) {
    this.#series = series;
    this.#listProcesses = options.list ?? listProcesses;
    this.#listAdopted = options.listAdopted ?? listAdopted;
    this.#standStill = options.standStill;
    this.#sweepIntervalMs = options.sweepIntervalMs ?? SWEEP_INTERVAL_MS;
    this.#orphans = new OrphanReaper({
      unreapedRoots: this.#unreapedRoots,
      protectedPids: this.#protectedPids,
      readMark: (pid) => this.#readMark(pid),
      isStarting: (serial) => this.#candidates.get(serial)?.some((root) => this.#startingRoots.has(root)) ?? false,
    });
  }

  /** A child that is about to be started. Must be followed by `started` or `failed`. */
  plan(): TreeRoot {
    const root = new TreeRoot(this.#nextSerial());
    this.#candidates.set(root.serial, [root]);
    this.#startingRoots.add(root);
    return root;
  }

  /**
   * The mark for children that are started now. Marks are inherited from this whole process, so while several children
   * are being started it stands for all of them. Each gets its own mark as soon as its pid is known.
   */
  markForStart(): bigint {
    const [first, ...others] = this.#startingRoots;
    if (first !== undefined && others.length === 0) return this.#series.mark(first.serial);
    const serial = this.#nextSerial();
    this.#candidates.set(serial, [...this.#startingRoots]);
    return this.#series.mark(serial);
  }

  /** The mark that is a child's own. */
  markOf(root: TreeRoot): bigint {
    return this.#series.mark(root.serial);
  }

  started(root: TreeRoot, pid: number): void {
    root.pid = pid;
    this.#startingRoots.delete(root);
    this.#unreapedRoots.set(pid, root);
    this.#scheduleSweep();
  }

  failed(root: TreeRoot): void {
    this.#startingRoots.delete(root);
    this.#candidates.delete(root.serial);
  }

  /** To be called when the child itself is reaped, before its number can be reused. Its descendants stay known. */
  release(root: TreeRoot): void {
    if (root.pid !== null) this.#unreapedRoots.delete(root.pid);
  }

  /**
   * Exempts a child that another part of this program started, and everything below it. Only needed for one that starts
   * its own session. The returned function ends the exemption.
   */
  protect(pid: number): () => void {
    this.#protectedPids.add(pid);
    return () => void this.#protectedPids.delete(pid);
  }

  snapshot(): TreeSnapshot {
    const startedAtMs = performance.now();
    const snapshot = this.#snapshotOf(this.#listProcesses());
    // However slow a look is, half of the time is left for everything else: the same time again passes before the next.
    this.#restUntilMs = Math.max(this.#restUntilMs, startedAtMs) + 2 * (performance.now() - startedAtMs);
    return snapshot;
  }

  /** The processes below a child of ours, without the child itself. */
  descendantsOf(root: TreeRoot): ProcessStat[] {
    const isBelow = (owner: Owner) => owner.type === "roots" && owner.candidates.every((owner) => owner === root);
    return this.snapshot().living(isBelow).filter(({ pid }) => this.#unreapedRoots.get(pid) !== root);
  }

  /**
   * Tells of each child whether it runs, or may have left something running. Looks only at our own children: whatever a
   * child leaves is one of them, or below one. Where the kernel does not list them, looks at everything.
   */
  unendedNow(): (root: TreeRoot) => boolean {
    const own = this.#listAdopted();
    const stats = own === null ? [...this.#listProcesses()] : [Deno.pid, ...own].flatMap((pid) => readStat(pid) ?? []);
    const snapshot = this.#snapshotOf(stats);
    const owners = stats.map((stat) => snapshot.ownerOf(stat)).filter((owner) => owner.type === "roots");
    const unended = new Set([...this.#unreapedRoots.values(), ...owners.flatMap(({ candidates }) => candidates)]);
    return (root) => unended.has(root);
  }

  /** Ends these children and all their descendants. Calls at about the same time share one search. */
  async endAll(options: EndOptions & { readonly roots: readonly TreeRoot[] }): Promise<EndReport> {
    const wanted = new Set(options.roots);
    for (const root of wanted) root.isEnding = true;
    let search = this.#plannedSearches.get(options.graceMs);
    if (search === undefined) {
      const roots = new Set<TreeRoot>();
      search = { roots, outcome: this.#search(roots, options.graceMs) };
      this.#plannedSearches.set(options.graceMs, search);
    }
    for (const root of wanted) search.roots.add(root);
    const outcome = await search.outcome;
    return outcome.of((owner) => owner.type === "roots" && owner.candidates.some((root) => wanted.has(root)));
  }

  /** Ends all descendants of all our children, even where it is not known whose they are. For the end of the server. */
  async endEverything(options: EndOptions): Promise<EndReport> {
    const outcome = await this.#end((owner) => owner.type !== "foreign", options.graceMs);
    return outcome.of(() => true);
  }

  /** Reaps ended orphans and forgets roots without descendants. Happens by itself every few seconds. */
  sweep(snapshot: TreeSnapshot = this.snapshot()): void {
    const inUse = new Set<TreeRoot>([...this.#unreapedRoots.values(), ...this.#startingRoots]);
    this.#hasStrays = false;
    for (const process of snapshot.processes()) {
      this.#orphans.reapOrphan(process);
      if (!isLiving(process)) continue;
      const owner = snapshot.ownerOf(process);
      if (owner.type === "unattributed") this.#hasStrays = true;
      if (owner.type === "roots") owner.candidates.forEach((root) => inUse.add(root));
    }
    for (const [serial, candidates] of this.#candidates) {
      if (!candidates.some((root) => inUse.has(root))) this.#candidates.delete(serial);
    }
  }

  /** Stops sweeping. Only after everything has been ended. */
  close(): void {
    clearTimeout(this.#sweepTimer);
    this.#sweepTimer = undefined;
  }

  /** Begins in a moment, so that `roots` can still grow. */
  async #search(roots: Set<TreeRoot>, graceMs: number): Promise<SearchOutcome> {
    do {
      // After every timer that is already due: on a busy machine the ends of other sessions are waiting there.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, this.#restUntilMs - performance.now())));
    } while (performance.now() < this.#restUntilMs);
    this.#restUntilMs = performance.now() + SEARCH_INTERVAL_MS;
    this.#plannedSearches.delete(graceMs);
    // With several candidates it is ended together with the last of them.
    return await this.#end(
      (owner) =>
        owner.type === "roots" && owner.candidates.some((root) => roots.has(root)) &&
        owner.candidates.every((root) => root.isEnding),
      graceMs,
    );
  }

  async #end(isWanted: (owner: Owner) => boolean, graceMs: number): Promise<SearchOutcome> {
    const owners = new Map<string, Owner>();
    const { ended, survivors, isOutrun } = await endProcesses({
      look: () => {
        const snapshot = this.snapshot();
        const found = snapshot.ownedBy(isWanted);
        const living = found.filter(isLiving);
        for (const process of living) owners.set(identify(process), snapshot.ownerOf(process));
        return { living, zombies: found.filter((process) => !isLiving(process)) };
      },
      groups: () => [...this.#unreapedRoots].filter(([, root]) => isWanted(ownerFor(root))).map(([pid]) => pid),
      ...(this.#standStill === undefined ? {} : { standStill: this.#standStill }),
    }, graceMs);
    this.sweep();
    return {
      of(isMeant) {
        const belongs = (process: ProcessStat) => isMeant(owners.get(identify(process))!);
        return {
          endedCount: ended.filter(belongs).length,
          survivors: survivors.filter(belongs).map(({ pid }) => pid),
          ...(isOutrun ? { isOutrun } : {}),
        };
      },
    };
  }

  #snapshotOf(processes: Iterable<ProcessStat>): TreeSnapshot {
    return new TreeSnapshot(processes, {
      selfPid: Deno.pid,
      unreapedRoots: this.#unreapedRoots,
      candidates: this.#candidates,
      protectedPids: this.#protectedPids,
      readMark: (pid) => this.#readMark(pid),
    });
  }

  #readMark(pid: number): MarkReading {
    const mark = readMark(pid);
    if (mark === null) return "none";
    const serial = this.#series.serialOf(mark);
    if (serial !== null) return serial === GUARD_SERIAL ? "foreign" : { serial };
    return isOwnMark(mark) ? "foreign" : "none";
  }

  #nextSerial(): number {
    do {
      this.#lastSerial = this.#lastSerial + 1 < SERIAL_COUNT ? this.#lastSerial + 1 : GUARD_SERIAL + 1;
    } while (this.#candidates.has(this.#lastSerial));
    return this.#lastSerial;
  }

  #scheduleSweep(): void {
    // Zombies without our mark are reaped only after several looks, also when there are no children any more.
    const isNeeded = this.#candidates.size > 0 || this.#orphans.hasSuspects || this.#hasStrays;
    if (this.#sweepTimer !== undefined || !isNeeded) return;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      const snapshot = this.snapshot();
      this.#orphans.note(snapshot);
      this.sweep(snapshot);
      this.#scheduleSweep();
    }, this.#sweepIntervalMs);
    // Housekeeping is no reason to keep the program running.
    Deno.unrefTimer(this.#sweepTimer);
  }
}
