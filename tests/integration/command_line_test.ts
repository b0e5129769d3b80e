import assert from "node:assert/strict";
import { VERSION } from "../../src/version.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli, serverCommand, TestServer } from "../support/test_server.ts";
import { missingTls } from "../support/test_tls.ts";

/** Starts the program with nothing to read and everything to be read. */
function startCli(words: readonly string[]): Deno.ChildProcess {
  const { program, args } = serverCommand();
  return new Deno.Command(program, {
    args: [...args, ...words],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("the version is the same in the program, deno.json and the changelog", async () => {
  const { code, stdout } = await runCli(["--version"]);
  assert.deepEqual([code, stdout], [0, `exec-server ${VERSION}\n`]);
  const read = (name: string) => Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url));
  assert.equal(JSON.parse(read("deno.json")).version, VERSION);
  assert.match(read("CHANGELOG.md"), new RegExp(`^## ${VERSION.replaceAll(".", "\\.")}\\b`, "m"));
});

Deno.test("--help lists the commands, serve --help the flags, and both exit 0", async () => {
  const commands = await runCli(["--help"]);
  assert.equal(commands.code, 0);
  for (const line of ["exec         Run a command", "ports        List listening ports"]) {
    assert.ok(commands.stdout.includes(`\n    ${line}\n`), line);
  }
  const { code, stdout } = await runCli(["serve", "--help"]);
  assert.equal(code, 0);
  for (const flag of ["--listen", "--ws-auth", "--detached-session-ttl-ms"]) assert.ok(stdout.includes(flag), flag);
});

const TURNED_PATH = "/no/\u202etxt.token";
const NO_TLS = await missingTls();

for (
  const [what, words, needsTls = false] of [
    ["token file", ["--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", TURNED_PATH]],
    ["file of tokens", ["--listen", "ws://127.0.0.1:0", "--ws-auth", "tokens", "--tokens", TURNED_PATH]],
    ["token of a rendezvous", ["executors", "--url", "https://127.0.0.1:1", "--token-file", TURNED_PATH]],
    ["token of a checked server", ["conform", "--token-file", TURNED_PATH, "ws://127.0.0.1:1"]],
    ["certificate", ["--listen", "wss://127.0.0.1:0", "--tls-cert", TURNED_PATH, "--tls-key", TURNED_PATH], true],
  ] as const
) {
  const missing = needsTls && NO_TLS !== null ? ` (SKIPPED: ${NO_TLS})` : "";
  const name = `the path of a ${what} is shown without its characters that turn a line round${missing}`;
  Deno.test({ name, ignore: missing !== "" }, async () => {
    const { code, stderr } = await runCli(words);
    assert.deepEqual([code, stderr.includes("\u202e"), stderr.includes("\\u202e")], [1, false, true], stderr);
  });
}

Deno.test("a mistyped flag exits 2 and names the nearest one", async () => {
  const { code, stdout, stderr } = await runCli(["--lisen", "ws://127.0.0.1:0"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /--lisen.*--listen/);
});

Deno.test("a port in use, and an address that is not this machine's, are named", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `ws://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`;
  const busy = await runCli(["--listen", url]);
  listener.close();
  const inUse = `exec-server: cannot listen on ${url}: the port is in use by another program\n`;
  assert.deepEqual(busy, { code: 1, stdout: "", stderr: inUse });

  const strange = await runCli(["--listen", "ws://192.0.2.1:9", "--insecure-no-auth"]);
  const notOurs = "exec-server: cannot listen on ws://192.0.2.1:9: this machine has no such address\n";
  assert.deepEqual(strange, { code: 1, stdout: "", stderr: notOurs });
});

Deno.test("a socket path that cannot be used is named, with the reason", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "kept");
    const live = Deno.listen({ transport: "unix", path: `${directory}/live` });
    const reasons: Record<string, string> = {
      [`${directory}/none/x.sock`]: `there is no directory ${directory}/none`,
      [`${directory}/file/x.sock`]: `${directory}/file is not a directory`,
      [`${directory}/file/none/x.sock`]: `${directory}/file is not a directory`,
      [directory]: "there is a directory of that name, which is left alone",
      [`${directory}/file`]: "there is a file of that name, which is left alone",
      [`${directory}/live`]: "another program listens there",
    };
    for (const [path, reason] of Object.entries(reasons)) {
      const { code, stderr } = await runCli(["--listen", `unix:${path}`]);
      assert.deepEqual([code, stderr], [1, `exec-server: cannot listen on unix:${path}: ${reason}\n`]);
    }
    live.close();
    assert.equal(await Deno.readTextFile(`${directory}/file`), "kept");
  }));

Deno.test("help is a command, and hidden modes answer --help with one line", async () => {
  const help = await runCli(["help"]);
  assert.deepEqual(help, await runCli(["--help"]));
  assert.deepEqual(await runCli(["help", "serve"]), await runCli(["serve", "--help"]));
  assert.deepEqual(await runCli(["help", "doctor"]), await runCli(["doctor", "--help"]));
  assert.deepEqual(await runCli(["fs-helper", "--help"]), {
    code: 0,
    stdout: "exec-server fs-helper is an internal mode that the server starts itself. Do not start it by hand.\n",
    stderr: "",
  });
  assert.deepEqual(await runCli(["fs-helpr"]), {
    code: 2,
    stdout: "",
    stderr: 'exec-server: unknown command "fs-helpr": see --help\n',
  });
});

for (const args of [["--help"], ["--version"], ["doctor", "--help"], ["doctor"]]) {
  Deno.test(`${args.join(" ")} says nothing more when nobody reads it`, async () => {
    const child = startCli(args);
    // Long before the program has anything to say.
    await child.stdout.cancel();
    const [{ signal }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
    assert.deepEqual([signal, stderr], [null, ""]);
  });
}

Deno.test("a server whose address nobody reads serves all the same", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/s`;
    const child = startCli(["--listen", `unix:${path}`]);
    await child.stdout.cancel();
    let log = "";
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      const wasOpen = /listening|ERROR/.test(log);
      log += text;
      if (wasOpen || !/listening|ERROR/.test(log)) continue;
      (await Deno.connect({ transport: "unix", path })).close();
      child.kill("SIGTERM");
    }
    assert.equal((await child.status).code, 0);
    assert.match(log, /WARN +cannot print the address/);
    assert.doesNotMatch(log, /ERROR|\bat /);
  }));

Deno.test("output that cannot be written gives an error of one line", async () => {
  const { program, args } = serverCommand();
  for (const words of ["--help", "--listen ws://127.0.0.1:0 --log-level error"]) {
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", `exec "$@" ${words} >/dev/full`, "sh", program, ...args],
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stderr);
    assert.deepEqual([code, text.split("\n").length], [1, 2], text);
    assert.match(text, /^exec-server: cannot write to standard output: No space left/);
  }
});

Deno.test("a temporary directory that is not there is named, by doctor and by the server", async () => {
  const env = { TMPDIR: "/no/such/place" };
  const doctor = await runCli(["doctor"], env);
  const reason = "TMPDIR is /no/such/place, which does not exist";
  if (Deno.build.os === "linux") {
    assert.deepEqual(doctor, { code: 1, stdout: "", stderr: `exec-server: cannot try a sandbox: ${reason}\n` });
  }
  const server = await TestServer.start({ env, args: ["--log", "json"] });
  {
    await using _server = server;
    const client = await server.connect();
    const sandbox = { sandboxPolicy: { type: "read-only" }, cwd: "/" };
    const refused = client.call("fs/readFile", { path: "/etc/passwd", sandbox });
    await assert.rejects(refused, new RegExp(`Cannot enforce the sandbox: (.*; )?${reason}$`));
  }
  const [first] = (await server.log).split("\n");
  const { level, message, reason: told } = JSON.parse(first!);
  assert.deepEqual([level, message, told], ["warn", "requests with a sandbox will be refused", reason]);
});

Deno.test("an open address beyond this machine is refused unless the risk is accepted", async () => {
  const { code, stderr } = await runCli(["--listen", "ws://0.0.0.0:0"]);
  assert.equal(code, 1);
  assert.match(stderr, /--insecure-no-auth/);
  await using server = await TestServer.start({ listen: "ws://0.0.0.0:0", args: ["--insecure-no-auth"] });
  assert.match(server.url, /^ws:\/\/0\.0\.0\.0:\d+$/);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal} ends the server with status 0`, async () => {
    await using server = await TestServer.start();
    const client = await server.connect();
    server.kill(signal);
    const { code, signal: by } = await server.status;
    assert.deepEqual([code, by], [0, null]);
    await client.closed;
  });
}

Deno.test("the log has connection ids as JSON lines and never a token", async () => {
  const directory = await Deno.makeTempDir();
  const token = "do-not-print-this-token";
  await Deno.writeTextFile(`${directory}/token`, token);
  const args = ["--log", "json", "--log-level", "debug", "--ws-auth", "capability-token", "--ws-token-file"];
  const server = await TestServer.start({ args: [...args, `${directory}/token`] });
  {
    await using _server = server;
    const client = await server.connect({ token });
    await assert.rejects(client.call("process/read", { processId: "none" }), /unknown process id none/);
    await client.close();
    await assert.rejects(server.connect({ token: "wrong" }));
  }
  const lines = (await server.log).trimEnd().split("\n").map((line) => JSON.parse(line));
  for (const line of lines) assert.ok(line.time && line.level && line.message, JSON.stringify(line));
  assert.ok(lines.some((line) => line.message === "connected" && line.connection === 1));
  assert.ok(lines.some((line) => line.message === "request refused" && line.method === "process/read"));
  assert.ok(!(await server.log).includes(token));
  await Deno.remove(directory, { recursive: true });
});

Deno.test("environment variables set flags, and flags win over them", async () => {
  const { code, stderr } = await runCli(["--listen", "stdio"], { EXEC_SERVER_PING_INTERVAL_MS: "soon" });
  assert.equal(code, 2);
  assert.match(stderr, /EXEC_SERVER_PING_INTERVAL_MS/);
  await using server = await TestServer.start({ env: { EXEC_SERVER_LISTEN: "stdio" } });
  assert.match(server.url, /^ws:/);
});
