/**
 * Lines of children that come after the shell has ended, while the children's parents end: of hundreds of commands in
 * sandboxes none is lost. `SOAK_SEED` and `SOAK_LATE_LINES` repeat or scale a run.
 */

import assert from "node:assert/strict";
import { lateLine, prepareLateOutput, runToLateOutput } from "../support/late_output.ts";
import { Random } from "../support/random.ts";
import { supervisedTest } from "../support/supervised_scene.ts";

const SEED = Number(Deno.env.get("SOAK_SEED") ?? Date.now() % 1_000_000);
const LINES = Number(Deno.env.get("SOAK_LATE_LINES") ?? 200);

for (const sandbox of ["read /, write ws", "read /"]) {
  supervisedTest(`${sandbox}: ${LINES} late lines all arrive (SOAK_SEED=${SEED})`, async (scene) => {
    await prepareLateOutput(scene);
    const random = new Random(SEED);
    const lost: string[] = [];
    for (let line = 0; line < LINES; line++) {
      const command = lateLine(random);
      const { stdout } = await runToLateOutput(scene, command, sandbox);
      if (stdout !== "late\n") lost.push(command);
    }
    assert.deepEqual(lost, []);
  });
}
