import assert from "node:assert/strict";
import { VERSION } from "../../src/version.ts";
import { runCli, TestServer } from "../support/test_server.ts";

Deno.test("the version is the same in the program, deno.json and the changelog", async () => {
  const { code, stdout } = await runCli(["--version"]);
  assert.deepEqual([code, stdout], [0, `exec-server ${VERSION}\n`]);
  const read = (name: string) => Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url));
  assert.equal(JSON.parse(read("deno.json")).version, VERSION);
  assert.match(read("CHANGELOG.md"), new RegExp(`^## ${VERSION.replaceAll(".", "\\.")}\\b`, "m"));
});

Deno.test("--help lists the flags and exits 0", async () => {
  const { code, stdout } = await runCli(["--help"]);
  assert.equal(code, 0);
  for (const flag of ["--listen", "--ws-auth", "--detached-session-ttl-ms"]) assert.ok(stdout.includes(flag), flag);
});

Deno.test("a mistyped flag exits 2 and names the nearest one", async () => {
  const { code, stdout, stderr } = await runCli(["--lisen", "ws://127.0.0.1:0"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /--lisen.*--listen/);
});

Deno.test("an address in use exits 1 and says so", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { code, stderr } = await runCli(["--listen", `ws://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`]);
  listener.close();
  assert.equal(code, 1);
  assert.match(stderr, /cannot listen: .*in use/i);
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
