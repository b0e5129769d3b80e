/** Output of children after their shell has ended: none of it is lost, whoever has the pipe and however they come by it. */

import assert from "node:assert/strict";
import { lateLine, prepareLateOutput, runToLateOutput } from "../support/late_output.ts";
import { forSeeds } from "../support/seeds.ts";
import { supervisedTest } from "../support/supervised_scene.ts";

const CONFINED = ["read /, write ws", "read /"] as const;
/** Ten times as many in `tests/soak/late_output.ts`. */
const RUNS = 20;

/** The output waits in a socket, and no process has it open. */
const IN_A_SOCKET = `
import os, socket
a, b = socket.socketpair()
if os.fork():
    b.recv(1)
    os._exit(0)
c, d = socket.socketpair()
socket.send_fds(c, [b"x"], [1])
null = os.open("/dev/null", os.O_RDWR)
for fd in 0, 1, 2: os.dup2(null, fd)
a.send(b"x")
open("go").readline()
_, fds, _, _ = socket.recv_fds(d, 1, 1)
os.write(fds[0], b"late\\n")
`;

/** The first thread has ended, and with it what /proc says of the process. */
const IN_A_THREAD = `
import ctypes, os, threading
child = os.fork()
if child:
    while open(f"/proc/{child}/stat").read().split()[2] != "Z": pass
    os._exit(0)
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
    supervisedTest(`${sandbox}: a child's output is not cut off while only ${where} has it`, async (scene) => {
      await prepareLateOutput(scene);
      await Deno.writeTextFile(`${scene.ws}/late.py`, program);
      const { stdout, exitCode } = await runToLateOutput(scene, "python3 late.py", sandbox);
      assert.deepEqual([stdout, exitCode], ["late\n", 0]);
    });
  }

  supervisedTest(`${sandbox}: a child's output is not cut off while its parents end`, async (scene) => {
    await prepareLateOutput(scene);
    await forSeeds(RUNS, async (random) => {
      const command = lateLine(random);
      const { stdout } = await runToLateOutput(scene, command, sandbox);
      assert.equal(stdout, "late\n", command);
    });
  });
}
