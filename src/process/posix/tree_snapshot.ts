/**
 * A picture of all processes at one moment, and which of our children each one belongs to.
 *
 * Data in, data out: the caller reads `/proc` and passes a function that reads a process's mark. That is called only
 * for processes that nothing else decides about.
 */

import type { ProcessStat } from "../../os/children/procfs.ts";

/** One child of ours, with all its descendants. Only its tree changes it. */
export class TreeRoot {
  /** The serial number of its mark, unlike that of any other root of the tree. */
  readonly serial: number;
  /** Null until it has been started. */
  pid: number | null = null;
  /** All its descendants are to be ended. Never taken back. */
  isEnding = false;

  constructor(serial: number) {
    this.serial = serial;
  }
}

export type Owner =
  /** Descends from one of these. There are several only if it was forked while all of them were being started. */
  | { readonly type: "roots"; readonly candidates: readonly TreeRoot[] }
  /** Descends from one of our children, but it is not known from which. */
  | { readonly type: "unattributed" }
  /** Not ours to end: the rest of the system, and children that other parts of this program started. */
  | { readonly type: "foreign" };

/**
 * What a process's mark says: one of our serial numbers; "leave alone" (the mark of our guard, or of another server in
 * this process); or nothing that has a meaning here, such as the mark of a server that runs below us.
 */
export type MarkReading = { readonly serial: number } | "foreign" | "none";

export interface SnapshotContext {
  /** Our own process. */
  readonly selfPid: number;
  /** Children that were not reaped, by pid: until then their numbers cannot be reused. */
  readonly unreapedRoots: ReadonlyMap<number, TreeRoot>;
  /** The children a mark may stand for, by serial number. */
  readonly candidates: ReadonlyMap<number, readonly TreeRoot[]>;
  /** Our direct children that were started another way. Their trees are not ours. */
  readonly protectedPids: ReadonlySet<number>;
  readMark(pid: number): MarkReading;
}

const FOREIGN: Owner = { type: "foreign" };
const UNATTRIBUTED: Owner = { type: "unattributed" };

export class TreeSnapshot {
  readonly #context: SnapshotContext;
  readonly #byPid = new Map<number, ProcessStat>();
  readonly #owners = new Map<number, Owner>();
  readonly #rootsBySid = new Map<number, TreeRoot>();

  constructor(processes: Iterable<ProcessStat>, context: SnapshotContext) {
    this.#context = context;
    for (const process of processes) this.#byPid.set(process.pid, process);
    for (const roots of context.candidates.values()) {
      // Of several roots that had this number, the last one has it now.
      for (const root of roots) if (root.pid !== null) this.#rootsBySid.set(root.pid, root);
    }
  }

  processes(): Iterable<ProcessStat> {
    return this.#byPid.values();
  }

  ownerOf(process: ProcessStat): Owner {
    const known = this.#owners.get(process.pid);
    if (known !== undefined) return known;
    // If numbers reused during the look form a circle, the climb ends here.
    this.#owners.set(process.pid, FOREIGN);
    const owner = this.#decide(process);
    this.#owners.set(process.pid, owner);
    return owner;
  }

  /** Everything whose owner `isWanted` accepts, including zombies. */
  ownedBy(isWanted: (owner: Owner) => boolean): ProcessStat[] {
    return [...this.#byPid.values()].filter((process) => isWanted(this.ownerOf(process)));
  }

  /** The same without zombies. */
  living(isWanted: (owner: Owner) => boolean): ProcessStat[] {
    return this.ownedBy(isWanted).filter(isLiving);
  }

  /** Who lives of these children and below them, by their pids. */
  membersOf(roots: Iterable<TreeRoot>): Map<TreeRoot, number[]> {
    const members = new Map<TreeRoot, number[]>(Array.from(roots, (root) => [root, []]));
    for (const process of this.#byPid.values()) {
      const owner = this.ownerOf(process);
      if (owner.type !== "roots" || owner.candidates.length !== 1 || !isLiving(process)) continue;
      members.get(owner.candidates[0]!)?.push(process.pid);
    }
    return members;
  }

  #decide(process: ProcessStat): Owner {
    const { selfPid, unreapedRoots, protectedPids } = this.#context;
    const { pid, ppid } = process;
    const root = unreapedRoots.get(pid);
    if (root !== undefined) return ownerFor(root);
    if (pid === selfPid || protectedPids.has(pid)) return FOREIGN;
    if (ppid === selfPid) return this.#decideOrphan(process);

    const parent = this.#byPid.get(ppid);
    // The parent ended during the look; before the next look the process will have a new one.
    if (parent === undefined) return this.#byMark(pid) ?? FOREIGN;
    // A parent younger than its child is another process with a reused number. Nothing below init is ours: we are the
    // nearest parent for all orphans below us.
    return ppid > 1 && parent.startTime <= process.startTime ? this.ownerOf(parent) : FOREIGN;
  }

  /**
   * For a direct child of ours that is not a root: its own parents are gone, or another part of this program started
   * it.
   */
  #decideOrphan({ pid, sid }: ProcessStat): Owner {
    // Roots start their own sessions, so nothing below them can be in ours; other children of the runtime are.
    if (sid === this.#byPid.get(this.#context.selfPid)?.sid) return FOREIGN;
    const byMark = this.#byMark(pid);
    if (byMark !== null) return byMark;
    const root = this.#rootsBySid.get(sid);
    return root === undefined ? UNATTRIBUTED : ownerFor(root);
  }

  #byMark(pid: number): Owner | null {
    const mark = this.#context.readMark(pid);
    if (mark === "none") return null;
    if (mark === "foreign") return FOREIGN;
    const candidates = this.#context.candidates.get(mark.serial);
    return candidates === undefined ? UNATTRIBUTED : { type: "roots", candidates };
  }
}

/** What belongs to this root and no other. */
export function ownerFor(root: TreeRoot): Owner {
  return { type: "roots", candidates: [root] };
}

/** False for zombies, which no longer run. */
export function isLiving(process: ProcessStat): boolean {
  return process.state !== "Z" && process.state !== "X";
}
