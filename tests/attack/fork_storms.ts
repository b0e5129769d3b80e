/**
 * The end of what forks faster than anybody can look. Where control groups can be made it is certain; where not, the limit
 * is that such a storm may be left over, which is then told.
 */

import assert from "node:assert/strict";
import { joinChildCgroup, leaveChildCgroup } from "../../src/os/children/child_cgroup.ts";
import type { ProcessStat } from "../../src/os/children/procfs.ts";
import { PosixBackend } from "../../src/process/posix/posix_backend.ts";
import { endProcesses, type Sighting } from "../../src/process/posix/tree_ending.ts";
import { ForkStorm } from "../support/fork_storm.ts";
import { areInstalled } from "../support/installed.ts";
import { command, input, PIPES_WITH_INPUT, RecordedChild, shell } from "../support/recorded_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

async function whyNot(): Promise<string | null> {
  if (!areInstalled(["perl"], "the end of processes that fork without end")) return "no perl";
  const group = await joinChildCgroup();
  await leaveChildCgroup();
  return group === null ? "no control groups can be made here" : null;
}

const REASON = Deno.build.os === "linux" ? await whyNot() : `no control groups on ${Deno.build.os}`;

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: REASON === null ? name : `${name} (SKIPPED: ${REASON})`, ignore: REASON !== null, fn });
}

test("a storm of forks ends with the process that began it, and nobody else does", () =>
  inScratchDirectory(async (directory) => {
    const backend = new PosixBackend();
    try {
      const echo = shell("echo up; while read line; do echo $line; done", { io: PIPES_WITH_INPUT });
      const other = await RecordedChild.start(backend, echo);
      await other.saw("stdout", "up\n");
      const storm = await ForkStorm.make(directory);
      const child = await RecordedChild.start(backend, command(storm.argv));
      await storm.begun;
      const { survivors, endedCount } = await backend.endTrees([child.process], { graceMs: 0 });
      await storm.ended();
      assert.deepEqual([survivors, endedCount > 0], [[], true]);
      child.process.dispose();
      // What stood still meanwhile goes on.
      await other.process.write(input("there\n"));
      await other.saw("stdout", "there\n");
      other.process.dispose();
    } finally {
      await backend.close({ graceMs: 0 });
    }
  }));

test("storms of several sessions end each with its own, one after the other", () =>
  inScratchDirectory(async (directory) => {
    const backend = new PosixBackend();
    try {
      for (let session = 0; session < 3; session++) {
        const storm = await ForkStorm.make(directory);
        const child = await RecordedChild.start(backend, command(storm.argv));
        await storm.begun;
        await backend.endTrees([child.process], { graceMs: 0 });
        await storm.ended();
        child.process.dispose();
      }
    } finally {
      await backend.close({ graceMs: 0 });
    }
  }));

/** Processes that are always others than those of the look before, on a machine that is not there. */
function endless(): { look: () => Sighting; end: () => void } {
  let looks = 0;
  let isOver = false;
  const look = () => {
    looks++;
    // Above every number that a process can have.
    const stat = (number: number, state: string) =>
      ({ pid: 2 ** 22 + number, ppid: 1, pgid: 0, sid: 0, state, startTime: BigInt(number) }) as unknown as ProcessStat;
    return isOver ? { living: [], zombies: [] } : { living: [stat(looks, "R")], zombies: [stat(looks - 1, "Z")] };
  };
  return { look, end: () => void (isOver = true) };
}

Deno.test("the limit: without freezing, processes that always fork anew survive, and are reported", async () => {
  const { look } = endless();
  const { survivors, isOutrun } = await endProcesses({ look, groups: () => [] }, 0);
  assert.deepEqual([survivors.length, isOutrun], [1, true]);
});

Deno.test("processes that always fork anew are ended by freezing them once", async () => {
  const { look, end } = endless();
  let stills = 0;
  const standStill = (work: () => void) => {
    stills++;
    work();
    end();
    return Promise.resolve(true);
  };
  const { survivors } = await endProcesses({ look, groups: () => [], standStill }, 0);
  assert.deepEqual([survivors, stills], [[], 1]);
});

Deno.test("a process that cannot be killed does not leave the others frozen", async () => {
  const stuck = { pid: 2 ** 22 + 1, ppid: 1, pgid: 0, sid: 0, state: "D", startTime: 1n } as unknown as ProcessStat;
  let stills = 0;
  const standStill = () => Promise.resolve(++stills > 0);
  const look = () => ({ living: [stuck], zombies: [] });
  const { survivors } = await endProcesses({ look, groups: () => [], standStill }, 0);
  assert.deepEqual([survivors, stills], [[stuck], 0]);
});
