/**
 * An inherited mark that says which of our children a process descends from.
 *
 * A daemon that forks twice and starts its own session has lost every tie to the process that started it: parent, group
 * and session. But it still inherits its resource limits, and one of them, the soft limit on file locks, has no effect
 * on any kernel of this century. Each child starts with its own huge value there. So everything below it can be found
 * in `/proc/<pid>/limits`, by us and, after our death, by the guard.
 *
 * The mark is bookkeeping, not security: a program can change the limit on purpose, and a shell shows it as `ulimit
 * -x`. The environment cannot be used for it, because a child gets exactly the environment it was asked to have.
 *
 * A mark has 19 decimal digits: eleven of series (chance and our pid), then eight of serial number.
 */

import { getLimit, RLIMIT_LOCKS, setLimit } from "./resource_limits.ts";
import { readSoftLimit } from "./procfs.ts";

const LIMIT_NAME = "Max file locks";

/** Serial numbers per series, from 0. */
export const SERIAL_COUNT = 100_000_000;
const SERIALS = BigInt(SERIAL_COUNT);

/** Room for every pid Linux can have (below 2^22). */
const PIDS = 10_000_000n;

/** Four digits, never starting with 0: with pid and serial that makes 19 digits, below 2^63. */
const MIN_CHANCE = 1_000n;
const CHANCES = 8_000n;

const SMALLEST_MARK = MIN_CHANCE * PIDS * SERIALS;
const LARGEST_MARK = (MIN_CHANCE + CHANCES) * PIDS * SERIALS;

/** Reserved for the guard, which is ours but must not be ended with the others. */
export const GUARD_SERIAL = 0;

/** All marks that one running server gives out. */
export class MarkSeries {
  /** The leading digits common to all marks of the series. */
  readonly prefix: bigint;

  constructor(pid: number = Deno.pid) {
    const chance = new Uint32Array(1);
    crypto.getRandomValues(chance);
    this.prefix = (MIN_CHANCE + BigInt(chance[0]!) % CHANCES) * PIDS + BigInt(pid);
  }

  mark(serial: number): bigint {
    return this.prefix * SERIALS + BigInt(serial);
  }

  /** The serial number, when the mark is of this series. */
  serialOf(mark: bigint): number | null {
    return mark / SERIALS === this.prefix ? Number(mark % SERIALS) : null;
  }
}

/** The mark a process carries, from whatever series; null for none. */
export function readMark(pid: number): bigint | null {
  const soft = readSoftLimit(pid, LIMIT_NAME);
  return soft !== null && isMark(soft) ? soft : null;
}

/** Gives a mark to a running process; what it has already forked keeps the inherited one. */
export function setMark(pid: number, mark: bigint): void {
  const limit = getLimit(RLIMIT_LOCKS, pid);
  // A refusal does no harm: the program then runs with another user's rights, and what it inherited stays.
  if (limit !== null) setLimit(RLIMIT_LOCKS, { soft: mark, hard: limit.hard }, pid);
}

/** Whether marks can be given out here: the limit must not have been lowered. */
export function canMark(): boolean {
  const limit = getLimit(RLIMIT_LOCKS);
  return limit !== null && limit.hard >= LARGEST_MARK;
}

/** Whether this mark was made by this very process, which may run several servers in threads of their own. */
export function isOwnMark(mark: bigint): boolean {
  return isMark(mark) && mark / SERIALS % PIDS === BigInt(Deno.pid);
}

function isMark(value: bigint): boolean {
  return value >= SMALLEST_MARK && value < LARGEST_MARK;
}
