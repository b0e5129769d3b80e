/** What the MCP server makes of unusual requests of its client. */

import assert from "node:assert/strict";
import { mcpTest, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";

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
