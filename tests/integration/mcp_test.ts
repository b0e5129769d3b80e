/** The MCP server as a whole: real shells, real sandboxes, over its standard streams and over HTTP. */

import assert from "node:assert/strict";
import { McpHttpClient } from "../support/mcp_http_client.ts";
import { McpPeer } from "../support/mcp_peer.ts";
import { mcpTest, RULES, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { processesMarked } from "../support/proc.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

mcpTest(
  "programs run inside, leave by a rule, are asked about or do not run, and each decision is told",
  async (scene) => {
    const audit = `${scene.work}/../audit.jsonl`;
    const { work, rules, env } = scene;
    await using server = new McpServer({ args: [...rules, "--audit", audit], env, cwd: work });
    const { peer } = server;
    await peer.initialize();
    peer.onElicit = () => ({ action: "accept", content: {} });
    // The last leaves when the shell has ended.
    const command = `touch made; echo x > denied; id; env id; uname &`;
    const result = textOf(await peer.call("shell", shell(command, work)));
    assert.equal(result.exit_code, 0);
    assert.match(result.output, /^Linux\n/);
    assert.match(result.output, /Read-only file system/);
    assert.equal(result.denied.length, 2, "also what another program starts");
    assert.deepEqual([...Deno.readDirSync(work)].map(({ name }) => name), ["made"]);
    assert.match(peer.prompts[0]!.message, /^Allow agent to run `\/(usr\/)?bin\/uname` in `.*\/work`\?$/);

    const lines = (await Deno.readTextFile(audit)).trimEnd().split("\n").map((line) => JSON.parse(line));
    const decisions = lines.filter(({ event }) => event === "decision");
    const seen = decisions.map(({ argv, outcome, byShell }) => `${argv.join(" ")}: ${outcome} ${byShell}`);
    assert.deepEqual(seen, [
      "touch made: escalate true",
      "id: deny true",
      "env id: run true",
      "id: deny false",
      "uname: escalate true",
    ]);
    assert.match(decisions[0].rules[0].file, /test\.rules$/);
    assert.equal(decisions[0].rules[0].line, 2);
    assert.equal((await Deno.stat(audit)).mode! & 0o777, 0o600);
    assert.ok(lines.some(({ event, outcome }) => event === "escalation" && outcome === "exited"));
  },
);

mcpTest("output keeps its order where it is asked for, and is whole when a child holds it open", async ({ env }) => {
  await using server = new McpServer({ args: ["--tools", "all"], env });
  const { peer } = server;
  await peer.initialize();
  const command = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
  const merged = await peer.call("shell", { ...shell(command), merge_output: true });
  assert.equal(textOf(merged).output, "o1\ne1\no2\ne2\no3\ne3\n");
  assert.equal(textOf(await peer.call("shell", shell(command))).output, "o1\no2\no3\ne1\ne2\ne3\n");
  assert.equal(textOf(await peer.call("shell", shell("sleep 600 & echo hi"))).output, "hi\n");
});

mcpTest("of a hundred commands that are asked for at once no more start than a client may have", async ({ env }) => {
  await using server = new McpServer({ args: ["--tools", "all"], env });
  const { peer } = server;
  await peer.initialize();
  const call = () => peer.call("shell", { ...shell("exec sleep 61779"), yield_ms: 1500 });
  const answers = await Promise.allSettled(Array.from({ length: 100 }, call));
  const refused = answers.filter((answer) => answer.status === "rejected");
  for (const { reason } of refused) {
    assert.match(reason.message, /^Cannot start the command: 64 others of this client still run or wait; end one/);
  }
  assert.equal(refused.length, 36);
  const [first] = answers.flatMap((answer) => answer.status === "fulfilled" ? [textOf(answer.value)] : []);
  assert.equal(textOf(await peer.call("shell_stop", { handle: first.handle })).stopped, true);
  assert.equal(textOf(await peer.call("shell", shell("echo room"))).output, "room\n");
  await server[Symbol.asyncDispose]();
  assert.deepEqual(processesMarked("sleep 61779"), []);
});

mcpTest("a command is continued by its handle: polled, written to, stopped", async ({ env }) => {
  await using server = new McpServer({ args: ["--tools", "all"], env });
  const { peer } = server;
  await peer.initialize();
  const first = textOf(
    await peer.call("shell", { ...shell("echo one; read x; echo got $x; sleep 600"), yield_ms: 500, stdin: true }),
  );
  assert.equal(first.running, true);
  const { handle } = first;
  let output = first.output;
  const look = async (tool: string, args: object) => {
    const result = textOf(await peer.call(tool, { handle, ...args }));
    output += result.output;
    return result;
  };
  while (!output.includes("one\n")) await look("shell_poll", { wait_ms: 200 });
  await look("shell_input", { text: "two\n", wait_ms: 0 });
  while (!output.includes("got two\n")) await look("shell_poll", { wait_ms: 200 });
  assert.equal((await look("shell_stop", {})).stopped, true);
});

mcpTest(
  "the end of a call, of the client and of the server end what the command has started, inside and outside",
  async (scene) => {
    const { work, rules, env } = scene;
    const ways = ["cancelled", "timed out", "end of input", "SIGTERM"] as const;
    for (const [index, way] of ways.entries()) {
      await using server = new McpServer({ args: rules, env, cwd: work });
      const { peer } = server;
      await peer.initialize();
      // A number that no other process has among its words.
      const mark = `${600 + index}.${server.pid}`;
      const id = peer.nextId;
      const timeoutMs = way === "timed out" ? 2000 : 120_000;
      // The first sleeps outside, the second inside: the shell's own programs alone may leave.
      const command = `sleep ${mark} & env sleep ${mark}; wait`;
      const call = peer.call("shell", { ...shell(command), timeout_ms: timeoutMs }).catch(() => null);
      await until(() => sleepers(mark).length === 2, () => `${way}: two sleepers, there are ${sleepers(mark).length}`);
      if (way === "cancelled") peer.notify("notifications/cancelled", { requestId: id });
      if (way === "timed out") assert.equal(textOf(await call).timed_out, true);
      if (way === "end of input") await server.closeInput();
      if (way === "SIGTERM") server.kill("SIGTERM");
      await until(() => sleepers(mark).length === 0, () => `${way}: sleepers are left`);
      if (way !== "cancelled" && way !== "timed out") assert.equal((await server.status).code, 0);
    }
  },
);

mcpTest("a killed server takes everything with it", async ({ work, rules, env }) => {
  const server = new McpServer({ args: rules, env, cwd: work });
  await server.peer.initialize();
  const mark = `700.${server.pid}`;
  void server.peer.call("shell", shell(`sleep ${mark} & env sleep ${mark}; wait`)).catch(() => {});
  await until(() => sleepers(mark).length === 2, () => "no sleepers");
  server.kill("SIGKILL");
  await until(() => sleepers(mark).length === 0, () => "sleepers are left");
  await server[Symbol.asyncDispose]();
});

mcpTest("a command cannot write or add rules for itself", async ({ work }) => {
  await Deno.mkdir(`${work}/rules`);
  await Deno.writeTextFile(`${work}/rules/a.rules`, RULES);
  const args = ["--sandbox", "workspace-write", "--rules", `${work}/rules`];
  await using server = new McpServer({ args, env: { CODEX_HOME: work }, cwd: work });
  const { peer } = server;
  await peer.initialize();
  const mine = `prefix_rule(pattern = ["id"], decision = "allow")`;
  const command =
    `echo ok > file; echo '${mine}' > rules/b.rules; echo '${mine}' > rules/a.rules; rm -r rules; mv rules old; id`;
  const { output, denied } = textOf(await peer.call("shell", shell(command, work)));
  assert.match(output, /Read-only file system|Permission denied|Device or resource busy/);
  assert.match(denied[0].command, /\/id$/);
  assert.equal(await Deno.readTextFile(`${work}/rules/a.rules`), RULES);
  assert.deepEqual([...Deno.readDirSync(`${work}/rules`)].map(({ name }) => name), ["a.rules"]);
  assert.equal(await Deno.readTextFile(`${work}/file`), "ok\n");
});

mcpTest(
  "a command cannot write its clients' configuration, existing or not, and leaves no placeholder",
  async (scene) => {
    const { work, env } = scene;
    await Deno.writeTextFile(`${work}/.mcp.json`, "{}");
    await using server = new McpServer({ args: ["--sandbox", "workspace-write"], env, cwd: work });
    const { peer } = server;
    await peer.initialize();
    const command = `echo x > .mcp.json; rm -f .mcp.json; mv .mcp.json other; for d in .vscode .claude .git .aws; do
    mkdir $d; echo x > $d/settings.json; mv $d other; done; echo ok > file`;
    await peer.call("shell", shell(command, work));
    assert.deepEqual([...Deno.readDirSync(work)].map(({ name }) => name).sort(), [".mcp.json", "file"]);
    assert.equal(await Deno.readTextFile(`${work}/.mcp.json`), "{}");
  },
);

mcpTest(
  "a command that may write all files, but has no network, is not judged by rules that it writes",
  async (scene) => {
    const { work, rules, env } = scene;
    const [, file] = rules;
    const mine = `prefix_rule(pattern = [["sh", "id"]], decision = "allow")`;
    for (const profile of [{ type: "external" }, { type: "managed", file_system: { type: "unrestricted" } }]) {
      await using server = new McpServer({ args: rules, env, cwd: work });
      const { peer } = server;
      await peer.initialize();
      const call = async (command: string, permissions: object) => {
        const state = { ...permissions, sandboxCwd: `file://${work}` };
        return textOf(await peer.call("shell", shell(command, work), { "codex/sandbox-state": state }));
      };
      const inside = "sh -c 'grep NoNewPrivs /proc/self/status'; id";
      const permissionProfile = { ...profile, network: "restricted" };
      const written = await call(`echo '${mine}' > ${file}; ${inside}`, { permissionProfile });
      assert.match(written.output, /NoNewPrivs:\s*1/);
      assert.match(written.denied[0].command, /\/id$/);
      assert.equal(await Deno.readTextFile(file!), `${mine}\n`);
      // Nor is a later one, in any sandbox.
      const later = await call(inside, { sandboxPolicy: { type: "read-only" } });
      assert.match(later.output, /NoNewPrivs:\s*1/);
      assert.match(later.denied[0].command, /\/id$/);
      await Deno.writeTextFile(file!, RULES);
    }
  },
);

mcpTest("over HTTP both eras ask and run, and a client that goes away ends its command", async ({ rules, env }) => {
  const { program, args } = serverCommand();
  const command = [program, ...args, "mcp", ...rules, "--log-level", "info"];
  await using server = await TestServer.start({ command, listen: "127.0.0.1:0", env });
  const client = new McpHttpClient({ url: server.url });
  await client.peer.initialize();
  client.peer.onElicit = () => ({ action: "accept", content: {} });
  assert.equal(textOf(await client.peer.call("shell", shell("uname; echo after"))).output, "Linux\nafter\n");

  const { peer } = new McpHttpClient({ url: server.url });
  const meta = McpPeer.modernMeta();
  const words = shell("uname | cat; uname; echo after");
  let answer = await peer.call("shell", words, meta);
  for (let round = 0; answer.resultType === "input_required"; round++) {
    assert.ok(round < 2);
    const accept = { action: "accept", content: {} };
    const inputResponses = Object.fromEntries(Object.keys(answer.inputRequests).map((id) => [id, accept]));
    answer = await peer.call("shell", words, meta, { requestState: answer.requestState, inputResponses });
  }
  assert.equal(textOf(answer).output, "Linux\nLinux\nafter\n");

  server.kill("SIGHUP");
  await server.logged("there is nothing to read again");

  const mark = `800.${server.pid}`;
  void client.peer.call("shell", shell(`env sleep ${mark}`)).catch(() => {});
  await until(() => sleepers(mark).length > 0, () => "no sleeper");
  await client.drop();
  await until(() => sleepers(mark).length === 0, () => "the sleeper is left");
});

Deno.test("what cannot be used stops the server before it answers, with the reference's words and exit codes", () =>
  inScratchDirectory(async (directory) => {
    const bad = `${directory}/bad.rules`;
    await Deno.writeTextFile(bad, 'prefix_rule(pattern = ["x"], decision = "nope")\n');
    const ends = async (args: string[], env: Record<string, string> = {}) => {
      const server = new McpServer({ args, env: { CODEX_HOME: directory, ...env } });
      const [{ code }, log] = await Promise.all([server.status, server.log]);
      await server[Symbol.asyncDispose]();
      return [code, log] as const;
    };
    const [code, log] = await ends(["--rules", bad]);
    assert.equal(code, 1);
    assert.ok(log.includes(`failed to parse rules file ${bad}`) && log.includes("invalid decision: nope"), log);
    const missing = await ends([], { CODEX_HOME: `${directory}/no-such-home` });
    assert.equal(missing[0], 1);
    assert.match(missing[1], /CODEX_HOME points to ".*no-such-home", but that path does not exist/);
    assert.equal((await ends(["--nonsense"]))[0], 2);
    assert.equal((await ends(["--audit", `${directory}/none/audit`]))[0], 1);
  }));

/** The processes that sleep for so long. */
function sleepers(mark: string): string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name).filter((pid) => {
    try {
      return /^\d+$/.test(pid) && Deno.readTextFileSync(`/proc/${pid}/cmdline`) === `sleep\0${mark}\0`;
    } catch {
      return false;
    }
  });
}
