/** What is believed of what the stub that stays behind tells, and what is not. */

import assert from "node:assert/strict";
import { closeDescriptor, openPipe, writeFrom } from "../../../src/os/descriptor.ts";
import { sharedReactor } from "../../../src/os/loop/reactor.ts";
import type { ChildStatus } from "../../../src/os/children/child_reaping.ts";
import { ToldEnd } from "../../../src/process/posix/told_end.ts";
import { RecordedChild, shell } from "../../support/recorded_child.ts";
import { sandboxTest } from "../../support/sandbox_host.ts";

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

Deno.test("ToldEnd accepts how a command ended, and that nothing is left if that is true", async () => {
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

sandboxTest(
  "output of a command whose end is told ends with its last writer, before the wrapper does",
  async (host) => {
    const wanted = shell("echo out; echo err >&2; exec >/dev/null 2>&1; sleep 600 & exit 3", {
      cwd: `${host.root}/ws`,
    });
    const { prepare } = host.service.confineCommand(host.sandbox("read /, write ws"), {
      ...wanted,
      enforceManagedNetwork: false,
      tellsEnd: true,
    })!;
    const child = await RecordedChild.start(host.backend, { ...wanted, confinement: { prepare } });
    assert.deepEqual(await child.exit, { type: "exited", code: 3 });
    await child.end;
    assert.deepEqual([child.text("stdout"), child.text("stderr")], ["out\n", "err\n"]);
    assert.equal(child.process.leavesNothing?.(), false);
    await host.backend.endTrees([child.process], { graceMs: 0 });
    child.process.dispose();
  },
);
