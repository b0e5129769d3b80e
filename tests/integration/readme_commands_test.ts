/** The first two minutes of README.md, typed by somebody with an empty home. */

import assert from "node:assert/strict";
import { CommandHome } from "../support/command_home.ts";

const PAGE = new URL("../../README.md", import.meta.url);

interface Step {
  readonly command: string;
  /** `…` on a line of its own stands for any output. */
  readonly shows: string;
}

function stepsOf(page: string): Step[] {
  const [, block = ""] = /<!-- commands: begin .*?```\n(.*?)```\n.*?<!-- commands: end -->/s.exec(page) ?? [];
  return block.split(/^\$ /m).slice(1).map((step) => {
    const end = step.indexOf("\n");
    return { command: step.slice(0, end), shows: step.slice(end + 1) };
  });
}

Deno.test("the commands at the beginning of README.md do what it says", async () => {
  const steps = stepsOf(await Deno.readTextFile(PAGE));
  assert.ok(steps.length >= 5);
  await using home = await CommandHome.make();
  const [program, ...words] = home.words([]);
  await Deno.mkdir(`${home.path}/bin`);
  const script = `#!/bin/sh\nexec ${[program, ...words].map((word) => `'${word}'`).join(" ")} "$@"\n`;
  await Deno.writeTextFile(`${home.path}/bin/exec-server`, script, { mode: 0o755 });
  for (const { command, shows } of steps) {
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: ["-c", command],
      cwd: home.path,
      clearEnv: true,
      env: { ...home.env, PATH: `${home.path}/bin:${Deno.env.get("PATH")}` },
      stdin: "null",
    }).output();
    const said = new TextDecoder().decode(stdout);
    assert.equal(code, 0, `${command}: ${new TextDecoder().decode(stderr)}`);
    if (shows !== "…\n") assert.equal(said, shows, command);
    else if (!command.includes("logs")) assert.notEqual(said, "", command);
  }
});
