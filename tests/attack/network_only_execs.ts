/**
 * Attacks from sandboxes that confine only the network: to run outside, under an allowed name, what was written inside.
 */

import assert from "node:assert/strict";
import { ESCALATE, type SupervisedScene, supervisedTest } from "../support/supervised_scene.ts";
import { namesIn } from "../support/sandbox_host.ts";
import { IS_ROOT } from "./scene.ts";

const USER = IS_ROOT ? "root" : "unprivileged";
const TOUCH_IS_ALLOWED = { rules: { touch: ESCALATE } };

function attack(name: string, fn: (scene: SupervisedScene) => Promise<void>): void {
  supervisedTest(`${USER}, only the network is confined: ${name}`, fn);
}

/** A program of the attacker's. If it runs outside, there is a file that nobody else makes. */
const writeEvil = (scene: SupervisedScene) => `printf '#!/bin/sh\\n: > ${scene.out}/WIN\\n' > touch; chmod 755 touch`;

attack("nothing that the sandbox could have written leaves it", async (scene) => {
  const { stderr } = await scene.run(`${writeEvil(scene)}; ./touch x`, {
    ...TOUCH_IS_ALLOWED,
    sandbox: "unrestricted",
  });
  assert.match(stderr, /can be written .*; a rule for this exact path would allow it\n$/);
  const later = await scene.run("./touch x", { ...TOUCH_IS_ALLOWED, sandbox: "read /" });
  assert.match(later.stderr, /can be written /);
  assert.ok(!namesIn(scene.out).includes("WIN"));
});

attack("programs of other users leave; for root only those that are named", async (scene) => {
  const sandbox = "unrestricted";
  const command = `/usr/bin/touch ${scene.out}/FINE`;
  const { escalations } = await scene.run(command, { ...TOUCH_IS_ALLOWED, sandbox });
  assert.equal(escalations.at(-1)!.type, IS_ROOT ? "refused" : "exited");
  const named = { touch: { kind: "escalate", pathIsNamed: true } } as const;
  const { exitCode } = await scene.run(command, { rules: named, sandbox });
  assert.equal(exitCode, 0);
});
