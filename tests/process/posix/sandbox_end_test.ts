/** What is left of a sandbox when its end has been told. */

import assert from "node:assert/strict";
import { listProcesses } from "../../../src/os/children/procfs.ts";
import { RecordedChild, shell } from "../../support/recorded_child.ts";
import { sandboxTest } from "../../support/sandbox_host.ts";

sandboxTest("no zombie is left of a confined process, before anybody looks for one", async (host) => {
  for (const policy of ["read /, write ws", "read /"]) {
    const request = shell("sleep 1000 > /dev/null 2>&1 & exit 0", { cwd: `${host.root}/ws` });
    const { process } = await RecordedChild.run(host.backend, host.confined(request, host.sandbox(policy)));
    // The last thing inside to end was in the wrapper's group, and became our child when the wrapper ended.
    const left = listProcesses().filter(({ ppid, pgid }) => ppid === Deno.pid && pgid === process.pid);
    assert.deepEqual(left, [], policy);
  }
});
