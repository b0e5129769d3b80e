/**
 * The tools of MCP's own makers on our server: the conformance suite, as far as it asks for nothing but what every
 * server has, and the inspector. Fetched from the npm registry; skipped by name where that is out of reach.
 */

import assert from "node:assert/strict";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";

const CONFORMANCE = "npm:@modelcontextprotocol/conformance@0.1.16";
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
/** The others call tools, resources and prompts of a demonstration server. */
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "prompts-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, args: readonly string[]): Promise<Ended> {
  const env = { NO_COLOR: "1", npm_config_loglevel: "error" };
  const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args], env, stdin: "null" }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** In a project of its own: it brings packages that are none of ours. */
function conformance(...words: string[]): Promise<Ended> {
  return run(Deno.execPath(), ["run", "--quiet", "--allow-all", "--no-config", "--no-lock", CONFORMANCE, ...words]);
}

function inspector(...words: string[]): Promise<Ended> {
  return run("npx", ["-y", INSPECTOR, "--cli", ...words]);
}

async function whyMissing(tool: string, trial: Promise<Ended>): Promise<string | null> {
  const { code, stderr } = await trial.catch((error) => ({ code: -1, stderr: String(error) }));
  return code === 0 ? null : `${tool} cannot be run: ${stderr.trim().split("\n")[0]}`;
}

const noConformance = await whyMissing(CONFORMANCE, conformance("list", "--server"));
const noInspector = await whyMissing(INSPECTOR, inspector("--help"));

function toolTest(name: string, obstacle: string | null, fn: () => Promise<void>): void {
  if (obstacle !== null) console.warn(`SKIPPED: ${name}: ${obstacle}`);
  Deno.test({ name: obstacle === null ? name : `${name} (SKIPPED: ${obstacle})`, ignore: obstacle !== null, fn });
}

toolTest("the conformance suite finds nothing", noConformance, async () => {
  const { program, args } = serverCommand();
  await using server = await TestServer.start({ command: [program, ...args, "mcp"], listen: "127.0.0.1:0" });
  for (const scenario of SCENARIOS) {
    const { code, stdout, stderr } = await conformance("server", "--url", server.url, "--scenario", scenario);
    assert.equal(code, 0, `${scenario}: ${stdout}${stderr}`);
    assert.match(stdout + stderr, /Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/, scenario);
  }
});

toolTest("the inspector lists the tools without a finding, and calls one", noInspector ?? NO_SANDBOX, async () => {
  const { program, args } = serverCommand();
  const server = [program, ...args, "mcp", "--tools", "all"];
  const listed = await inspector("--strict", ...server, "--method", "tools/list");
  assert.equal(listed.code, 0, listed.stderr);
  assert.equal(JSON.parse(listed.stdout).tools.length, 4);
  assert.doesNotMatch(listed.stderr, /[1-9]\d* (?:error|warning)/);
  const words = ["--tool-name", "shell", "--tool-arg", "command=echo hi", "--tool-arg", "workdir=/"];
  const called = await inspector(...server, "--method", "tools/call", ...words);
  assert.equal(called.code, 0, called.stderr);
  assert.match(JSON.parse(called.stdout).structuredContent.output, /^hi\n/);
});
