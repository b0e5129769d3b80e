/**
 * Races against strict supervision: to run inside what was denied, by changing after the look what the call means.
 *
 * What varies between two races is the time at which threads run, so the seed changes nothing here.
 */

import assert from "node:assert/strict";
import type { ExecCall, ExecVerdict } from "../../src/mcp/supervised_shell.ts";
import { proof } from "../support/proof.ts";
import { FORBIDDEN, NO_WATCH, SupervisedScene } from "../support/supervised_scene.ts";

/** Of each kind of program, in each kind of sandbox: 2000 for each thing that is changed. */
const RACES = 334;
const RACER = new URL("../fixtures/racing_exec.py", import.meta.url).pathname;
const PYTHON = "/usr/bin/python3";

/** In a sandbox that is made for its command, and in one that was made before. */
const SANDBOXES = ["read /, write ws", "read /"];

/** What is changed: the path, or what it refers to. */
const CHANGES: Readonly<Record<string, { readonly what: string; readonly program: string }>> = {
  "a path changed": { what: "path", program: "" },
  "an open file changed": { what: "descriptor", program: "" },
  "the directory changed": { what: "directory", program: "./tool" },
  "an open directory changed": { what: "opened", program: "tool" },
};

/** Ways to lay two programs of which the second is forbidden. Each prints something by which it is known. */
const RACERS: Readonly<Record<string, (good: string, bad: string) => Promise<void>>> = {
  scripts: async (good, bad) => {
    await Deno.writeTextFile(good, "#!/bin/sh\necho FINE\n", { mode: 0o755 });
    await Deno.writeTextFile(bad, "#!/bin/sh\necho WON\n", { mode: 0o755 });
  },
  programs: async (good, bad) => {
    await Deno.copyFile("/usr/bin/uname", good);
    await Deno.copyFile("/usr/bin/id", bad);
  },
  "a program and a script": async (good, bad) => {
    await Deno.writeTextFile(good, "#!/bin/sh\necho FINE\n", { mode: 0o755 });
    await Deno.copyFile("/usr/bin/id", bad);
  },
};

for (const sandbox of SANDBOXES) {
  for (const [name, { what, program }] of Object.entries(CHANGES)) {
    for (const [kind, lay] of Object.entries(RACERS)) {
      const claim = `${name} by another thread runs nothing that was denied: ${kind} (sandbox: ${sandbox})`;
      proof({ name: claim, tries: RACES, unit: "races", missing: NO_WATCH }, async ({ tries, remark }) => {
        await using scene = await SupervisedScene.open();
        const [first, second] = ["a", "b"].map((directory) => `${scene.ws}/${directory}`) as [string, string];
        await Promise.all([Deno.mkdir(first), Deno.mkdir(second)]);
        const [good, bad] = [`${first}/tool`, `${second}/tool`];
        await lay(good, bad);
        const args = program === "" ? [good, bad] : [first, second, program];
        const command = `${PYTHON} ${RACER} ${tries} ${what} ${args.join(" ")}`;
        const decide = ({ file }: ExecCall): Promise<ExecVerdict> =>
          Promise.resolve(file === bad ? FORBIDDEN : { kind: "run" });
        const count = (stdout: string, said: RegExp) => stdout.split("\n").filter((line) => said.test(line)).length;
        // The proof that it is a race: without strict supervision the sandbox is the wall, and some are won.
        const loose = await scene.run(command, { sandbox, decide });
        const { stdout, counters } = await scene.run(command, { sandbox, decide, strictExec: true });
        assert.equal(count(stdout, /WON|uid=/), 0, `with ${counters.mismatched} killed`);
        assert.ok(count(stdout, /FINE|Linux/) > 0, "what was decided runs");
        const won = count(loose.stdout, /WON|uid=/);
        remark(`0 won, ${counters.mismatched} killed; without strict supervision ${won} won`);
      });
    }
  }
}
