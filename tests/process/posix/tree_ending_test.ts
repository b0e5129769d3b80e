/**
 * The limit of a search where no control group can be made: `KILL_LIMIT_MS`. Shown on a machine that is not there, whose
 * clock goes on with every look, so it is the same everywhere. Storms on a real one: `tests/attack/fork_storms.ts`.
 */

import assert from "node:assert/strict";
import type { ProcessStat } from "../../../src/os/children/procfs.ts";
import {
  type EndingOutcome,
  endProcesses,
  KILL_LIMIT_MS,
  type Target,
} from "../../../src/process/posix/tree_ending.ts";

/** What each look takes. */
const LOOK_MS = 10;

/** A chain that forks, exits and leaves its session, so that each look finds a process that the last one did not. */
class Chain implements Target {
  readonly #forksForMs: number;
  readonly #isSeen: boolean;
  nowMs = 0;
  looks = 0;

  /** `isSeen`: looks find the newest process, and not only what is left of those before it. */
  constructor(forksForMs: number, { isSeen = true } = {}) {
    this.#forksForMs = forksForMs;
    this.#isSeen = isSeen;
  }

  look() {
    this.looks++;
    this.nowMs += LOOK_MS;
    if (this.nowMs > this.#forksForMs) return { living: [], zombies: [] };
    // Above every number that a process can have.
    const pid = 2 ** 22 + this.looks;
    const stat = (pid: number, state: string) =>
      ({ pid, ppid: 1, pgid: 0, sid: 0, state, startTime: BigInt(pid) }) as unknown as ProcessStat;
    // Always one zombie, as zombies are reaped meanwhile: their number tells nothing.
    return { living: this.#isSeen ? [stat(pid, "R")] : [], zombies: [stat(pid - 1, "Z")] };
  }

  groups(): number[] {
    return [];
  }
}

/** Ends the chain by its own clock, without anything that could freeze it. */
async function endAlone(chain: Chain): Promise<EndingOutcome> {
  const { now } = performance;
  performance.now = () => chain.nowMs;
  try {
    return await endProcesses(chain, 0);
  } finally {
    performance.now = now;
  }
}

Deno.test("without a control group, a chain that stops forking within the limit leaves no process", async () => {
  const { survivors, isOutrun } = await endAlone(new Chain(KILL_LIMIT_MS - 100));
  assert.deepEqual({ survivors, isOutrun }, { survivors: [], isOutrun: false });
});

Deno.test("without a control group, a chain that forks for longer is left over, and the search for it ends", async () => {
  const chain = new Chain(KILL_LIMIT_MS + 1_000);
  const { survivors, isOutrun } = await endAlone(chain);
  assert.deepEqual({ survivors: survivors.length, isOutrun }, { survivors: 1, isOutrun: true });
  // The search begins when everything has been stopped, which takes ten looks at most.
  assert.ok(chain.nowMs > KILL_LIMIT_MS && chain.nowMs <= KILL_LIMIT_MS + 12 * LOOK_MS, `it took ${chain.nowMs} ms`);
});

Deno.test("a chain of forks that no look finds is recognised by its zombies, and not taken for ended", async () => {
  const { survivors, isOutrun } = await endAlone(new Chain(KILL_LIMIT_MS + 1_000, { isSeen: false }));
  assert.deepEqual({ survivors, isOutrun }, { survivors: [], isOutrun: true });
});
