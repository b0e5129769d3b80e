/** Who asked, as the audit of a real MCP server tells it: over its standard streams, and over HTTP with two tokens. */

import assert from "node:assert/strict";
import { McpHttpClient } from "../support/mcp_http_client.ts";
import { McpPeer } from "../support/mcp_peer.ts";
import { mcpTest, shell } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { runCli, serverCommand, TestServer } from "../support/test_server.ts";

// deno-lint-ignore no-explicit-any
type Line = any;

async function linesOf(path: string): Promise<Line[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n").map((line) => JSON.parse(line));
}

mcpTest("two programs of the same file that leave at the same time are told apart, and so are calls", async (scene) => {
  const { work, rules, env } = scene;
  const audit = `${work}/../audit.jsonl`;
  await using server = new McpServer({ args: [...rules, "--audit", audit], env, cwd: work });
  const { peer } = server;
  await peer.initialize();
  const command = shell("sleep 0 & sleep 0 & wait; /nowhere/x; true", work);
  // A client may say the same of two calls.
  await Promise.all([peer.call("shell", command, { callId: "c" }), peer.call("shell", command, { callId: "c" })]);
  const lines = await linesOf(audit);
  assert.equal(new Set(lines.map(({ session }) => session)).size, 1);
  assert.ok(lines.every(({ holder, call, client }) => holder === null && call === "c" && client === "test"));
  assert.deepEqual(new Set(lines.map(({ callNumber }) => callNumber)), new Set([1, 2]));
  for (const number of [1, 2]) {
    const own = lines.filter(({ callNumber }) => callNumber === number);
    const decisions = own.filter(({ event }) => event === "decision");
    const callers = new Set(decisions.map(({ pid }) => pid));
    assert.equal(callers.size, 2);
    for (const caller of callers) {
      const ends = own.filter(({ event, callerPid }) => event === "escalation" && callerPid === caller);
      assert.deepEqual(ends.map(({ outcome }) => outcome), ["started", "exited"]);
    }
    const failed = own.filter(({ event }) => event === "failed");
    assert.deepEqual(failed.map(({ file, byShell, reason }) => [file, byShell, reason]), [
      ["/nowhere/x", true, "No such file or directory (os error 2)"],
    ]);
  }
});

mcpTest("with tokens each line names the token by which a client was let in, in both eras", async (scene) => {
  const { work, rules, env } = scene;
  const [audit, tokens] = [`${work}/../audit.jsonl`, `${work}/../tokens.json`];
  const { program, args } = serverCommand();
  const clientOf = async (name: string) => {
    const words = ["--tokens", tokens, "--name", name, "--roles", "client", "--ids", "*"];
    const { code, stdout, stderr } = await runCli(["token", "create", ...words]);
    assert.equal(code, 0, stderr);
    return { authorization: `Bearer ${stdout.trim()}` };
  };
  const [alice, bob] = [await clientOf("alice"), await clientOf("bob")];
  await using server = await TestServer.start({
    command: [program, ...args, "mcp", ...rules, "--audit", audit, "--ws-auth", "tokens", "--tokens", tokens],
    listen: "127.0.0.1:0",
    env,
    cwd: work,
  });
  for (const headers of [alice, bob, alice]) {
    const { peer } = new McpHttpClient({ url: server.url, headers });
    await peer.initialize({ name: "codex-mcp-client" });
    await peer.call("shell", shell("touch x", work), { callId: "call_1" });
  }
  const meta = { ...McpPeer.modernMeta({ name: "codex-mcp-client" }), callId: "call_1" };
  for (const headers of [alice, bob]) {
    await new McpHttpClient({ url: server.url, headers }).peer.call("shell", shell("touch x", work), meta);
  }
  const lines = await linesOf(audit);
  assert.ok(lines.every(({ call, client }) => call === "call_1" && client === "codex-mcp-client"));
  const decisions = lines.filter(({ event }) => event === "decision");
  assert.deepEqual(decisions.map(({ holder }) => holder), ["alice", "bob", "alice", "alice", "bob"]);
  assert.deepEqual(decisions.map(({ callNumber }) => callNumber), [1, 2, 3, 4, 5]);
  assert.equal(new Set(decisions.map(({ session }) => session)).size, 5);
  const others = lines.filter(({ event }) => event === "escalation");
  assert.deepEqual(others.map(({ holder }) => holder), decisions.flatMap(({ holder }) => [holder, holder]));
});
