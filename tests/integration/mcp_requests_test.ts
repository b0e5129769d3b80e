/** What the MCP server makes of unusual requests of its client. */

import assert from "node:assert/strict";
import { McpPeer } from "../support/mcp_peer.ts";
import { mcpTest, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

mcpTest(
  "a policy of the client that restricts what is read holds, and what is ignored of it is told once",
  async (scene) => {
    const { work, env } = scene;
    await Deno.writeTextFile(`${work}/../secret`, "secret");
    await Deno.writeTextFile(`${work}/own`, "own\n");
    await using server = new McpServer({ env, cwd: work });
    const { peer } = server;
    await peer.initialize();
    const sandboxPolicy = { type: "read-only", access: { type: "restricted" }, newer: 1 };
    const meta = { "codex/sandbox-state": { sandboxPolicy, sandboxCwd: work } };
    const read = async () => textOf(await peer.call("shell", shell("/bin/cat own; /bin/cat ../secret", work), meta));
    const { output, exit_code } = await read();
    assert.match(output, /^own\n.*secret: No such file or directory\n$/);
    assert.equal(exit_code, 1);
    await read();
    await server.closeInput();
    assert.equal((await server.log).match(/sandboxPolicy\.newer/g)?.length, 1);
  },
);

mcpTest("a message that is too long is refused and told, and the next one is served", async ({ env }) => {
  await using server = new McpServer({ env });
  const { peer } = server;
  await peer.initialize();
  void peer.call("shell", shell("x".repeat(11_000_000)));
  assert.equal((await peer.request("tools/list")).tools.length, 1);
  assert.deepEqual(peer.strays.map(({ error }) => error?.code), [-32_600]);
  const { exit_code } = textOf(await peer.call("shell", shell(`test ${"x".repeat(100_000)}`)));
  assert.equal(exit_code, 0);
  await server.closeInput();
  assert.match(await server.log, /a message has at most 10485760 bytes: this one was not read/);
});

mcpTest("what a command leaves running is ended, and the result says so, whatever its output is", async (scene) => {
  const { work, rules, env } = scene;
  await using server = new McpServer({ args: rules, env, cwd: work });
  const { peer } = server;
  await peer.initialize();
  const left: [string, true | undefined][] = [
    ["sleep 600 > /dev/null 2>&1 & echo begun", true],
    ["env sleep 600 > /dev/null 2>&1 & echo begun", true],
    ["(env sleep 600 > /dev/null 2>&1 &); echo begun", true],
    ["env sleep 0 > /dev/null 2>&1 & wait; echo begun", undefined],
    ["echo begun | cat", undefined],
    ["echo begun > >(cat)", undefined],
  ];
  const policies = ["read-only", "workspace-write", "danger-full-access"];
  for (const type of policies) {
    const meta = { "codex/sandbox-state": { sandboxPolicy: { type }, sandboxCwd: work } };
    for (const [command, expected] of left) {
      const { output, background_processes_ended } = textOf(await peer.call("shell", shell(command, work), meta));
      assert.deepEqual([output, background_processes_ended], ["begun\n", expected], `${type}: ${command}`);
    }
  }
});

mcpTest(
  "in the 2026 era a call that was answered with questions can be cancelled, which ends its processes",
  async (scene) => {
    const { work, rules, env } = scene;
    await using server = new McpServer({ args: rules, env, cwd: work });
    const { peer } = server;
    const file = `${work}/running`;
    const policy = { sandboxPolicy: { type: "workspace-write" }, sandboxCwd: work };
    const meta = { ...McpPeer.modernMeta(), "codex/sandbox-state": policy };
    const id = peer.nextId;
    // Whoever waits for the lock gets it when its holder has ended.
    const call = peer.call("shell", shell(`exec 9> ${file}; flock 9; uname; wait`, work), meta);
    assert.equal((await call).resultType, "input_required");
    const lock = (...args: string[]) => new Deno.Command("flock", { args: [...args, file, "true"] }).output();
    assert.equal((await lock("--nonblock")).code, 1, "it is held");
    const waiting = lock();
    peer.notify("notifications/cancelled", { requestId: id });
    assert.equal((await waiting).code, 0);
  },
);

Deno.test("a patched Bash, or its wrapper, that cannot be executed is named at the start", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/text`, "");
    const [missing, text] = [`${directory}/none`, `${directory}/text`];
    const wrong: [string[], RegExp][] = [
      [["--bash", missing], /cannot use .*\/none" .*: there is no such file\n/],
      [["--bash", text], /\/text" .*: it may not be executed/],
      [["--bash", directory], /: it is not a regular file/],
      [["--bash", "/bin/sh", "--execve", missing], /\/none" .*: there is no such file\n/],
    ];
    for (const [args, words] of wrong) {
      await using server = new McpServer({ args, env: { CODEX_HOME: directory } });
      const { peer } = server;
      const answered = peer.initialize().then(() => null);
      const status = await Promise.race([server.status, answered]);
      assert.equal(status?.code, 1, args.join(" "));
      assert.match(await server.log, words);
    }
  }));

mcpTest("a workdir that is not a directory is named, in the same words in every sandbox", async ({ work, env }) => {
  await Deno.writeTextFile(`${work}/file`, "");
  await using server = new McpServer({ env, cwd: work });
  const { peer } = server;
  await peer.initialize();
  const said = async (workdir: string, type: string) => {
    const meta = { "codex/sandbox-state": { sandboxPolicy: { type }, sandboxCwd: work } };
    return await peer.call("shell", shell("pwd", workdir), meta).then(textOf, ({ code, message }) => [code, message]);
  };
  const start = "Cannot start the command:";
  for (const type of ["read-only", "workspace-write", "external-sandbox", "danger-full-access"]) {
    const missing = `${start} ${work}/none does not exist: No such file or directory (os error 2)`;
    assert.deepEqual(await said("none", type), [-32_603, missing], type);
    for (const name of ["file", "file/below"]) {
      const message = `${start} ${work}/${name} is not a directory: Not a directory (os error 20)`;
      assert.deepEqual(await said(name, type), [-32_603, message], type);
    }
  }
  await peer.request("codex/sandbox-state/update", { sandboxPolicy: { type: "read-only" }, sandboxCwd: work });
  assert.deepEqual(await said("none", "read-only"), [-32_603, "No such file or directory (os error 2)"]);
  assert.deepEqual(await said("file", "read-only"), [-32_603, "Not a directory (os error 20)"]);
});
