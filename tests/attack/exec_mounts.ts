/**
 * Attacks by way of directories that are mounted in two places: a program that was written in one must not leave the
 * sandbox from the other, where the sandbox could not write.
 */

import assert from "node:assert/strict";
import { mayMountHere, NO_FOREIGN_PROCFS } from "../support/foreign_procfs.ts";
import { ESCALATE, type SupervisedScene, supervisedTest } from "../support/supervised_scene.ts";
import { IS_ROOT, ONLY_ROOT } from "./scene.ts";

const NAME = `${IS_ROOT ? "root" : "unprivileged"}, programs in two places`;
/** What an attacker calls its program. */
const RULES = { mytool: ESCALATE };

/** Why nothing can be mounted; null when it can. */
const OBSTACLE = IS_ROOT ? NO_FOREIGN_PROCFS : ONLY_ROOT;

function attackHere(name: string, fn: (scene: SupervisedScene) => Promise<void>): void {
  if (OBSTACLE === null) supervisedTest(`${NAME}: ${name}`, fn);
  else Deno.test({ name: `${NAME}: ${name} (SKIPPED: ${OBSTACLE})`, ignore: true, fn() {} });
}

const attack: typeof attackHere = mayMountHere(import.meta.url) ? attackHere : () => {};

async function mount(...args: string[]): Promise<void> {
  await Deno.mkdir(args.at(-1)!, { recursive: true });
  const { success, stderr } = new Deno.Command("mount", { args }).outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
}

function umount(place: string): void {
  new Deno.Command("umount", { args: ["-l", place] }).outputSync();
}

/** A program whose run outside leaves a file that nobody else makes. */
const write = (scene: SupervisedScene, path: string) =>
  `printf '#!/bin/sh\\n: > ${scene.out}/WIN\\n' > ${path}; chmod 755 ${path}`;

async function refuses(scene: SupervisedScene, path: string, sandbox?: string): Promise<void> {
  const { stderr, escalations } = await scene.run(path, {
    rules: RULES,
    ...(sandbox === undefined ? {} : { sandbox }),
  });
  assert.match(stderr, /can be written from inside the sandbox; a rule for this exact path would allow it\n$/);
  assert.equal(escalations.at(-1)!.type, "refused");
  assert.ok(!Array.from(Deno.readDirSync(scene.out)).some(({ name }) => name === "WIN"));
}

attack("the workspace and a directory of it are mounted elsewhere", async (scene) => {
  const aliases = [`${scene.out}/all`, `${scene.out}/sub`];
  await mount("--bind", scene.ws, aliases[0]!);
  await mount("--bind", `${scene.ws}/sub`, aliases[1]!);
  try {
    await scene.run(`${write(scene, "mytool")}; ${write(scene, "sub/mytool")}`);
    for (const alias of aliases) {
      await refuses(scene, `${alias}/mytool`);
      await refuses(scene, `${alias}/mytool`, "read /");
    }
  } finally {
    aliases.forEach(umount);
  }
});

attack("the second place was granted, and the program lies in the first", async (scene) => {
  const granted = `${scene.ws}/granted`;
  await Deno.mkdir(`${scene.out}/tools`);
  // The workspace is known before anything is mounted there.
  await scene.run(":");
  await mount("--bind", `${scene.out}/tools`, granted);
  try {
    await scene.run(write(scene, "granted/mytool"));
    await refuses(scene, `${scene.out}/tools/mytool`);
    umount(granted);
    await refuses(scene, `${scene.out}/tools/mytool`);
  } finally {
    umount(granted);
  }
});

attack("a program that cannot be written in either place leaves the sandbox", async (scene) => {
  const [tools, shown] = [`${scene.out}/tools`, `${scene.ws}/shown`];
  await Deno.mkdir(tools);
  await Deno.writeTextFile(`${tools}/mytool`, "#!/bin/sh\nexit 7\n", { mode: 0o755 });
  await mount("--bind", "-o", "ro", tools, shown);
  try {
    const { exitCode, escalations, stderr } = await scene.run(`${tools}/mytool`, { rules: RULES });
    assert.deepEqual([escalations.at(-1)?.type, exitCode], ["exited", 7], stderr);
    await refuses(scene, `${shown}/mytool`);
  } finally {
    umount(shown);
  }
});
