/** Copies of the shell are the shell also when whoever forked them has ended: a job that is left behind may leave. */

import assert from "node:assert/strict";
import { ESCALATE, supervisedEachWay, type SupervisedScene } from "../support/supervised_scene.ts";

/** A job that executes this once the process that forked it has ended. */
const orphan = (command: string): string =>
  "p=$BASHPID; { while read -r _ _ _ parent _ < /proc/$BASHPID/stat && [ $parent -eq $p ]; do :; done; " +
  `${command}; } &`;
const ORPHAN = orphan("id -u");
const RULES = { id: ESCALATE };

/** For each `id` that was asked about: whether it was the shell's. */
async function askedAbout(scene: SupervisedScene, command: string, sandbox: string | null) {
  const { calls, counters, stdout } = await scene.run(command, { sandbox, rules: RULES });
  const asked = calls.filter(({ file }) => file.endsWith("/id")).map(({ isShell }) => isShell);
  assert.equal(counters.escalated, asked.filter((isShell) => isShell).length, command);
  assert.equal(stdout, `${Deno.uid()}\n`.repeat(asked.length), command);
  return asked;
}

supervisedEachWay("a job that outlives the shell is the shell's, at any depth", async (scene, sandbox) => {
  assert.deepEqual(await askedAbout(scene, ORPHAN, sandbox), [true]);
  assert.deepEqual(await askedAbout(scene, `bash -c 'id -u'; ( ( ${ORPHAN} ) )`, sandbox), [false, true]);
  assert.deepEqual(await askedAbout(scene, orphan(`( ${ORPHAN} )`), sandbox), [true]);
});

supervisedEachWay("what the shell forked before it became a program is the shell's", async (scene, sandbox) => {
  const job = "{ while read -r name < /proc/$$/comm && [ $name = bash ]; do :; done; id -u; kill -KILL $$; } &";
  assert.deepEqual(await askedAbout(scene, `${job} exec sleep 1000`, sandbox), [true]);
});

supervisedEachWay("a job that a program leaves behind is not the shell's", async (scene, sandbox) => {
  const nested = `bash -c '${ORPHAN}'`;
  assert.deepEqual(await askedAbout(scene, nested, sandbox), [false]);
  assert.deepEqual(await askedAbout(scene, orphan(nested), sandbox), [false]);
  // The kernel does not know what this is: the shell's copy goes on with it, and has become no other program.
  await Deno.writeTextFile(`${scene.ws}/script`, `${ORPHAN}\n`, { mode: 0o755 });
  assert.deepEqual(await askedAbout(scene, "./script", sandbox), [false]);
});
