/** What becomes of children when the server is killed, by killing one. */

import assert from "node:assert/strict";
import { listProcesses, readStat } from "../../src/os/procfs.ts";
import { fixtureCommand } from "../support/fixture.ts";
import { Gate } from "../support/gate.ts";
import { eventually } from "../support/recorded_child.ts";

/** Starts the scripts under a server, kills it as soon as `expected` lines have come to the gate, and returns all lines. */
async function killServerOf(gate: Gate, expected: number, scripts: readonly string[]): Promise<string[]> {
  const [program, ...args] = fixtureCommand("doomed_server", scripts);
  const server = new Deno.Command(program!, { args, stdout: "piped" }).spawn();
  const ready = server.stdout.getReader();
  const file = await Deno.open(gate.path);
  const reader = file.readable.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n").length <= expected) text += (await reader.read()).value ?? assert.fail(`ended: ${text}`);
  await ready.read();
  await ready.cancel();
  const guard = childNamed(server.pid, "exec-server-guard");
  server.kill("SIGKILL");
  await server.status;
  // The end of file comes when nobody holds the gate any more: not the children, and not what they started.
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  await eventually("the guard has ended too", () => guard !== undefined && readStat(guard) === null);
  return text.trim().split("\n").sort();
}

function childNamed(ppid: number, name: string): number | undefined {
  return listProcesses().find((process) => {
    return process.ppid === ppid && Deno.readTextFileSync(`/proc/${process.pid}/cmdline`).includes(name);
  })?.pid;
}

Deno.test("children of a killed server get SIGTERM, and none survives", async () => {
  const directory = await Deno.makeTempDir();
  const gate = await Gate.make(directory, "gate");
  // Shells remark on signalled jobs on their standard error, which is broken by then and would end them.
  const hold = `exec 3> ${gate.path} 2> /dev/null`;
  const forever = "while :; do sleep 0.05; done";
  const lines = await killServerOf(gate, 5, [
    `${hold}; trap 'echo asked >&3; exit' TERM; echo 1 polite >&3; ${forever}`,
    `${hold}; trap '' TERM HUP; echo 2 stubborn >&3; ${forever}`,
    `${hold}; setsid -f sh -c 'trap "" TERM; echo 3 daemon >&3; ${forever}'`,
    `pty:${hold}; trap '' HUP; echo 4 terminal >&3; ${forever}`,
    `${hold}; kill -STOP $$ & echo 5 stopped >&3; ${forever}`,
  ]);
  assert.deepEqual(lines, ["1 polite", "2 stubborn", "3 daemon", "4 terminal", "5 stopped", "asked"]);
  await Deno.remove(directory, { recursive: true });
});
