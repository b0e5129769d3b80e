/** The null device that a confined root reads from, and may not change. */

import assert from "node:assert/strict";
import { withoutCapabilities } from "../../../src/os/children/thread_capabilities.ts";
import { listProcesses } from "../../../src/os/children/procfs.ts";
import { closeDescriptor, readInto } from "../../../src/os/descriptor.ts";
import { allocate } from "../../../src/os/libc.ts";
import { openInNamespace, protectedNullInput } from "../../../src/process/posix/protected_input.ts";
import { NO_SANDBOX } from "../../support/sandbox_host.ts";

Deno.test({
  name: "a protected input is the null device, and read-only even if the server may not mount" +
    (NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`),
  ignore: NO_SANDBOX !== null,
  fn() {
    const children = () => listProcesses().filter(({ ppid }) => ppid === Deno.pid).map(({ pid }) => pid);
    const before = children();
    // As root of a container: it may do nothing that others may not.
    const input = withoutCapabilities(protectedNullInput);
    const inNamespace = openInNamespace();
    for (const fd of [input, inNamespace]) {
      assert.ok(fd !== null);
      const path = `/proc/self/fd/${fd}`;
      assert.equal(Deno.statSync(path).isCharDevice, true);
      assert.equal(readInto(fd, allocate(1)), 0);
      // The mode that it has: where this test fails nothing is changed.
      assert.throws(() => Deno.chmodSync(path, Deno.statSync("/dev/null").mode! & 0o777), /Read-only file system/);
      closeDescriptor(fd);
    }
    assert.deepEqual(children(), before);
  },
});
