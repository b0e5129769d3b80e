/** The configurations of docs/mcp.md start a server that answers, its rules load, and its line of the audit is one. */

import assert from "node:assert/strict";
import { parse } from "smol-toml";
import { decide, loadRules } from "../../src/rules/mod.ts";
import { parseMcp } from "../../src/cli/mcp/mcp_options.ts";
import { auditLog } from "../../src/mcp/audit.ts";
import { Scene } from "../mcp/scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/mcp.md", import.meta.url));

function blocks(language: string): string[] {
  return Array.from(PAGE.matchAll(new RegExp("^```" + language + "\\n(.*?)^```$", "gms")), ([, text]) => text!);
}

interface Entry {
  readonly command: string;
  readonly args: string[];
}

Deno.test("every configuration of the page starts a server with four tools", () =>
  inScratchDirectory(async (directory) => {
    const [codex] = blocks("toml");
    const [claude, code] = blocks("json").map((text) => JSON.parse(text));
    const entries: Entry[] = [
      (parse(codex!) as { mcp_servers: { box: unknown } }).mcp_servers.box as Entry,
      claude.mcpServers.box,
      code.servers.box,
    ];
    for (const { command, args } of entries) {
      assert.equal(command, "exec-server");
      assert.equal(args[0], "mcp");
      await using server = new McpServer({ args: args.slice(1), env: { CODEX_HOME: directory }, cwd: directory });
      await server.peer.initialize();
      assert.equal((await server.peer.request("tools/list")).tools.length, 4);
    }
  }));

Deno.test("the page's words for HTTP are accepted, and its rules decide what it says", async () => {
  const [words] = blocks("sh");
  const args = words!.trim().split(" ").slice(2);
  const options = await parseMcp(args, { env: {}, readTextFile: () => Promise.resolve("a-token-of-some-length") });
  assert.ok(options.type === "serve" && options.http?.auth.type === "capabilityToken");

  const place = { cwd: "/", home: null };
  const rules = loadRules([{ path: "default.rules", text: blocks("python")[0]! }], place);
  const decision = (...command: string[]) => decide(command, { rules, place }).decision;
  assert.deepEqual(
    [decision("/usr/bin/git", "pull"), decision("/usr/bin/git", "push"), decision("/sbin/shutdown")],
    ["allow", "prompt", "forbidden"],
  );
  assert.equal(decide(["/work/git", "pull"], { rules, place }).by, "heuristic");
});

Deno.test("the page's line of the audit has the members that lines have", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", { command: "ls", workdir: "/" });
  const shell = await started;
  await shell.exec(["ls"]);
  shell.exit(0);
  await answer;
  const lines: string[] = [];
  auditLog((line) => lines.push(line)).write(scene.audit[0]!);
  assert.deepEqual(Object.keys(JSON.parse(blocks("json").at(-1)!)), Object.keys(JSON.parse(lines[0]!)));
});
