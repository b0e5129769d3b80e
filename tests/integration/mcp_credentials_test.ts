/** What the MCP server knows for itself stays with it, seen from programs inside of the sandbox and outside. */

import assert from "node:assert/strict";
import { mcpTest, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { descendantsOf, ENV, environmentOf, SECRET } from "../support/own_credentials.ts";
import { until } from "../support/until.ts";

const RULES = `
prefix_rule(pattern = ["env"], decision = "allow")
prefix_rule(pattern = ["tail"], decision = "allow")
`;
/** Of the reference, meant only for a server: no child of the websocket server has them either. */
const MEANT_FOR_SERVERS = { NODE_REPL_AUTH_TOKEN: SECRET, OPENAI_IDENTITY_TOKEN_FILE: SECRET };

/** What a program inside finds: its own variables, and those of every process that it sees. */
const INSIDE = "printenv; cat /proc/self/environ /proc/[0-9]*/environ | tr '\\0' '\\n'";
/** The same program outside, and a child of it. */
const OUTSIDE = "env; env printenv";

mcpTest("no program has a credential of the MCP server, inside of the sandbox or outside", async (scene) => {
  const { work, env } = scene;
  const rules = `${work}/../own.rules`;
  await Deno.writeTextFile(rules, RULES);
  for (const sandbox of ["read-only", "workspace-write"]) {
    const audit = `${work}/../${sandbox}.jsonl`;
    const args = ["--rules", rules, "--sandbox", sandbox, "--tools", "all", "--audit", audit];
    await using server = new McpServer({ args, env: { ...env, ...ENV, ...MEANT_FOR_SERVERS }, cwd: work });
    const { peer } = server;
    await peer.initialize();
    for (const command of [INSIDE, OUTSIDE]) {
      for (const login of [false, true]) {
        const { output } = textOf(await peer.call("shell", { ...shell(command, work), login }));
        assert.ok(output.match(/^PLAIN_TOKEN=the-operator's$/gm).length >= 2, output);
        assert.ok(!output.includes(SECRET), `${sandbox}, login ${login}: ${command}`);
      }
    }
    const lines = (await Deno.readTextFile(audit)).trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.filter(({ outcome }) => outcome === "escalate").length, 4, "they were outside");

    // Nor has any other process of the server's, such as a sandbox that waits for its command.
    void peer.call("shell", shell("tail -f /dev/null & env sleep 600; wait", work)).catch(() => {});
    const found = () => descendantsOf(server.pid).map(({ commandLine }) => commandLine);
    const isThere = (words: string) => found().some((line) => line === words);
    await until(() => isThere("tail -f /dev/null") && isThere("sleep 600"), () => found().join(", "));
    for (const { pid, commandLine } of descendantsOf(server.pid)) {
      assert.ok(!environmentOf(pid).includes(SECRET), commandLine);
    }
  }
});
