/** Who is let in by a server that was told little: shut by default, and what opens it. */

import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import type { Client } from "../support/rpc_client.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { connectChecked, runCli, TestServer } from "../support/test_server.ts";

const tokenOf = (url: string) => new URL(url).searchParams.get("token");
const withoutQuery = (url: string) => url.replace(/\/\?.*$/, "");

Deno.test("without --listen the printed URL carries a token, which alone lets in, and the log never holds it", async () => {
  const server = await TestServer.start({ listen: null, args: ["--log", "json", "--log-level", "debug"] });
  const token = tokenOf(server.url)!;
  {
    await using _server = server;
    assert.match(server.url, /^ws:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/);
    await using client = await server.connect();
    assert.deepEqual(await client.call("environment/status", null), { status: "ready" });
    const bare = withoutQuery(server.url);
    await using byHeader = await connectChecked(bare, { token });
    assert.deepEqual(await byHeader.call("environment/status", null), { status: "ready" });

    await assert.rejects(RawWebSocket.connect(bare), /401/);
    await assert.rejects(RawWebSocket.connect(bare, { Authorization: "Bearer guess" }), /401/);
    await assert.rejects(connectChecked(`${bare}/?token=${token}x`, { clientName: "test" }), (error: Error) => {
      assert.ok(error.message.startsWith(`cannot connect to ${bare}/?token=…`), error.message);
      assert.ok(!error.message.includes(token), error.message);
      return true;
    });
    const health = await fetch(`${bare.replace("ws:", "http:")}/readyz`);
    assert.deepEqual([health.status, await health.text()], [200, ""]);
  }
  const log = await server.log;
  assert.match(log, /"listening"/);
  assert.ok(!log.includes(token), log);
});

Deno.test("a session is resumed by the same URL, and a second server has another token", async () => {
  await using server = await TestServer.start({ listen: null });
  const first = await server.connect();
  await first.close();
  await using again = await server.connect({ resumeSessionId: first.sessionId });
  assert.equal(again.sessionId, first.sessionId);
  await using other = await TestServer.start({ listen: null });
  assert.notEqual(tokenOf(other.url), tokenOf(server.url));
  await assert.rejects(
    connectChecked(`${withoutQuery(other.url)}/?token=${tokenOf(server.url)}`, { clientName: "test" }),
  );
});

Deno.test("--ws-auth url-token asks for the token at an address that was given, and --insecure-no-auth for none", async () => {
  await using asking = await TestServer.start({ args: ["--ws-auth", "url-token"] });
  await assert.rejects(RawWebSocket.connect(withoutQuery(asking.url)), /401/);
  await using client = await asking.connect();
  assert.deepEqual(await client.call("environment/status", null), { status: "ready" });

  await using open = await TestServer.start({ listen: null, args: ["--insecure-no-auth"] });
  assert.match(open.url, /^ws:\/\/127\.0\.0\.1:\d+$/);
  (await RawWebSocket.connect(open.url)).drop();

  await using given = await TestServer.start({ listen: null, env: { EXEC_SERVER_LISTEN: "ws://127.0.0.1:0" } });
  assert.match(given.url, /^ws:\/\/127\.0\.0\.1:\d+$/);
});

Deno.test("the token is not in the server's command line or environment", async () => {
  await using server = await TestServer.start({ listen: null });
  for (const file of ["cmdline", "environ"]) {
    assert.ok(!Deno.readTextFileSync(`/proc/${server.pid}/${file}`).includes(tokenOf(server.url)!), file);
  }
});

Deno.test("a token in the URL is refused where a URL has no place for it", async () => {
  const { code, stdout, stderr } = await runCli(["--listen", "unix:/tmp/never-made.sock", "--ws-auth", "url-token"]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /url-token needs an address with a port/);
});

const OPEN_DOOR = "a confined process with network access can connect to this server";

function sandboxTest(name: string, fn: () => Promise<void>): void {
  const ignore = NO_SANDBOX !== null;
  Deno.test({ name: ignore ? `${name} (SKIPPED: ${NO_SANDBOX})` : name, ignore, fn });
}

/** What a confined process, with network or without, is answered when it asks the server for a websocket. */
async function knockConfined(client: Client, port: number, network: "enabled" | "restricted"): Promise<string> {
  const processId = crypto.randomUUID();
  const fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="];
  const head = ["GET / HTTP/1.1", "Host: localhost", ...fields, "", ""].join("\\r\\n");
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf '${head}' >&3 && read -r line <&3 && echo "$line"`;
  const root = { path: { type: "special", value: { kind: "root" } }, access: "read" };
  const events = client.follow(processId);
  await client.call("process/start", {
    processId,
    argv: ["bash", "-c", script],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    tty: false,
    sandbox: {
      permissions: { type: "managed", file_system: { type: "restricted", entries: [root] }, network },
      windowsSandboxLevel: "disabled",
    },
  });
  let output = "";
  for await (const { method, params } of events) {
    if (method === "process/output" && params.stream === "stdout") output += atob(params.chunk);
  }
  return output.trim();
}

sandboxTest(
  "a confined process with network gets into a server that asks for no token, which is warned of once",
  async () => {
    const server = await TestServer.start();
    {
      await using _server = server;
      await using client = await server.connect();
      assert.equal(await knockConfined(client, server.port, "restricted"), "");
      assert.match(await knockConfined(client, server.port, "enabled"), /^HTTP\/1\.1 101 /);
      await server.logged(OPEN_DOOR);
      assert.match(await knockConfined(client, server.port, "enabled"), /^HTTP\/1\.1 101 /);
    }
    assert.equal((await server.log).split(OPEN_DOOR).length, 2);
  },
);

sandboxTest("a confined process with network does not get into a server with default flags", async () => {
  const server = await TestServer.start({ listen: null });
  {
    await using _server = server;
    await using client = await server.connect();
    assert.match(await knockConfined(client, server.port, "enabled"), /^HTTP\/1\.1 401 /);
  }
  assert.ok(!(await server.log).includes(OPEN_DOOR));
});
