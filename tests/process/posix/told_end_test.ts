/** What is believed of what the stub that stays behind tells, and what is not. */

import assert from "node:assert/strict";
import { closeDescriptor, openPipe, writeFrom } from "../../../src/os/descriptor.ts";
import { listNumbersIn } from "../../../src/os/children/procfs.ts";
import { sharedReactor } from "../../../src/os/loop/reactor.ts";
import type { ChildStatus } from "../../../src/os/children/child_reaping.ts";
import { isBelow, ToldEnd } from "../../../src/process/posix/told_end.ts";
import { until } from "../../support/until.ts";

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
      // Nobody knows who is below the teller.
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

/** As a daemon does it. */
const CLOSING_ALL = "for fd in /proc/$BASHPID/fd/*; do eval exec ${fd##*/}'>&-'; done";

Deno.test("ToldEnd counts those as writers that have the output open, and not those that have nothing open", async () => {
  const output = openPipe();
  const told = openPipe();
  const opened = `/proc/${Deno.pid}/fd/${output.writeEnd}`;
  for (
    const [redirection, isWriter] of [
      [`exec > ${opened}`, true],
      [`exec 2> ${opened} > /dev/null`, true],
      ["exec > /dev/null 2>&1", false],
      [CLOSING_ALL, false],
    ] as const
  ) {
    const script = `(${redirection}; exec sleep 1000) & echo $!; wait`;
    const teller = new Deno.Command("bash", { args: ["-c", script], stdout: "piped", stderr: "null" }).spawn();
    const reader = teller.stdout.getReader();
    const child = Number(new TextDecoder().decode((await reader.read()).value));
    await until(() => commandLine(child).startsWith("sleep"), () => "it did not begin");
    if (redirection === CLOSING_ALL) assert.deepEqual(listNumbersIn(`/proc/${child}/fd`), []);
    const end = new ToldEnd(sharedReactor(), told.readEnd, teller.pid);
    assert.equal(end.leavesWriters([output.readEnd]), isWriter, redirection);
    Deno.kill(child, "SIGKILL");
    await Promise.all([teller.status, reader.cancel()]);
  }
  assert.equal(listNumbersIn("/proc/0/fd"), null);
  [output.readEnd, output.writeEnd, told.readEnd, told.writeEnd].forEach(closeDescriptor);
});

Deno.test("isBelow() asks again for the parent of one whose parent ended during the look", () => {
  const TELLER = 100;
  const seen = () =>
    new Map([[1, 0], [TELLER, 1], [101, TELLER], [102, 101], [200, 1], [300, 0], [400, 401], [401, 400]]);
  const nobody = () => assert.fail("everything is known");
  const below = (pid: number) => isBelow(pid, TELLER, seen(), nobody);
  assert.deepEqual([101, 102, 200, 300, 400].map(below), [true, true, false, false, true]);
  for (
    const [parentNow, isFound] of [
      [TELLER, true],
      [102, true],
      [1, false],
      [200, false],
      // A parent that is there, but not shown to us.
      [999, false],
      // Gone by now. What it started may be there.
      [undefined, true],
    ] as const
  ) {
    const parents = seen().set(500, 999).set(501, 500);
    assert.equal(isBelow(501, TELLER, parents, (pid) => pid === 500 ? parentNow : assert.fail()), isFound);
  }
});

function commandLine(pid: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`);
  } catch {
    return "";
  }
}
