/** What an operator learns of those who were not let in, and how tokens are changed under a running server. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { listProcesses } from "../support/proc.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import type { Client } from "../support/rpc_client.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const TOKEN = "a-token-of-decent-length";

// deno-lint-ignore no-explicit-any
type Line = Record<string, any>;

async function logLines(server: TestServer): Promise<Line[]> {
  await server[Symbol.asyncDispose]();
  return (await server.log).trimEnd().split("\n").map((line) => JSON.parse(line));
}

async function tokenFile(text: string): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

const withToken = (path: string) => ["--log", "json", "--ws-auth", "capability-token", "--ws-token-file", path];

Deno.test("refused logins are warned of with address and reason, and a guesser gets no more than a few lines", async () => {
  await using file = await tokenFile(TOKEN);
  const server = await TestServer.start({ args: withToken(file.path) });
  await assert.rejects(RawWebSocket.connect(server.url), /401/);
  for (let i = 0; i < 50; i++) {
    await assert.rejects(RawWebSocket.connect(server.url, { Authorization: `Bearer guess-${i}` }), /401/);
  }
  const lines = await logLines(server);
  const refused = lines.filter(({ message }) => message === "login refused");
  assert.deepEqual(refused.map(({ level, reason }) => [level, reason]), [
    ["warn", "missing websocket bearer token"],
    ["warn", "invalid websocket bearer token"],
    ["warn", "invalid websocket bearer token"],
  ]);
  for (const { remote } of refused) assert.match(remote, /^127\.0\.0\.1:\d+$/);
  const [summary, ...others] = lines.filter(({ message }) => message === "more logins and requests refused");
  assert.deepEqual([summary?.level, summary?.count, summary?.mostFrom, others], ["warn", 48, "127.0.0.1", []]);
  assert.doesNotMatch(JSON.stringify(lines), /guess-/);
});

Deno.test("a request that was refused for its Origin or Host is explained in the log", async () => {
  const server = await TestServer.start({ args: ["--log", "json"] });
  await assert.rejects(RawWebSocket.connect(server.url, { Origin: "https://page.example" }), /403/);
  const response = await fetch(server.url.replace("ws:", "http:") + "/readyz", { headers: { origin: "null" } });
  assert.deepEqual([response.status, await response.text()], [403, ""], "the body is the reference's");
  await assert.rejects(RawWebSocket.connect(server.url, { Host: "rebound.example" }), /403/);
  const refused = (await logLines(server)).filter(({ message }) => message === "request refused");
  assert.deepEqual(refused.map(({ level, status }) => [level, status]), [["warn", 403], ["warn", 403], ["warn", 403]]);
  assert.match(refused[0]!.reason, /Origin.*https:\/\/page\.example.*web pages may not connect/);
  assert.match(refused[1]!.reason, /Origin.*null/);
  assert.match(refused[2]!.reason, /^Host must be/);
});

Deno.test("SIGHUP reads the token again; open connections live on, and a broken file keeps the old token", async () => {
  const next = "another-token-of-decent-length";
  await using file = await tokenFile(TOKEN);
  const server = await TestServer.start({ args: withToken(file.path) });
  const early = await server.connect({ token: TOKEN });

  await Deno.writeTextFile(file.path, next);
  server.kill("SIGHUP");
  const late = await letIn(server, next);
  await assert.rejects(server.connect({ token: TOKEN }));
  assert.deepEqual(await early.call("environment/status", null), { status: "ready" });

  await Deno.writeTextFile(file.path, " \n");
  server.kill("SIGHUP");
  await server.logged("the old one stays in force");
  const still = await server.connect({ token: next });

  await Deno.writeTextFile(file.path, "short");
  server.kill("SIGHUP");
  const short = await letIn(server, "short");
  for (const client of [early, late, still, short]) {
    assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
    await client.close();
  }
  const lines = await logLines(server);
  const [error, ...errors] = lines.filter(({ level }) => level === "error");
  assert.match(error!.reason, /--ws-token-file.*the file is empty/);
  assert.deepEqual(errors, []);
  const guessable = lines.filter(({ message }) => /short enough to guess/.test(message));
  assert.deepEqual(guessable.map(({ level, bytes }) => [level, bytes]), [["warn", 5]]);
});

Deno.test("a server that was given no files goes on when it gets SIGHUP, and says that there is nothing to read", async () => {
  const server = await TestServer.start({ args: ["--log", "json"] });
  await using client = await server.connect();
  for (let times = 1; times <= 2; times++) {
    server.kill("SIGHUP");
    await server.logged("there is nothing to read again", times);
    assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
  }
  const lines = await logLines(server);
  assert.equal(lines.find(({ message }) => message.startsWith("SIGHUP"))?.level, "info");
});

Deno.test("a server on standard input and output ends with SIGHUP, as any program", async () => {
  const { program, args } = serverCommand();
  const child = new Deno.Command(program, {
    args: [...args, "--listen", "stdio", "--log-level", "debug"],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes("listening");) text += (await log.read()).value ?? assert.fail(text);
  child.kill("SIGHUP");
  const [{ signal }] = await Promise.all([child.status, log.cancel(), child.stdin.abort().catch(() => {})]);
  assert.equal(signal, "SIGHUP");
});

Deno.test("a token below 16 bytes is warned of when the server starts, a longer one is not", async () => {
  for (const [token, isWarnedOf] of [["fifteen-bytes-x", true], ["sixteen-bytes-xy", false]] as const) {
    await using file = await tokenFile(token);
    const lines = await logLines(await TestServer.start({ args: withToken(file.path) }));
    const warned = lines.filter(({ level, message }) => level === "warn" && /enough to guess/.test(message));
    assert.equal(warned.length, isWarnedOf ? 1 : 0, token);
  }
});

const SCRIPT_MISSING = !areInstalled(["script"], "the terminal that goes away");

Deno.test("a server whose terminal is gone ends, though it would read its token again for a SIGHUP", {
  ignore: SCRIPT_MISSING,
}, async () => {
  await using file = await tokenFile(TOKEN);
  await endsWithItsTerminal(withToken(file.path), "");
});

Deno.test("a server whose terminal is gone ends, even if the terminal showed only its log", {
  ignore: SCRIPT_MISSING,
}, async () => {
  await using file = await tokenFile(TOKEN);
  for (const flags of [[], withToken(file.path)]) await endsWithItsTerminal(flags, "< /dev/null");
});

async function endsWithItsTerminal(flags: readonly string[], redirection: string): Promise<void> {
  const { program, args } = serverCommand();
  const words = [program, ...args, "--listen", "ws://127.0.0.1:0", ...flags];
  const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const directory = await Deno.makeTempDir();
  const terminal = new Deno.Command("script", {
    args: [
      "--quiet",
      "--command",
      `echo $$ > ${directory}/pid; exec ${command} ${redirection} > ${directory}/url`,
      "/dev/null",
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const read = (name: string) => readIfThere(`${directory}/${name}`);
  await until(() => read("url").endsWith("\n"), () => "the server does not start");
  const pid = Number(read("pid"));
  terminal.kill("SIGKILL");
  await terminal.status;
  await until(
    () => !listProcesses().some((entry) => entry.pid === pid && entry.state !== "Z"),
    () => "the server lives on without its terminal",
  );
  await Deno.remove(directory, { recursive: true });
}

function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Connects as soon as this token is the right one. */
async function letIn(server: TestServer, token: string): Promise<Client> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      return await server.connect({ token });
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
