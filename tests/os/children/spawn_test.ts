/** What can only be seen in a process of its own, or with the C library at hand. */

import assert from "node:assert/strict";
import { closeDescriptor, O_RDWR } from "../../../src/os/descriptor.ts";
import { cString, libc } from "../../../src/os/libc.ts";
import { PosixBackend } from "../../../src/process/posix/posix_backend.ts";
import { fixtureCommand, outputOf, quoted } from "../../support/fixture.ts";
import { command, PIPES, RecordedChild, TERMINAL } from "../../support/recorded_child.ts";

Deno.test("a child has no descriptor above 2, whatever we were left with", async () => {
  // Not close-on-exec: as if our own launcher had left it to us.
  const stray = libc().open(cString("/dev/null"), O_RDWR, 0);
  const backend = new PosixBackend();
  try {
    for (const io of [PIPES, TERMINAL]) {
      const child = await RecordedChild.run(backend, command(["ls", "/proc/self/fd"], { io }));
      const output = child.text(io.type === "pty" ? "pty" : "stdout");
      // The fourth is the directory being listed.
      assert.deepEqual(output.trim().split(/\s+/), ["0", "1", "2", "3"]);
    }
  } finally {
    closeDescriptor(stray);
    await backend.close({ graceMs: 0 });
  }
});

Deno.test("200 children at once leave no descriptor, no zombie and no process behind", async () => {
  const output = JSON.parse(await outputOf(fixtureCommand("spawn_many")));
  assert.deepEqual(output, { wrong: 0, newDescriptors: 0, zombies: 0, left: 0 });
});

Deno.test("exit statuses are known even if our launcher left SIGCHLD ignored", async () => {
  const launch = `trap '' CHLD; exec ${fixtureCommand("spawn_many").map(quoted).join(" ")}`;
  const output = JSON.parse(await outputOf(["bash", "-c", launch]));
  assert.deepEqual(output, { wrong: 0, newDescriptors: 0, zombies: 0, left: 0 });
});
