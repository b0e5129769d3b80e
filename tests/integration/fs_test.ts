import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

async function temporaryDirectory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.realPath(await Deno.makeTempDir());
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("pipelined file requests see each other as if they ran in order, and a process sees the script before it", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using directory = await temporaryDirectory();
  const path = `${directory.path}/script`;
  const write = (text: string) => client.call("fs/writeFile", { path, dataBase64: btoa(text), mode: 0o755 });
  const read = async () => atob((await client.call("fs/readFile", { path })).dataBase64);
  const answers = await Promise.all([
    write("#!/bin/sh\necho one\n"),
    read(),
    write("#!/bin/sh\necho two\n"),
    read(),
    client.call("process/start", { processId: "p", argv: [path], cwd: "/", env: {}, tty: false }),
    write("#!/bin/sh\necho three\n"),
  ]);
  assert.deepEqual([answers[1], answers[3]], ["#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"]);
  await client.call("process/wait", { processId: "p" });
  assert.equal((await read()).includes("three"), true);
});

Deno.test("a file of 40 MiB is read whole, while another connection is served", async () => {
  await using server = await TestServer.start();
  await using reader = await server.connect();
  await using other = await server.connect();
  await using directory = await temporaryDirectory();
  const content = new Uint8Array(40 << 20);
  for (let i = 0; i < content.length; i += 65_536) crypto.getRandomValues(content.subarray(i, i + 65_536));
  await Deno.writeFile(`${directory.path}/large`, content);
  let isDone = false;
  const reading = reader.call("fs/readFile", { path: `${directory.path}/large` }).finally(() => isDone = true);
  let calls = 0;
  for (; !isDone; calls++) await other.call("environment/status", null);
  assert.deepEqual(Uint8Array.fromBase64((await reading).dataBase64), content);
  assert.ok(calls > 3, `only ${calls} calls got through meanwhile`);
});

Deno.test("handles and watches end with their connection, not with their session", async () => {
  await using server = await TestServer.start();
  await using directory = await temporaryDirectory();
  await Deno.writeTextFile(`${directory.path}/f`, "content");
  const socket = await RawWebSocket.connect(server.url);
  const { sessionId } = await socket.handshake();
  const open = { handleId: "h", path: `${directory.path}/f` };
  await socket.sendText(JSON.stringify({ id: 1, method: "fs/open", params: open }));
  assert.deepEqual((await socket.readMessage()).result, { handleId: "h" });
  socket.drop();
  for (;;) {
    try {
      await using client = await server.connect({ resumeSessionId: sessionId });
      await assert.rejects(
        client.call("fs/readBlock", { handleId: "h", offset: 0, len: 1 }),
        (error) => error instanceof RpcError && error.code === -32004,
      );
      await client.call("fs/open", open);
      assert.deepEqual(await client.call("fs/readBlock", { handleId: "h", offset: 0, len: 100 }), {
        chunk: btoa("content"),
        eof: true,
      });
      return;
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== -32010) throw error;
    }
  }
});

Deno.test("watches tell of changes and of what appears", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using directory = await temporaryDirectory();
  const told = Promise.withResolvers<void>();
  const seen = new Set<string>();
  client.onNotification(({ method, params }) => {
    if (method === "fs/missingChanged") seen.add(`missing ${params.watchId}`);
    if (method === "fs/changed") {
      for (const { path, kind } of params.changes) seen.add(`${kind} ${path.split("/").at(-1)}`);
    }
    if (seen.has("missing 7") && seen.has("created new")) told.resolve();
  });
  const missing = [`${directory.path}/new`];
  assert.deepEqual(await client.call("fs/watchMissing", { watchId: 7, missing, present: null }), { watching: true });
  await client.call("fs/watch", { watchId: 1, path: directory.path, recursive: true, debounceMs: 1 });
  await client.call("fs/writeFile", { path: `${directory.path}/new`, dataBase64: btoa("x") });
  await told.promise;
  await client.call("fs/unwatch", { watchId: 1 });
});

Deno.test("a sandbox object is refused, never ignored", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  const call = client.call("fs/readFile", { path: "/etc/hostname", sandbox: { nonsense: true } });
  await assert.rejects(call, (error) => error instanceof RpcError && [-32600, -32602].includes(error.code));
});
