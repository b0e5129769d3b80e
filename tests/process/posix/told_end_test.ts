/** What is believed of what the stub that stays behind tells, and what is not. */

import assert from "node:assert/strict";
import { closeDescriptor, openPipe, writeFrom } from "../../../src/os/descriptor.ts";
import { sharedReactor } from "../../../src/os/loop/reactor.ts";
import type { ChildStatus } from "../../../src/os/children/child_reaping.ts";
import { ToldEnd } from "../../../src/process/posix/told_end.ts";

/** `exit 7`, and nothing else is left. */
const ALONE = Uint8Array.of(0, 7, 0, 0, 1);
/** SIGKILL, and something is left. */
const WITH_OTHERS = Uint8Array.of(9, 0, 0, 0, 0);

async function told(report: Uint8Array<ArrayBuffer>, tellerPid: number | null) {
  const { readEnd, writeEnd } = openPipe();
  const end = new ToldEnd(sharedReactor(), readEnd, tellerPid);
  const status = await new Promise<ChildStatus>((resolve) => {
    end.begin(resolve);
    assert.equal(writeFrom(writeEnd, report), report.length);
  });
  return { end, status, writeEnd, leavesNothing: end.leavesNothing() };
}

Deno.test("ToldEnd believes how a command ended, and that nothing is left where nothing is", async () => {
  const childless = new Deno.Command("sleep", { args: ["1000"] }).spawn();
  const script = "trap 'kill $!' TERM; sleep 1000 & echo; wait";
  const parent = new Deno.Command("sh", { args: ["-c", script], stdout: "piped" }).spawn();
  const output = parent.stdout.getReader();
  await output.read();
  for (
    const [report, pid, status, leavesNothing] of [
      [ALONE, childless.pid, { type: "exited", code: 7 }, true],
      [WITH_OTHERS, childless.pid, { type: "signaled", signal: 9 }, false],
      // It has a child, whatever is told.
      [ALONE, parent.pid, { type: "exited", code: 7 }, false],
      // A kernel that does not say who is below the teller.
      [ALONE, null, { type: "exited", code: 7 }, false],
    ] as const
  ) {
    const { end, writeEnd, ...seen } = await told(report, pid);
    assert.deepEqual({ status: seen.status, leavesNothing: seen.leavesNothing }, { status, leavesNothing });
    if (report === WITH_OTHERS) {
      writeFrom(writeEnd, Uint8Array.of(1));
      assert.equal(end.leavesNothing(), true, "the rest has ended, too");
    }
    end.close();
    closeDescriptor(writeEnd);
  }
  childless.kill("SIGKILL");
  parent.kill("SIGTERM");
  await output.cancel();
  await Promise.all([childless.status, parent.status]);
});
