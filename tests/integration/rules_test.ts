/** `execpolicy check` and `rules`, as commands. */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli } from "../support/test_server.ts";

Deno.test("execpolicy check prints the reference's JSON, on one line or several", () =>
  inScratchDirectory(async (directory) => {
    const file = `${directory}/a.rules`;
    await Deno.writeTextFile(file, `prefix_rule(["git", "push"], "prompt", justification = "é\\n")\n`);
    const expected = {
      matchedRules: [{ prefixRuleMatch: { matchedPrefix: ["git", "push"], decision: "prompt", justification: "é\n" } }],
      decision: "prompt",
    };
    const check = (...words: string[]) => runCli(["execpolicy", "check", "--rules", file, ...words]);
    assert.deepEqual(await check("git", "push", "--pretty"), {
      code: 0,
      stdout: `${JSON.stringify(expected)}\n`,
      stderr: "",
    });
    assert.equal((await check("--pretty", "--", "git", "push")).stdout, `${JSON.stringify(expected, null, 2)}\n`);
    assert.deepEqual(await check("ls"), { code: 0, stdout: `{"matchedRules":[]}\n`, stderr: "" });
  }));

Deno.test("execpolicy check exits 1 for files it cannot use, and 2 for words it cannot read", () =>
  inScratchDirectory(async (directory) => {
    const file = `${directory}/a\u202e.rules`;
    await Deno.writeTextFile(file, `x = 1\nprefix_rule(["ls"], "deny\x1b[31m")\n`);
    const broken = await runCli(["execpolicy", "check", "--rules", file, "ls"]);
    assert.deepEqual([broken.code, broken.stdout], [1, ""]);
    const shown = file.replace("\u202e", "\\u202e");
    assert.equal(
      broken.stderr,
      `Error: failed to parse policy at ${shown}

Caused by:
    starlark error: error: invalid decision: deny\\u001b[31m
     --> ${shown}:2:1
      |
    2 | prefix_rule(["ls"], "deny\\u001b[31m")
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
`,
    );
    const missing = await runCli(["execpolicy", "check", "--rules", `${directory}/none`, "ls"]);
    assert.deepEqual([missing.code, missing.stderr.split("\n")[0]], [
      1,
      `Error: failed to read policy at ${directory}/none`,
    ]);
    for (const words of [["check", "ls"], ["check", "--rules", file], ["chek"], [], ["check", "--rulez", "x", "ls"]]) {
      assert.equal((await runCli(["execpolicy", ...words])).code, 2, words.join(" "));
    }
  }));

Deno.test("rules explain says which rule of which line decided, and what would have without it", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(
      `${directory}/a.rules`,
      `prefix_rule(["git"])\nprefix_rule(["git", "push"], "forbidden")\n`,
    );
    const { code, stdout } = await runCli(["rules", "explain", "--only", "--rules", directory, "--", "git", "push"]);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `\`git push\` is forbidden by the rule \`git push\` of ${directory}/a.rules:2. Without it the command would be ` +
        `allowed by the rule \`git\` of ${directory}/a.rules:1.\n`,
    );
  }));

Deno.test("rules list shows all kinds of rules, and says of network rules that nothing enforces them", () =>
  inScratchDirectory(async (directory) => {
    const file = `${directory}/a.rules`;
    await Deno.writeTextFile(
      file,
      `prefix_rule(["git", ["push", "pull"]], "prompt", justification = "ask")
host_executable("git", ["/usr/bin/git"])
network_rule("Example.com", "https", "deny")
`,
    );
    await Deno.symlink(file, `${directory}/b.rules`);
    const { code, stdout, stderr } = await runCli(["rules", "list", "--only", "-r", directory]);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `1 file, 1 rule
prompt    git [push|pull]  ${file}:1  # ask
host      git is /usr/bin/git  ${file}:2
network   forbidden https example.com (not enforced)  ${file}:3
`,
    );
    assert.equal(stderr, `exec-server: not read, because it is not a regular file: ${directory}/b.rules\n`);
  }));

Deno.test("rules refuses what it cannot use, with the place", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/a.rules`, "x = \n");
    const broken = await runCli(["rules", "list", "--only", "--rules", directory]);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /cannot use .*a\.rules.*unexpected new line, expected expression[^]*a\.rules:1:5/);
    assert.equal((await runCli(["rules", "explain"])).code, 2);
    assert.equal((await runCli(["rules", "list", "x"])).code, 2);
    assert.equal((await runCli(["rules", "list", "--only"])).code, 2);
    for (const words of [["rules", "--help"], ["execpolicy", "--help"], ["rules", "explain", "-h"]]) {
      const help = await runCli(words);
      assert.deepEqual([help.code, help.stderr], [0, ""]);
      assert.match(help.stdout, /^Usage: exec-server /);
      assert.deepEqual(help.stdout.split("\n").filter((line) => line.length > 80), []);
    }
  }));
