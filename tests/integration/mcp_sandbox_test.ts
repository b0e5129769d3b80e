/** What a command of the MCP server may read and write: its sandbox as a client or the flag says it, for real. */

import assert from "node:assert/strict";
import { McpError } from "../support/mcp_peer.ts";
import { mcpTest, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";

mcpTest(
  "where a client's configuration is a link a call says what to do, and a directory of links is guarded",
  async (scene) => {
    const { work, env } = scene;
    const dotfiles = `${work}/../dotfiles`;
    await Deno.mkdir(dotfiles);
    await Deno.writeTextFile(`${dotfiles}/settings.json`, "{}");
    await Deno.symlink("../dotfiles", `${work}/.claude`);
    await using server = new McpServer({ args: ["--sandbox", "workspace-write"], env, cwd: work });
    const { peer } = server;
    await peer.initialize();
    const run = (command: string) => peer.call("shell", shell(command, work));
    await assert.rejects(run("true"), (error) => {
      assert.ok(error instanceof McpError && error.code === -32602);
      return /\/work\/\.claude: it is a symbolic link, .*\. Make it a directory/.test(error.message);
    });
    await Deno.remove(`${work}/.claude`);
    await Deno.mkdir(`${work}/.claude`);
    await Deno.symlink("../../dotfiles/settings.json", `${work}/.claude/settings.json`);
    const attempts = "cd .claude && cat settings.json && ! rm settings.json && ! ln -sf x settings.json";
    const result = textOf(
      await run(`(${attempts}); echo $?; mv .claude x; echo ok > file`),
    );
    assert.match(result.output, /^\{\}0\n/);
    assert.deepEqual([...Deno.readDirSync(work)].map(({ name }) => name).sort(), [".claude", "file"]);
    assert.equal(await Deno.readLink(`${work}/.claude/settings.json`), "../../dotfiles/settings.json");
  },
);

mcpTest("what a client lets be read can be written where temporary directories can", async (scene) => {
  const { work, rules } = scene;
  const tmp = await Deno.realPath(`${work}/..`);
  await Deno.mkdir(`${tmp}/own/below`, { recursive: true });
  await using server = new McpServer({ args: rules, env: { ...scene.env, TMPDIR: `${tmp}/own` }, cwd: work });
  const { peer } = server;
  await peer.initialize();
  const sandboxPolicy = {
    type: "workspace-write",
    read_only_access: { type: "restricted", readable_roots: [`${tmp}/own/below`] },
    exclude_slash_tmp: true,
  };
  const meta = { "codex/sandbox-state": { sandboxPolicy, sandboxCwd: work } };
  const { output } = textOf(await peer.call("shell", shell(`echo x > "$TMPDIR/below/file"; echo $?`, work), meta));
  assert.equal(output, "0\n");
  assert.equal(await Deno.readTextFile(`${tmp}/own/below/file`), "x\n");
  // For a client of the reference's time too.
  await peer.request("codex/sandbox-state/update", { sandboxPolicy, sandboxCwd: work });
  const later = textOf(await peer.call("shell", shell(`rm "$TMPDIR/below/file"; echo $?`, work)));
  assert.equal(later.output, "0\n");
});

mcpTest("a program that is called under another name does not leave, and nobody is asked about it", async (scene) => {
  const { work, rules, env } = scene;
  const audit = `${work}/../audit.jsonl`;
  await using server = new McpServer({ args: [...rules, "--audit", audit], env, cwd: work });
  const { peer } = server;
  await peer.initialize();
  peer.onElicit = () => ({ action: "accept", content: {} });
  const command =
    "(exec -a other /usr/bin/touch made); (exec -a other /usr/bin/uname); (exec -a other /bin/echo inside)";
  const { output, denied } = textOf(await peer.call("shell", shell(command, work)));
  assert.match(output, /^inside\n/);
  const reason = (name: string) =>
    `cannot leave the sandbox: it was called under another name than ${name}, and what it does may depend on that`;
  assert.deepEqual(denied, [
    { command: "exec -a other /usr/bin/touch made", reason: reason("touch") },
    { command: "exec -a other /usr/bin/uname", reason: reason("uname") },
  ]);
  assert.deepEqual(peer.prompts, []);
  assert.deepEqual([...Deno.readDirSync(work)], []);
  const lines = (await Deno.readTextFile(audit)).trimEnd().split("\n").map((line) => JSON.parse(line));
  const seen = lines.map(({ event, argv, outcome }) => [event, argv?.[0], outcome]);
  assert.deepEqual(seen, [
    ["decision", "other", "escalate"],
    ["escalation", undefined, "refused"],
    ["decision", "other", "deny"],
    ["decision", "other", "run"],
  ]);
});
