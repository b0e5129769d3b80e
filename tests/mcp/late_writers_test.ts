/**
 * Output of children after their shell has ended: none of it is lost, whoever has the pipe and however they come by it.
 *
 * The children wait for a line that the test writes once the shell has ended. So nothing here depends on time.
 */

import assert from "node:assert/strict";
import type { Random } from "../support/random.ts";
import { forSeeds } from "../support/seeds.ts";
import { type Outcome, type WatchedScene, watchTest } from "../support/watched_scene.ts";

const RUNS = 20;
const CONFINED = ["read /, write ws", "read /"] as const;

/** Runs a command, and lets it read one line from `go` when its shell has ended. */
async function letGoAfterShell(scene: WatchedScene, command: string, sandbox: string): Promise<Outcome> {
  // Open for both: neither side waits for the other to open it.
  using go = await Deno.open(`${scene.ws}/go`, { read: true, write: true });
  const { shell, outcome } = await scene.start(command, { sandbox, intercept: "shell" });
  await shell.exited;
  await go.write(new TextEncoder().encode("go\n"));
  return await outcome();
}

/** How a parent may end after it has started another process. */
const ENDINGS = ["", ":", "exec > /dev/null 2>&1", "for i in 1 2 3 4 5 6 7 8; do :; done", "exec /bin/true"];

/** A line from a process whose parents end at about the time at which the shell does. */
function lateLine(random: Random): string {
  const parents = Array.from({ length: 1 + random.int(4) }, () => random.pick(ENDINGS));
  const writer = random.pick(["sh late.sh", "{ read -r line < go; echo late; }"]);
  return `${parents.reduce((child, ending) => `(${child} & ${ending})`, writer)} & exit 0`;
}

async function makeFifo(scene: WatchedScene): Promise<void> {
  const made = await new Deno.Command("mkfifo", { args: ["-m", "666", `${scene.ws}/go`] }).output();
  assert.ok(made.success, new TextDecoder().decode(made.stderr));
}

/** The output waits in a socket, and no process has it open. */
const IN_A_SOCKET = `
import os, socket
if os.fork(): os._exit(0)
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [1])
null = os.open("/dev/null", os.O_RDWR)
for fd in 0, 1, 2: os.dup2(null, fd)
open("go").readline()
_, fds, _, _ = socket.recv_fds(b, 1, 1)
os.write(fds[0], b"late\\n")
`;

/** The first thread has ended, and with it what /proc says of the process. */
const IN_A_THREAD = `
import ctypes, os, threading
if os.fork(): os._exit(0)
def write():
    open("go").readline()
    os.write(1, b"late\\n")
    os._exit(0)
threading.Thread(target=write).start()
EXIT_OF_A_THREAD = 60
ctypes.CDLL(None).syscall(EXIT_OF_A_THREAD, 0)
`;

for (const sandbox of CONFINED) {
  for (const [where, program] of Object.entries({ "a socket": IN_A_SOCKET, "another thread": IN_A_THREAD })) {
    watchTest(`${sandbox}: a child's output is not cut off while only ${where} has it`, async (scene) => {
      await makeFifo(scene);
      await Deno.writeTextFile(`${scene.ws}/late.py`, program);
      const { stdout, exitCode } = await letGoAfterShell(scene, "python3 late.py", sandbox);
      assert.deepEqual([stdout, exitCode], ["late\n", 0]);
    });
  }

  watchTest(`${sandbox}: a child's output is not cut off while its parents end`, async (scene) => {
    await makeFifo(scene);
    await Deno.writeTextFile(`${scene.ws}/late.sh`, "read -r line < go; echo late\n");
    await forSeeds(RUNS, async (random) => {
      const command = lateLine(random);
      const { stdout } = await letGoAfterShell(scene, command, sandbox);
      assert.equal(stdout, "late\n", command);
    });
  });
}
