/** What the server knows for itself stays with it, seen from children, helpers and other machines. */

import assert from "node:assert/strict";
import { descendantsOf, ENV, environmentOf, SECRET } from "../support/own_credentials.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { TestServer } from "../support/test_server.ts";

const EVERYTHING = { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };

async function outputOf(client: Client, processId: string, fields: Record<string, unknown>): Promise<string> {
  const command = { argv: ["/usr/bin/env"], cwd: "/", env: {}, envPolicy: EVERYTHING };
  await client.call("process/start", { processId, ...command, tty: false, ...fields });
  await client.call("process/wait", { processId });
  const { chunks } = await client.call("process/read", { processId });
  return chunks.map(({ chunk }) => new TextDecoder().decode(Uint8Array.fromBase64(chunk))).join("");
}

Deno.test("no child, helper or shell state has a credential of the server", async () => {
  await using server = await TestServer.start({ env: ENV });
  await using client = await server.connect();
  const confined = NO_SANDBOX === null ? [{ sandboxPolicy: { type: "read-only" } }] : [];
  const shell = { argv: ["/bin/bash", "-lc", "env; cat /proc/self/environ | tr '\\0' '\\n'"] };
  const shellSnapshot = { scopeId: "s", shell: { name: "bash", path: "/bin/bash" } };
  let count = 0;
  for (const fields of [{}, { tty: true }, shell, { ...shell, shellSnapshot }, ...confined]) {
    const output = await outputOf(client, `p${++count}`, fields);
    assert.match(output, /PLAIN_TOKEN=the-operator's/);
    assert.doesNotMatch(output, new RegExp(SECRET), JSON.stringify(fields));
  }
  // What a client sends under such a name is not the server's, and is dropped all the same, as the reference does.
  const sent = { env: { EXEC_SERVER_TOKEN: "mine", A: "1" }, envPolicy: { ...EVERYTHING, set: ENV, inherit: "none" } };
  assert.deepEqual((await outputOf(client, "sent", sent)).trim().split("\n").sort(), [
    "A=1",
    "PLAIN_TOKEN=the-operator's",
  ]);

  await client.call("process/start", { processId: "stay", argv: ["sleep", "600"], cwd: "/", env: ENV, tty: false });
  if (NO_SANDBOX === null) {
    await assert.rejects(
      client.call("fs/writeFile", { path: "/no", dataBase64: "", sandboxPolicy: { type: "read-only" } }),
    );
  }
  const processes = descendantsOf(server.pid);
  assert.ok(processes.some(({ commandLine }) => commandLine === "sleep 600"));
  for (const { pid, commandLine } of processes) {
    assert.ok(!environmentOf(pid).includes(SECRET), commandLine);
  }
});

Deno.test("no http/request can have a credential of the server sent", async () => {
  await using server = await TestServer.start({ env: ENV });
  await using client = await server.connect();
  const seen: (string | null)[] = [];
  await using target = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    seen.push(request.headers.get("x-key"));
    return new Response("ok");
  });
  const send = (valueEnvVar: string) =>
    client.call("http/request", {
      requestId: "r",
      method: "GET",
      url: `http://127.0.0.1:${target.addr.port}/`,
      headers: [{ name: "x-key", value: "", valueEnvVar }],
    });
  for (const name of Object.keys(ENV).filter((name) => name !== "PLAIN_TOKEN")) {
    await assert.rejects(send(name), (error) => error instanceof RpcError && error.code === -32602, name);
  }
  await send("PLAIN_TOKEN");
  assert.deepEqual(seen, ["the-operator's"]);
});

Deno.test("a redirect to another origin does not carry what came from the environment", async () => {
  await using server = await TestServer.start({ env: ENV });
  await using client = await server.connect();
  const seen: [path: string, key: string | null, plain: string | null][] = [];
  const note = (request: Request) =>
    seen.push([new URL(request.url).pathname, request.headers.get("x-key"), request.headers.get("x-plain")]);
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  await using other = Deno.serve(options, (request) => {
    note(request);
    return new Response("ok");
  });
  await using first = Deno.serve(options, (request) => {
    note(request);
    const location = new URL(request.url).pathname === "/a" ? "/b" : `http://127.0.0.1:${other.addr.port}/c`;
    return new Response(null, { status: 307, headers: { location } });
  });
  await client.call("http/request", {
    requestId: "r",
    method: "GET",
    url: `http://127.0.0.1:${first.addr.port}/a`,
    headers: [
      { name: "x-key", value: "Key ", valueEnvVar: "PLAIN_TOKEN" },
      { name: "x-plain", value: "v", valueEnvVar: null },
    ],
  });
  assert.deepEqual(seen, [
    ["/a", "Key the-operator's", "v"],
    ["/b", "Key the-operator's", "v"],
    ["/c", null, "v"],
  ]);
});
