import assert from "node:assert/strict";
import { ownGroupOfCommand } from "../../../src/process/posix/command_group.ts";
import { command, eventually, RecordedChild } from "../../support/recorded_child.ts";
import { sandboxTest } from "../../support/sandbox_host.ts";

const SIGKILL = 9;
const SIGTERM = 15;

sandboxTest("signals reach a command that has made a group of its own, as without a sandbox", async (host) => {
  const script = "trap 'echo caught' TERM; echo up; while :; do sleep 0.05; done";
  // It makes a group for itself and its child, unless it leads one.
  const request = command(["timeout", "600", "sh", "-c", script], { cwd: `${host.root}/ws` });
  for (const asked of [request, host.confined(request, host.sandbox("read /"))]) {
    const child = await RecordedChild.start(host.backend, asked);
    await child.saw("stdout", "up");
    assert.equal(child.process.signalGroup(SIGTERM), true);
    await eventually("the trap has run", () => child.text("stdout").includes("caught"));
    child.process.signalGroup(SIGKILL);
    await child.exit;
    await child.end;
    child.process.dispose();
  }
});

Deno.test("a number that means another process by now names no group", () => {
  assert.equal(ownGroupOfCommand(Deno.pid, Deno.ppid), null);
  assert.equal(ownGroupOfCommand(Deno.ppid, 2 ** 22 + 1), null);
});
