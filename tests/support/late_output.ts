/**
 * Commands of which a child writes a line after the shell has ended. It waits for a line that the test writes then, so
 * nothing depends on time.
 */

import assert from "node:assert/strict";
import type { Random } from "./random.ts";
import type { Outcome, SupervisedScene } from "./supervised_scene.ts";

/** How a parent may end after it has started another process. */
const ENDINGS = ["", ":", "exec > /dev/null 2>&1", "for i in 1 2 3 4 5 6 7 8; do :; done", "exec /bin/true"];

/** The line comes from a process whose parents end at about the time at which the shell does. */
export function lateLine(random: Random): string {
  const parents = Array.from({ length: 1 + random.int(4) }, () => random.pick(ENDINGS));
  const writer = random.pick(["sh late.sh", "{ read -r line < go; echo late; }"]);
  return `${parents.reduce((child, ending) => `(${child} & ${ending})`, writer)} & exit 0`;
}

/** What such commands need in their directory. */
export async function prepareLateOutput({ ws }: SupervisedScene): Promise<void> {
  const made = await new Deno.Command("mkfifo", { args: ["-m", "666", `${ws}/go`] }).output();
  assert.ok(made.success, new TextDecoder().decode(made.stderr));
  await Deno.writeTextFile(`${ws}/late.sh`, "read -r line < go; echo late\n");
}

/** Runs one and lets its child write when the shell has ended. */
export async function runToLateOutput(scene: SupervisedScene, command: string, sandbox: string): Promise<Outcome> {
  // Open for both: neither side waits for the other to open it.
  using go = await Deno.open(`${scene.ws}/go`, { read: true, write: true });
  const { shell, outcome } = await scene.start(command, { sandbox, intercept: "shell" });
  await shell.exited;
  await go.write(new TextEncoder().encode("go\n"));
  const end = await outcome();
  // Whoever was not waited for must not take the line of the next run.
  await shell.terminate();
  return end;
}
