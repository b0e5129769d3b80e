/**
 * Reaps orphans that have ended: they have become our children, and nobody else would. Children of other parts of this
 * program are not touched, since their parents in the program wait for them.
 */

import { reap } from "../../os/children/child_reaping.ts";
import type { ProcessStat } from "../../os/children/procfs.ts";
import { identify } from "./tree_ending.ts";
import { isLiving, type MarkReading, type TreeSnapshot } from "./tree_snapshot.ts";

/**
 * After this many sightings an unmarked zombie counts as an orphan. The runtime reaps its own children within a turn of
 * the event loop. The first sighting may come just before that, the second just after a long stop of the program.
 */
const ORPHAN_SIGHTS = 3;

export interface OrphanContext {
  readonly unreapedRoots: { has(pid: number): boolean };
  readonly protectedPids: ReadonlySet<number>;
  readMark(pid: number): MarkReading;
  /** Whether a child is being started whose descendants have this serial number. */
  isStarting(serial: number): boolean;
}

export class OrphanReaper {
  readonly #context: OrphanContext;
  /** How often each unclaimed zombie has been seen. */
  #suspects = new Map<string, number>();

  constructor(context: OrphanContext) {
    this.#context = context;
  }

  /** Whether a later look may show that a zombie is an orphan. */
  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** Counts how often each unclaimed zombie was seen. To be called in another turn of the event loop each time. */
  note(snapshot: TreeSnapshot): void {
    const seen = new Map<string, number>();
    for (const process of snapshot.processes()) {
      if (!this.#isUnclaimedZombie(process)) continue;
      seen.set(identify(process), (this.#suspects.get(identify(process)) ?? 0) + 1);
    }
    this.#suspects = seen;
  }

  /**
   * A zombie with our mark is an orphan, unless it is a child just started whose pid is not known yet. One without a
   * mark, or with that of a server that ran below us, may be a child that the runtime is about to reap; reaping it here
   * would lose its status.
   */
  reapOrphan(process: ProcessStat): void {
    const { protectedPids, readMark, isStarting } = this.#context;
    if (!this.#isUnclaimedZombie(process) || protectedPids.has(process.pid)) return;
    const mark = readMark(process.pid);
    if (mark === "foreign") return;
    const isOrphan = mark === "none"
      ? (this.#suspects.get(identify(process)) ?? 0) >= ORPHAN_SIGHTS
      : !isStarting(mark.serial);
    if (isOrphan) reap(process.pid);
  }

  #isUnclaimedZombie(process: ProcessStat): boolean {
    return process.ppid === Deno.pid && !isLiving(process) && !this.#context.unreapedRoots.has(process.pid);
  }
}
