/** The configurations of docs/mcp.md start a server that answers, its rules load, and its line of the audit is one. */

import assert from "node:assert/strict";
import { parse } from "smol-toml";
import { decide, loadRules } from "../../src/rules/mod.ts";
import { parseMcp } from "../../src/cli/mcp/mcp_options.ts";
import { auditLog } from "../../src/mcp/audit.ts";
import { Scene } from "../mcp/scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
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
    const [, code] = blocks("json").map((text) => JSON.parse(text));
    const claude = blocks("sh").find((text) => text.startsWith("claude"))!.trim().split(" -- ")[1]!.split(" ");
    const entries: Entry[] = [
      (parse(codex!) as { mcp_servers: { box: unknown } }).mcp_servers.box as Entry,
      { command: claude[0]!, args: claude.slice(1) },
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

Deno.test("the page's words make a token that only its owner can read, and serve HTTP where its clients look", () =>
  inScratchDirectory(async (home) => {
    const [make, serve] = blocks("sh").find((text) => text.includes("--listen"))!.trim().split("\n");
    const { success } = await new Deno.Command("sh", { args: ["-c", make!], env: { HOME: home } }).output();
    assert.ok(success);
    assert.equal((await Deno.stat(`${home}/.exec-server-token`)).mode! & 0o777, 0o600);
    const args = serve!.replace("~", home).split(" ").slice(2);
    const options = await parseMcp(args, { env: {}, readTextFile: Deno.readTextFile });
    assert.ok(options.type === "serve" && options.http?.auth.type === "capabilityToken");
    assert.ok(options.http.address.type === "tcp");
    const url = `http://${options.http.address.hostname}:${options.http.address.port}/mcp`;
    const codex = parse(blocks("toml").at(-1)!) as { mcp_servers: { box: { url: string } } };
    const [, , code] = blocks("json").map((text) => JSON.parse(text));
    assert.deepEqual([codex.mcp_servers.box.url, code.servers.box.url], [url, url]);
    assert.ok(blocks("sh").at(-1)!.includes(` ${url} `));
  }));

const [RULES] = blocks("python");

Deno.test("the page's rules decide what it says", () => {
  const place = { cwd: "/", home: null };
  const rules = loadRules([{ path: "default.rules", text: RULES! }], place);
  const decision = (...command: string[]) => decide(command, { rules, place }).decision;
  assert.deepEqual(
    [decision("/usr/bin/lsusb"), decision("/usr/bin/git", "pull"), decision("/sbin/shutdown")],
    ["allow", "prompt", "forbidden"],
  );
  assert.equal(decide(["/work/git", "pull"], { rules, place }).by, "heuristic");
});

const NO_GIT = await Deno.stat("/usr/bin/git").then(() => null, () => "there is no /usr/bin/git");

Deno.test({
  name: `with the page's rules a repository's configuration leads nowhere without a question${
    NO_SANDBOX ?? NO_GIT ? ` (SKIPPED: ${NO_SANDBOX ?? NO_GIT})` : ""
  }`,
  ignore: (NO_SANDBOX ?? NO_GIT) !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const work = `${directory}/work`;
      await Deno.mkdir(`${directory}/rules`);
      await Deno.mkdir(work);
      await Deno.writeTextFile(`${directory}/rules/default.rules`, RULES!);
      const args = ["--sandbox", "workspace-write"];
      const env = { CODEX_HOME: directory };
      await using server = new McpServer({ args, env, cwd: work });
      const { peer } = server;
      await peer.initialize();
      peer.onElicit = () => ({ action: "decline" });
      const outside = `touch ${work}/seen; false`;
      const command = `git init -q sub && cd sub && git config core.sshCommand '${outside}' && git fetch ssh://x/y`;
      await peer.call("shell", { command, workdir: work, login: false, timeout_ms: 120_000 });
      assert.match(peer.prompts[0]?.message ?? "", /^Allow agent to run `\/usr\/bin\/git fetch/);
      assert.ok([...Deno.readDirSync(work)].every(({ name }) => name !== "seen"));
    }),
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
