/**
 * Finds and ends everything that descends from our children, however it tried to leave.
 *
 * We are the subreaper of all our children, so no descendant can leave the tree below us: an orphan becomes our own
 * child. To which of our children it belongs is decided, in this order, by its living parents, by the mark it inherited
 * (`os/process_mark.ts`), and by its session. A process escapes all three only if it is an orphan, leads its own
 * session and has changed its limit on file locks on purpose. It is then left alone until the server ends, since it
 * could belong to anybody. One that was forked within a millisecond of its child's start, amid many others, may be
 * known to belong to one of a few; it is ended with the last of those.
 *
 * Also reaps orphans that have ended; nobody else would. Children of other parts of this program are not touched.
 */

import { reap } from "../os/child_reaping.ts";
import { GUARD_SERIAL, isOwnMark, type MarkSeries, readMark, SERIAL_COUNT } from "../os/process_mark.ts";
import { listProcesses, type ProcessStat } from "../os/procfs.ts";
import type { EndReport } from "./backend.ts";
import { endProcesses, identify } from "./tree_ending.ts";
import { isLiving, type MarkReading, type Owner, ownerFor, TreeRoot, TreeSnapshot } from "./tree_snapshot.ts";

/**
 * Between two sweeps for ended orphans. A sweep reads one file per process on the machine, about 12 us each; nothing
 * but a process number is tied up until then.
 */
const SWEEP_INTERVAL_MS = 5_000;

/**
 * Sights of an unmarked zombie after which it is an orphan. The runtime reaps its own children within a turn of the
 * event loop; the first of these may come just before that, the second just after a long stop of the program.
 */
const ORPHAN_SIGHTS = 3;

/**
 * Between the starts of two hunts at least. Sessions whose connections were cut together expire together; a hunt for
 * each would look through all processes as many times over, and hold up every other client meanwhile.
 */
const HUNT_INTERVAL_MS = 20;

export interface EndOptions {
  /** Time between SIGTERM and SIGKILL; with 0 there is no SIGTERM. */
  readonly graceMs: number;
}

/** What a hunt for several owners' processes came to. */
interface HuntOutcome {
  /** For those of certain owners. */
  of(isMeant: (owner: Owner) => boolean): EndReport;
}

interface PlannedHunt {
  readonly roots: Set<TreeRoot>;
  readonly outcome: Promise<HuntOutcome>;
}

export class ProcessTree {
  readonly #series: MarkSeries;
  /** Whom each serial number in use may stand for. */
  readonly #candidates = new Map<number, readonly TreeRoot[]>();
  readonly #startingRoots = new Set<TreeRoot>();
  readonly #unreapedRoots = new Map<number, TreeRoot>();
  readonly #protectedPids = new Set<number>();
  /** How often each unclaimed zombie has been seen. */
  #suspects = new Map<string, number>();
  #lastSerial = GUARD_SERIAL;
  #sweepTimer: ReturnType<typeof setTimeout> | undefined;
  /** Hunts about to begin, by their grace. */
  readonly #plannedHunts = new Map<number, PlannedHunt>();
  /** No hunt begins before this time of `performance.now`. */
  #restUntilMs = 0;
  readonly #listProcesses: () => Iterable<ProcessStat>;

  constructor(series: MarkSeries, list: () => Iterable<ProcessStat> = listProcesses) {
    this.#series = series;
    this.#listProcesses = list;
  }

  /** A child that is about to be started. Must be followed by `started` or `failed`. */
  plan(): TreeRoot {
    const root = new TreeRoot(this.#nextSerial());
    this.#candidates.set(root.serial, [root]);
    this.#startingRoots.add(root);
    return root;
  }

  /**
   * The mark for children made at this moment. Marks are inherited from this whole process, so while several children
   * are being started it stands for all of them; each gets its own as soon as its pid is known.
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

  /**
   * To be called when the child itself is reaped, before its number can be reused. What descends from it stays known.
   */
  release(root: TreeRoot): void {
    if (root.pid !== null) this.#unreapedRoots.delete(root.pid);
  }

  /**
   * Leaves a child that another part of this program started, and everything below it, alone. Needed only for one that
   * starts its own session; otherwise its session tells. The returned function ends the protection.
   */
  protect(pid: number): () => void {
    this.#protectedPids.add(pid);
    return () => void this.#protectedPids.delete(pid);
  }

  snapshot(): TreeSnapshot {
    const startedAtMs = performance.now();
    const snapshot = new TreeSnapshot(this.#listProcesses(), {
      selfPid: Deno.pid,
      unreapedRoots: this.#unreapedRoots,
      candidates: this.#candidates,
      protectedPids: this.#protectedPids,
      readMark: (pid) => this.#readMark(pid),
    });
    // However slow looking is, half of the time stays for everything else: as long as it took, and not meanwhile.
    this.#restUntilMs = Math.max(this.#restUntilMs, startedAtMs) + 2 * (performance.now() - startedAtMs);
    return snapshot;
  }

  /** What runs below a child of ours, without the child itself. */
  descendantsOf(root: TreeRoot): ProcessStat[] {
    const isBelow = (owner: Owner) => owner.type === "roots" && owner.candidates.every((owner) => owner === root);
    return this.snapshot().living(isBelow).filter(({ pid }) => this.#unreapedRoots.get(pid) !== root);
  }

  /** Ends these children and everything that descends from them. Those asked for at about the same time end together. */
  async endAll(options: EndOptions & { readonly roots: readonly TreeRoot[] }): Promise<EndReport> {
    const wanted = new Set(options.roots);
    for (const root of wanted) root.isDoomed = true;
    let hunt = this.#plannedHunts.get(options.graceMs);
    if (hunt === undefined) {
      const roots = new Set<TreeRoot>();
      hunt = { roots, outcome: this.#hunt(roots, options.graceMs) };
      this.#plannedHunts.set(options.graceMs, hunt);
    }
    for (const root of wanted) hunt.roots.add(root);
    const outcome = await hunt.outcome;
    return outcome.of((owner) => owner.type === "roots" && owner.candidates.some((root) => wanted.has(root)));
  }

  /**
   * Ends whatever descends from any child of ours, also where it cannot be told from which. For the end of the server.
   */
  async endEverything(options: EndOptions): Promise<EndReport> {
    const outcome = await this.#end((owner) => owner.type !== "foreign", options.graceMs);
    return outcome.of(() => true);
  }

  /** Reaps ended orphans and forgets roots without descendants. Happens by itself every few seconds. */
  sweep(snapshot: TreeSnapshot = this.snapshot()): void {
    const inUse = new Set<TreeRoot>([...this.#unreapedRoots.values(), ...this.#startingRoots]);
    for (const process of snapshot.processes()) {
      if (this.#isUnclaimedZombie(process)) this.#reapOrphan(process);
      if (!isLiving(process)) continue;
      const owner = snapshot.ownerOf(process);
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
  async #hunt(roots: Set<TreeRoot>, graceMs: number): Promise<HuntOutcome> {
    do {
      // Behind every timer that is due already: on a busy machine that is where the other sessions' ends are waiting.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, this.#restUntilMs - performance.now())));
    } while (performance.now() < this.#restUntilMs);
    this.#restUntilMs = performance.now() + HUNT_INTERVAL_MS;
    this.#plannedHunts.delete(graceMs);
    // With several candidates it is ended together with the last of them: none of the others could lay claim to it.
    return await this.#end(
      (owner) =>
        owner.type === "roots" && owner.candidates.some((root) => roots.has(root)) &&
        owner.candidates.every((root) => root.isDoomed),
      graceMs,
    );
  }

  async #end(isWanted: (owner: Owner) => boolean, graceMs: number): Promise<HuntOutcome> {
    const owners = new Map<string, Owner>();
    const { ended, survivors } = await endProcesses({
      look: () => {
        const snapshot = this.snapshot();
        const found = snapshot.ownedBy(isWanted);
        const living = found.filter(isLiving);
        for (const process of living) owners.set(identify(process), snapshot.ownerOf(process));
        return { living, zombieCount: found.length - living.length };
      },
      groups: () => [...this.#unreapedRoots].filter(([, root]) => isWanted(ownerFor(root))).map(([pid]) => pid),
    }, graceMs);
    this.sweep();
    return {
      of(isMeant) {
        const belongs = (process: ProcessStat) => isMeant(owners.get(identify(process))!);
        return {
          endedCount: ended.filter(belongs).length,
          survivors: survivors.filter(belongs).map(({ pid }) => pid),
        };
      },
    };
  }

  /**
   * A zombie with our mark is an orphan, unless it is a child just started whose pid we have not been told yet. One
   * without may be a child that the runtime started and is about to reap; taking it away would lose its status.
   */
  #reapOrphan(process: ProcessStat): void {
    if (this.#protectedPids.has(process.pid)) return;
    const mark = this.#readMark(process.pid);
    if (mark === "foreign") return;
    if (mark === "none" && (this.#suspects.get(identify(process)) ?? 0) < ORPHAN_SIGHTS) return;
    const candidates = mark === "none" ? [] : this.#candidates.get(mark.serial) ?? [];
    if (!candidates.some((root) => this.#startingRoots.has(root))) reap(process.pid);
  }

  /** Counts how often each unclaimed zombie has been seen by the timer, so in as many turns of the event loop. */
  #noteSuspects(snapshot: TreeSnapshot): void {
    const seen = new Map<string, number>();
    for (const process of snapshot.processes()) {
      if (!this.#isUnclaimedZombie(process)) continue;
      seen.set(identify(process), (this.#suspects.get(identify(process)) ?? 0) + 1);
    }
    this.#suspects = seen;
  }

  #isUnclaimedZombie(process: ProcessStat): boolean {
    return process.ppid === Deno.pid && !isLiving(process) && !this.#unreapedRoots.has(process.pid);
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
    if (this.#sweepTimer !== undefined || this.#candidates.size === 0) return;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      const snapshot = this.snapshot();
      this.#noteSuspects(snapshot);
      this.sweep(snapshot);
      this.#scheduleSweep();
    }, SWEEP_INTERVAL_MS);
    // Housekeeping alone is no reason to go on running.
    Deno.unrefTimer(this.#sweepTimer);
  }
}
