/**
 * The tools of MCP's own makers on our server: the conformance suite, as far as it asks for nothing but what every
 * server has, and the inspector. Fetched from the npm registry; skipped by name where that is out of reach.
 */

import assert from "node:assert/strict";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";

const CONFORMANCE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";

/** By scenario: the checks that do not pass, each for a reason that is told. Any other result is a finding. */
type Scenarios = Readonly<Record<string, readonly string[]>>;

/** What the suite asks of every server of the 2025 era. Its other scenarios need its own tools, resources and prompts. */
const LEGACY: Scenarios = {
  "server-initialize": [],
  "server-session-lifecycle": [],
  ping: [],
  "tools-list": [],
  "resources-list": [],
  "prompts-list": [],
  "server-sse-multiple-streams": [],
  "dns-rebinding-protection": [],
};

/** The same for the 2026 era. */
const MODERN: Scenarios = {
  "server-stateless": [
    // Ask for the suite's own tools: test_missing_capability, test_streaming_elicitation, test_logging_tool.
    "sep-2575-http-server-no-independent-requests-on-stream FAILURE",
    "sep-2575-missing-capability-http-400 FAILURE",
    "sep-2575-server-no-log-without-loglevel FAILURE",
    "sep-2575-server-rejects-undeclared-capability FAILURE",
    // Neither list changes here, and neither is said to.
    "sep-2575-server-sends-prompts-list-changed-on-subscription SKIPPED",
    "sep-2575-server-sends-tools-list-changed-on-subscription SKIPPED",
  ],
  "tools-list": [],
  "server-sse-multiple-streams": [],
  "dns-rebinding-protection": [],
  caching: [
    // Ask for prompts and resources, which are not declared. server-stateless wants such methods to be unknown.
    "sep-2549-prompts-list-caching-hints FAILURE",
    "sep-2549-resources-list-caching-hints FAILURE",
    "sep-2549-resources-read-caching-hints SKIPPED",
    "sep-2549-resources-templates-list-caching-hints FAILURE",
  ],
  "http-header-validation": [
    // Calls the first tool without arguments. `shell` has one that must be there.
    "sep-2243-server-accepts-whitespace-header-value FAILURE",
  ],
  "input-required-result-unsupported-methods": [],
  "input-required-result-validate-input": [],
};

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

for (
  const [era, expected, flags] of [
    ["2025", LEGACY, ["--spec-version", "2025-11-25", "--suite", "all"]],
    ["2026", MODERN, ["--requirements", "2026-07-28"]],
  ] as const
) {
  toolTest(
    `the conformance suite finds nothing in the ${era} era but what is named here`,
    noConformance,
    () =>
      inScratchDirectory(async (directory) => {
        const { program, args } = serverCommand();
        await using server = await TestServer.start({ command: [program, ...args, "mcp"], listen: "127.0.0.1:0" });
        const { stdout, stderr } = await conformance("server", "--url", server.url, ...flags, "-o", directory);
        const found = await unpassed(directory);
        const own = Object.fromEntries(Object.keys(expected).map((scenario) => [scenario, found.get(scenario)]));
        assert.deepEqual(own, expected, stdout + stderr);
      }),
  );
}

/** By scenario, from the files that the suite leaves: the checks that did not pass, in order. */
async function unpassed(directory: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const { name } of Deno.readDir(directory)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    assert.ok(scenario !== undefined, `a scenario left ${name}`);
    const checks: { id: string; status: string }[] = JSON.parse(
      await Deno.readTextFile(`${directory}/${name}/checks.json`),
    );
    assert.ok(
      checks.some(({ status }) => status === "SUCCESS") || !(scenario in LEGACY || scenario in MODERN),
      scenario,
    );
    const rest = checks.filter(({ status }) => status !== "SUCCESS" && status !== "INFO");
    found.set(scenario, rest.map(({ id, status }) => `${id} ${status}`).sort());
  }
  return found;
}

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
