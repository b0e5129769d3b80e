/**
 * How a set of processes is ended that may grow during the attempt.
 *
 * First they get SIGTERM, if there is time; then they are stopped until a look finds no new ones; then they are killed.
 * A signal to a process group is atomic with respect to forks, unlike a series of single signals, so groups are used
 * wherever one is known to be meant. A process that forks, leaves its session and exits over and over can dodge a look,
 * but it leaves traces: as long as there are new zombies, some process makes them. Many such processes outrun any
 * number of looks. Where they can be frozen they are killed then; where not they may survive.
 */

import { sendSignal, signalProcess } from "../../os/children/pidfd.ts";
import { type ProcessStat, readStat } from "../../os/children/procfs.ts";
import { SIGKILL, signalNumber, SIGTERM } from "../signals.ts";
import { isLiving } from "./tree_snapshot.ts";

const SIGSTOP = signalNumber("stop");
const SIGCONT = signalNumber("cont");

/** How often to look for processes forked while others were being stopped. Each generation costs one look. */
const WITHOUT_STANDING_STILL: LookLimits = { looks: 10, lookMs: Infinity };
/**
 * The same where everything can be frozen instead, which costs other processes a few milliseconds. A look takes this
 * long only if processes are made faster than they can be looked at, and then each look takes longer than the last.
 */
const BEFORE_STANDING_STILL: LookLimits = { looks: 3, lookMs: 50 };
/** Time for killed processes to disappear before the next look. */
const KILL_WAIT_MS = 200;
/**
 * What is left after this is in an uninterruptible call of the kernel, and cannot be ended before that returns; or it
 * forks faster than it can be found, and nothing here can freeze it.
 */
export const KILL_LIMIT_MS = 5_000;

/** Rounds of kills that are tried before everything is frozen: nearly all processes do not fork meanwhile. */
const FREE_ROUNDS = 2;

/** One is enough for all descendants of a child; another child may have been started meanwhile. */
const MAX_STILLS = 5;

/** Looks at processes that should end soon begin at the first interval, which doubles up to the second. */
const FIRST_WAIT_MS = 1;
const LAST_WAIT_MS = 20;

interface LookLimits {
  readonly looks: number;
  /** After a look that took longer there is no other. */
  readonly lookMs: number;
}

/** What a look finds. */
export interface Sighting {
  /** Everything that must end and still runs. */
  readonly living: readonly ProcessStat[];
  /** What has ended and was not reaped. */
  readonly zombies: readonly ProcessStat[];
}

export interface Target {
  look(): Sighting;
  /** Runs `work` while nothing can fork. False, and nothing was done, where that is not possible. */
  standStill?(work: () => void): Promise<boolean>;
  /** Process groups whose leaders were not reaped: until then their numbers cannot be reused. */
  groups(): number[];
}

/** What became of all processes that were found. */
export interface EndingOutcome {
  readonly ended: readonly ProcessStat[];
  readonly survivors: readonly ProcessStat[];
  /** Whether processes were still being made when the time was up. The last look may have missed all of them. */
  readonly isOutrun: boolean;
}

export async function endProcesses(target: Target, graceMs: number): Promise<EndingOutcome> {
  const met = new Map<string, ProcessStat>();
  const look = (): Sighting => {
    const sighting = target.look();
    for (const process of sighting.living) met.set(identify(process), process);
    return sighting;
  };

  if (graceMs > 0) await askToEnd(look().living, graceMs);
  // From here to the kill nothing else of this program runs, so no group number can be reused in between.
  const groups = new Set(target.groups());
  const isStopped = stopAll(
    look,
    groups,
    target.standStill === undefined ? WITHOUT_STANDING_STILL : BEFORE_STANDING_STILL,
  );
  for (const group of groups) signalGroup(group, SIGKILL);
  const { survivors, isOutrun } = await killAll(look, target, isStopped);
  for (const survivor of survivors) met.delete(identify(survivor));
  return { ended: [...met.values()], survivors, isOutrun };
}

async function askToEnd(living: readonly ProcessStat[], graceMs: number): Promise<void> {
  for (const process of living) {
    signalProcess(process, SIGTERM);
    // A stopped process could not act on SIGTERM.
    signalProcess(process, SIGCONT);
  }
  await waitUntilGone(living, graceMs);
}

/** Adds the groups it finds to `groups`. False when there were always new processes. */
function stopAll(look: () => Sighting, groups: Set<number>, limits: LookLimits): boolean {
  for (const group of groups) signalGroup(group, SIGSTOP);
  const stopped = new Set<string>();
  let tookMs = 0;
  for (let looks = 0; looks < limits.looks && tookMs <= limits.lookMs; looks++) {
    const beganAtMs = performance.now();
    const fresh = look().living.filter((process) => !stopped.has(identify(process)));
    tookMs = performance.now() - beganAtMs;
    if (fresh.length === 0) return true;
    for (const process of fresh) {
      stopped.add(identify(process));
      if (!signalProcess(process, SIGSTOP)) continue;
      // From now on it cannot leave its group, so the group's number stays valid. All members of the group are in its
      // session, which began below one of our children and contains nobody else.
      const now = readStat(process.pid);
      if (now === null || now.startTime !== process.startTime || groups.has(now.pgid)) continue;
      groups.add(now.pgid);
      signalGroup(now.pgid, SIGSTOP);
    }
  }
  return false;
}

/** `isStopped`: the last look found no new process. */
async function killAll(
  look: () => Sighting,
  { standStill }: Target,
  isStopped: boolean,
): Promise<Pick<EndingOutcome, "survivors" | "isOutrun">> {
  const deadline = performance.now() + KILL_LIMIT_MS;
  let killed = new Set<string>();
  const kill = ({ living }: Sighting): void => {
    for (const process of living) signalProcess(process, SIGKILL);
    killed = new Set(living.map(identify));
  };
  let zombiesBefore: ReadonlySet<string> | null = null;
  let isOutrun = !isStopped;
  let stillsLeft = MAX_STILLS;
  for (let round = 1;; round++) {
    const standsStill = isOutrun && standStill !== undefined && stillsLeft-- > 0;
    if (standsStill) {
      // A look that nothing can dodge, and shorter than any other: processes that fork that fast take our time as well.
      let sighting: Sighting | undefined;
      await standStill(() => kill(sighting = look()));
      await waitUntilGone(sighting?.living ?? [], KILL_WAIT_MS);
    }
    const sighting = look();
    const { living } = sighting;
    const zombies: ReadonlySet<string> = new Set(sighting.zombies.map(identify));
    // A single look can miss a process that was forked meanwhile; but then its parent's zombie is new.
    const hasNewZombies = zombiesBefore === null || !zombies.isSubsetOf(zombiesBefore);
    if (living.length === 0 && !hasNewZombies) return { survivors: [], isOutrun: false };
    const isNews = living.length === 0 || living.some((process) => !killed.has(identify(process)));
    // On a machine that is this busy a single look may have taken all of the time.
    if (performance.now() > deadline && !standsStill) return { survivors: living, isOutrun: isNews };
    isOutrun = isNews && round > FREE_ROUNDS;
    zombiesBefore = zombies;
    kill(sighting);
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
  // 0 and 1 would mean our own group and all processes.
  if (pgid > 1) sendSignal(-pgid, signal);
}

/** Numbers are reused; a number with a start time is not. */
export function identify(process: ProcessStat): string {
  return `${process.pid}@${process.startTime}`;
}
