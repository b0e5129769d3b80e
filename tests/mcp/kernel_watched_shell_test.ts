/** What is concluded from looks at the process list during which processes go on. */

import assert from "node:assert/strict";
import { livesInSession } from "../../src/mcp/kernel_supervised_shell.ts";
import type { ProcessStat } from "../../src/os/children/procfs.ts";

const SHELL = 100;

function process(pid: number, state: string, sid = SHELL): ProcessStat {
  return { pid, state, ppid: 1, pgid: sid, sid, startTime: pid };
}

const shell = process(SHELL, "Z");
const elsewhere = [process(200, "S", 200), process(201, "Z", 200)];

/** What is found by these looks, in turn; and how many were taken. */
function foundBy(looks: readonly (readonly ProcessStat[])[], hasShellEnded = true) {
  let taken = 0;
  const list = () => [...looks[taken++]!, ...elsewhere];
  return { lives: livesInSession(SHELL, hasShellEnded, list), taken };
}

Deno.test("livesInSession() takes one look where all that has ended is the shell, before", () => {
  assert.deepEqual(foundBy([[shell]]), { lives: false, taken: 1 });
  assert.deepEqual(foundBy([[shell, process(101, "S")]]), { lives: true, taken: 1 });
  assert.deepEqual(foundBy([[]]), { lives: false, taken: 1 });
});

Deno.test("livesInSession() looks again for what somebody has started who ended during the look", () => {
  const parent = process(101, "Z");
  assert.deepEqual(foundBy([[shell, parent], [shell, parent, process(102, "R")]]), { lives: true, taken: 2 });
  // The shell itself may have ended just now.
  assert.deepEqual(foundBy([[shell], [shell, process(101, "R")]], false), { lives: true, taken: 2 });
});

Deno.test("livesInSession() does not count what had ended by the look before, and may stay", () => {
  const unreaped = process(101, "Z");
  assert.deepEqual(foundBy([[shell, unreaped], [shell, unreaped]]), { lives: false, taken: 2 });
});

Deno.test("livesInSession() believes that somebody lives who always leaves something new that has ended", () => {
  const ended = Array.from({ length: 4 }, (_, look) => [shell, process(101 + look, "Z")]);
  assert.deepEqual(foundBy(ended), { lives: true, taken: 4 });
});
