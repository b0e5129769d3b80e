/**
 * How a set of processes that grows while one looks at it is brought to its end.
 *
 * Asked first, if there is time; then stopped, until a look finds nobody new; then killed. A signal to a process group
 * is atomic with respect to forks, which no series of single signals is, so groups are used wherever one is known to be
 * meant. A process that forks, leaves its session and exits over and over can dodge a look, but not the traces it
 * leaves: as long as there are new zombies, somebody is making them.
 */

import { libc } from "../os/libc.ts";
import { signalProcess } from "../os/pidfd.ts";
import { type ProcessStat, readStat } from "../os/procfs.ts";
import { SIGKILL, signalNumber, SIGTERM } from "./signals.ts";
import { isLiving } from "./tree_snapshot.ts";

const SIGSTOP = signalNumber("stop");
const SIGCONT = signalNumber("cont");

/** Looks for processes forked while others were being stopped. Each generation costs one. */
const MAX_STOP_LOOKS = 10;
/** For killed processes to be gone before they are looked for again. */
const KILL_WAIT_MS = 200;
/** After that, what is left is in an uninterruptible call of the kernel, and nobody can end it before that returns. */
const KILL_LIMIT_MS = 5_000;

/** Looks at processes that are expected to end soon start at the first interval and double it up to the second. */
const FIRST_WAIT_MS = 1;
const LAST_WAIT_MS = 20;

/** What a look finds. */
export interface Sighting {
  /** Everything that is to end and still runs. */
  readonly living: readonly ProcessStat[];
  /** How many of them have ended and have not been reaped. */
  readonly zombieCount: number;
}

export interface Prey {
  look(): Sighting;
  /** Process groups whose leaders have not been reaped: as long as that their numbers are certainly theirs. */
  groups(): number[];
}

/** What became of everybody that was met. */
export interface Hunt {
  readonly ended: readonly ProcessStat[];
  readonly survivors: readonly ProcessStat[];
}

export async function endProcesses(prey: Prey, graceMs: number): Promise<Hunt> {
  const met = new Map<string, ProcessStat>();
  const look = (): Sighting => {
    const sighting = prey.look();
    for (const process of sighting.living) met.set(identify(process), process);
    return sighting;
  };

  if (graceMs > 0) await askToEnd(look().living, graceMs);
  // From here to the kill nothing else of this program runs, so no group can lose its number in between.
  const groups = new Set(prey.groups());
  stopAll(look, groups);
  for (const group of groups) signalGroup(group, SIGKILL);
  const survivors = await killAll(look);
  for (const survivor of survivors) met.delete(identify(survivor));
  return { ended: [...met.values()], survivors };
}

async function askToEnd(living: readonly ProcessStat[], graceMs: number): Promise<void> {
  for (const process of living) {
    signalProcess(process, SIGTERM);
    // A stopped process could not act on it.
    signalProcess(process, SIGCONT);
  }
  await waitUntilGone(living, graceMs);
}

/** Adds the groups it comes across to `groups`. */
function stopAll(look: () => Sighting, groups: Set<number>): void {
  for (const group of groups) signalGroup(group, SIGSTOP);
  const stopped = new Set<string>();
  for (let looks = 0; looks < MAX_STOP_LOOKS; looks++) {
    const fresh = look().living.filter((process) => !stopped.has(identify(process)));
    if (fresh.length === 0) return;
    for (const process of fresh) {
      stopped.add(identify(process));
      if (!signalProcess(process, SIGSTOP)) continue;
      // From now on it cannot leave its group, so the group's number stays what it is. Everybody in the group is in the
      // session, which began below one of our children and so holds nobody else.
      const now = readStat(process.pid);
      if (now === null || now.startTime !== process.startTime || groups.has(now.pgid)) continue;
      groups.add(now.pgid);
      signalGroup(now.pgid, SIGSTOP);
    }
  }
}

/** Returns whoever is left. */
async function killAll(look: () => Sighting): Promise<readonly ProcessStat[]> {
  const deadline = performance.now() + KILL_LIMIT_MS;
  let zombiesBefore = -1;
  for (;;) {
    const { living, zombieCount } = look();
    // A single look can miss a process that was forked behind its back; that one left its parent's zombie.
    if (living.length === 0 && zombieCount === zombiesBefore) return [];
    if (performance.now() > deadline) return living;
    zombiesBefore = zombieCount;
    for (const process of living) signalProcess(process, SIGKILL);
    await waitUntilGone(living, KILL_WAIT_MS);
  }
}

async function waitUntilGone(processes: readonly ProcessStat[], limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  let remaining = processes;
  for (let waitMs = FIRST_WAIT_MS;; waitMs = Math.min(waitMs * 2, LAST_WAIT_MS)) {
    remaining = remaining.filter(isStillRunning);
    const leftMs = deadline - performance.now();
    if (remaining.length === 0 || leftMs <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, leftMs)));
  }
}

function isStillRunning(process: ProcessStat): boolean {
  const now = readStat(process.pid);
  return now !== null && now.startTime === process.startTime && isLiving(now);
}

function signalGroup(pgid: number, signal: number): void {
  // 0 and 1 would mean our own group and everybody.
  if (pgid > 1) libc().kill(-pgid, signal);
}

/** Numbers are reused; a number and a start time are not. */
export function identify(process: ProcessStat): string {
  return `${process.pid}@${process.startTime}`;
}
