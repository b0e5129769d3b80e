import assert from "node:assert/strict";
import { CliError } from "../../../src/cli/cli_error.ts";
import { MCP_FLAGS, MCP_INTRODUCTION } from "../../../src/cli/mcp/mcp_flags.ts";
import { type McpOptions, parseMcp } from "../../../src/cli/mcp/mcp_options.ts";
import { helpText } from "../../../src/cli/help.ts";

const surroundings = (env: Record<string, string> = {}) => ({
  env,
  readTextFile: () => Promise.resolve("secret-token-text"),
});

async function options(words: string, env: Record<string, string> = {}): Promise<McpOptions> {
  const parsed = await parseMcp(words.split(" ").filter(Boolean), surroundings(env));
  if (parsed.type !== "serve") throw new Error(`asked for ${parsed.type}`);
  return parsed;
}

async function refused(words: string, env: Record<string, string> = {}): Promise<[number, string]> {
  try {
    await options(words, env);
  } catch (error) {
    if (error instanceof CliError) return [error.exitCode, error.message];
    throw error;
  }
  throw new Error("the words were accepted");
}

Deno.test("without flags: standard streams, one tool, read-only, everything decided, only the shell lets out", async () => {
  const { log: _, ...rest } = await options("");
  assert.deepEqual(rest, {
    type: "serve",
    http: null,
    rules: [],
    preservesPaths: false,
    intercept: "all",
    escalate: "shell",
    descriptorPrograms: [],
    strictExec: false,
    auditFile: null,
    sandbox: "read-only",
    hasHandles: false,
    isAnnotated: false,
    patchedBash: null,
  });
});

Deno.test("the reference's command line: --bash, CODEX_BASH_PATH, --execve, --preserve-program-paths", async () => {
  assert.deepEqual((await options("--bash /b --execve /w --preserve-program-paths")).patchedBash, {
    bash: "/b",
    wrapper: "/w",
  });
  assert.deepEqual((await options("", { CODEX_BASH_PATH: "/env" })).patchedBash, { bash: "/env" });
  assert.deepEqual((await options("--bash /b", { CODEX_BASH_PATH: "/env" })).patchedBash, { bash: "/b" });
  assert.equal((await options("--preserve-program-paths")).preservesPaths, true);
  assert.match((await refused("--execve /w"))[1], /--execve needs --bash PATH/);
  assert.equal((await refused("--nonsense"))[0], 2);
  assert.equal((await refused("word"))[0], 2);
});

Deno.test("what a patched Bash cannot do is refused, not ignored", async () => {
  const beyond = ["--strict-exec", "--escalate-fds /usr/bin/gpg", "--intercept all", "--escalate all"];
  for (const words of beyond) {
    const flag = words.replace(" /usr/bin/gpg", "");
    const [code, message] = await refused(`--bash /b ${words}`);
    assert.equal(code, 1);
    assert.ok(message.startsWith(`${flag} cannot be combined with --bash: `), message);
    const [, byVariable] = await refused(words, { CODEX_BASH_PATH: "/env" });
    assert.ok(byVariable.startsWith(`${flag} cannot be combined with CODEX_BASH_PATH: `), byVariable);
  }
  assert.equal((await options("--bash /b --intercept shell --escalate shell")).patchedBash?.bash, "/b");
  assert.equal((await options("--strict-exec --intercept all --escalate all")).strictExec, true);
});

Deno.test("--escalate all is refused where nothing but the shell's own programs is decided", async () => {
  assert.match((await refused("--intercept shell --escalate all"))[1], /^--escalate all needs --intercept all: /);
  assert.equal((await options("--intercept shell")).intercept, "shell");
});

Deno.test("--escalate-fds takes only whole paths", async () => {
  const { descriptorPrograms } = await options("--escalate-fds /usr/bin/gpg --escalate-fds /opt/tool");
  assert.deepEqual(descriptorPrograms, ["/usr/bin/gpg", "/opt/tool"]);
  for (const path of ["gpg", "./gpg", "/usr/../bin/gpg"]) {
    const [code, message] = await refused(`--escalate-fds ${path}`);
    assert.equal(code, 1);
    assert.match(message, /by its whole path/);
  }
});

Deno.test("--listen takes an address in the forms that people write, and the login of the websocket server", async () => {
  const { http } = await options("--listen 127.0.0.1:0 --ws-auth capability-token --ws-token-file /t");
  assert.deepEqual(http?.address, { type: "tcp", hostname: "127.0.0.1", port: 0 });
  assert.equal(http?.auth.type, "capabilityToken");
  assert.deepEqual((await options("--listen http://[::1]:8")).http?.address, { type: "tcp", hostname: "::1", port: 8 });
  assert.deepEqual((await options("--listen unix:/run/m.sock")).http?.address, { type: "unix", path: "/run/m.sock" });
  for (const wrong of ["ws://127.0.0.1:1", "localhost:1", "127.0.0.1", "stdio"]) {
    assert.equal((await refused(`--listen ${wrong}`))[0], 1, wrong);
  }
});

Deno.test("addresses beyond this machine need a login, and a login without an address is refused", async () => {
  assert.match((await refused("--listen 0.0.0.0:0"))[1], /without authentication/);
  assert.equal((await options("--listen 0.0.0.0:0 --insecure-no-auth")).http?.auth.type, "none");
  const logins = ["--ws-auth url-token", "--tokens /t", "--tokens-id x", "--ws-token-file /t", "--ws-token-sha256 00"];
  const signed = ["--ws-shared-secret-file /s", "--ws-issuer i", "--ws-audience a", "--ws-max-clock-skew-seconds 1"];
  for (const words of [...logins, ...signed, "--tls-cert /c", "--tls-key /k", "--allow-other-users"]) {
    assert.equal((await refused(words))[1], `${words.split(" ")[0]} needs --listen`);
  }
  assert.equal((await options("", { EXEC_SERVER_TOKENS: "/t" })).http, null, "a variable may be for another server");
  assert.match((await refused("--listen https://127.0.0.1:0"))[1], /--tls-cert/);
});

Deno.test("the help says what holds for this command, and not what holds for the websocket server", () => {
  const help = helpText(MCP_FLAGS, MCP_INTRODUCTION).replace(/\s+/g, " ");
  assert.doesNotMatch(help, /without --listen|wss/);
  assert.match(help, /--annotate-sandboxed .*allows more are then refused/);
  assert.match(help, /--insecure-no-auth Ask for no token on an address beyond this machine/);
});

Deno.test("variables of the websocket server are not taken for flags of this command", async () => {
  const env = { EXEC_SERVER_LISTEN: "ws://127.0.0.1:0", EXEC_SERVER_SANDBOX: "auto", EXEC_SERVER_LOG_LEVEL: "debug" };
  const { http, sandbox, log } = await options("", env);
  assert.deepEqual([http, sandbox, log.level], [null, "read-only", "warn"]);
});
