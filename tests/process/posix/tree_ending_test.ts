/**
 * The limit of a search where no control group can be made: `KILL_LIMIT_MS`. Shown on a machine that is not there, whose
 * clock goes on with every look, so it is the same everywhere. Storms on a real one: `tests/attack/fork_storms.ts`.
 */

import assert from "node:assert/strict";
import type { ProcessStat } from "../../../src/os/children/procfs.ts";
import { endProcesses, KILL_LIMIT_MS, type Target } from "../../../src/process/posix/tree_ending.ts";

/** What each look takes. */
const LOOK_MS = 10;

/** A chain that forks, exits and leaves its session, so that each look finds a process that the last one did not. */
class Chain implements Target {
  readonly #forksForMs: number;
  nowMs = 0;
  looks = 0;

  constructor(forksForMs: number) {
    this.#forksForMs = forksForMs;
  }

  look() {
    this.looks++;
    this.nowMs += LOOK_MS;
    if (this.nowMs > this.#forksForMs) return { living: [], zombieCount: 0 };
    // Above every number that a process can have.
    const pid = 2 ** 22 + this.looks;
    const living = { pid, ppid: 1, pgid: 0, sid: 0, state: "R", startTime: BigInt(pid) } as unknown as ProcessStat;
    return { living: [living], zombieCount: this.looks };
  }

  groups(): number[] {
    return [];
  }
}

/** Ends the chain by its own clock, without anything that could freeze it. */
async function endAlone(chain: Chain): Promise<readonly ProcessStat[]> {
  const { now } = performance;
  performance.now = () => chain.nowMs;
  try {
    return (await endProcesses(chain, 0)).survivors;
  } finally {
    performance.now = now;
  }
}

Deno.test("without a control group, a chain that stops forking within the limit leaves nobody over", async () => {
  assert.deepEqual(await endAlone(new Chain(KILL_LIMIT_MS - 100)), []);
});

Deno.test("without a control group, a chain that forks for longer is left over, and the search for it ends", async () => {
  const chain = new Chain(KILL_LIMIT_MS + 1_000);
  assert.equal((await endAlone(chain)).length, 1);
  // The search begins when everything has been stopped, which takes ten looks at most.
  assert.ok(chain.nowMs > KILL_LIMIT_MS && chain.nowMs <= KILL_LIMIT_MS + 12 * LOOK_MS, `it took ${chain.nowMs} ms`);
});
