/** The ways to a server besides a websocket over TCP. */

import assert from "node:assert/strict";
import {
  AbortedError,
  connect,
  ConnectionRefusedError,
  SessionExpiredError,
  UnauthorisedError,
} from "../../src/client/mod.ts";
import { NodeSocketTransport } from "../../src/client/link/node_socket_transport.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";

Deno.test("a unix socket, with and without a token", () =>
  inScratchDirectory(async (directory) => {
    const listen = `unix:${directory}/socket`;
    {
      await using _server = await TestServer.start({ listen });
      await using box = await connect(listen);
      assert.equal((await box.run(["head", "-c", "3000000", "/dev/zero"])).stdout.length, 3_000_000);
      const cat = await box.spawn(["cat"], { stdin: "piped" });
      const { stdout } = await cat.communicate("x".repeat(3_000_000));
      assert.equal(stdout.length, 3_000_000);
    }
    await Deno.writeTextFile(`${directory}/token`, "secret");
    const args = ["--ws-auth", "capability-token", "--ws-token-file", `${directory}/token`];
    await using _server = await TestServer.start({ listen, args });
    await assert.rejects(connect(listen), UnauthorisedError);
    await using box = await connect(listen, { token: "secret" });
    assert.equal((await box.run(["true"])).code, 0);
  }));

Deno.test("a unix socket that is not there", async () => {
  await assert.rejects(connect("unix:/no/such/socket"), ConnectionRefusedError);
  await assert.rejects(connect("unix:relative"), /must be absolute/);
});

Deno.test("a websocket of our own over TCP, as Node uses it: much in both directions, and text of any language", async () => {
  await using server = await TestServer.start();
  await using box = await connect(new NodeSocketTransport(new URL(server.url)));
  assert.equal((await box.run(["head", "-c", "3000000", "/dev/zero"])).stdout.length, 3_000_000);
  const cat = await box.spawn(["cat"], { stdin: "piped" });
  assert.equal((await cat.communicate("x".repeat(3_000_000))).stdout.length, 3_000_000);
  const answer = await box.call<{ processes: unknown[] }>("process/list", { scope: "session" });
  assert.ok(answer.processes.length > 0);
  const text = "grüße, 世界 🌍";
  assert.equal((await box.run(["printf", "%s", text])).stdoutText, text);
  const handle = await box.spawn(["sh", "-c", "sleep 1000", text]);
  const [found] = (await box.processes()).filter(({ processId }) => processId === handle.id);
  assert.ok(JSON.stringify(found).includes(text), "a message that is not ASCII is read");
  await handle.terminate();
});

Deno.test("a websocket of our own reports the server's reason for a refusal", () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/token`, "secret");
    const args = ["--ws-auth", "capability-token", "--ws-token-file", `${directory}/token`];
    await using server = await TestServer.start({ args });
    const transport = new NodeSocketTransport(new URL(server.url));
    for (const token of [undefined, "guess"]) {
      const refused: unknown = await connect(transport, { token }).catch((error) => error);
      assert.ok(refused instanceof UnauthorisedError);
      const check = await fetch(`http://127.0.0.1:${server.port}/session-check`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      assert.equal(refused.message, `cannot connect to ${transport.name}: ${(await check.text()).trim()}`);
    }
    await using box = await connect(transport, { token: "secret" });
    assert.equal((await box.run(["true"])).code, 0);
    const elsewhere = new NodeSocketTransport(new URL(server.url), { Origin: "https://evil.example" });
    await assert.rejects(connect(elsewhere, { token: "secret" }), ConnectionRefusedError);
    const broken = new NodeSocketTransport(new URL(server.url), { "X-Name": "a\r\nX-Other: b" });
    await assert.rejects(connect(broken, { token: "secret" }), /header X-Name holds a line break/);
  }));

Deno.test("a websocket of our own without a server, to another program, and given up", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const transport = new NodeSocketTransport(new URL(`ws://127.0.0.1:${listener.addr.port}/?token=hidden`));
  assert.ok(!transport.name.includes("hidden"));
  const answered = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    await connection.write(new TextEncoder().encode("220 mail.example ready\r\n"));
    connection.closeWrite();
    await connection.read(new Uint8Array(4096));
  })();
  await assert.rejects(connect(transport), (error: Error) => {
    return error instanceof ConnectionRefusedError && /not HTTP/.test(error.message) && !/hidden/.test(error.message);
  });
  await answered;

  const giveUp = new AbortController();
  const silent = listener.accept();
  const pending = assert.rejects(connect(transport, { signal: giveUp.signal }), AbortedError);
  using connection = await silent;
  giveUp.abort();
  await pending;
  // What was sent before may be read first; then the end shows.
  const buffer = new Uint8Array(4096);
  while (await connection.read(buffer).catch(() => null) !== null);
  const { port } = listener.addr;
  listener.close();
  await assert.rejects(connect(new NodeSocketTransport(new URL(`ws://127.0.0.1:${port}`))), ConnectionRefusedError);
});

Deno.test("standard input and output of a command", async () => {
  const { program, args } = serverCommand();
  const command = [program, ...args, "--listen", "stdio", "--log-level", "error"];
  await using box = await connect({ command });
  assert.equal(await box.$`echo hello`.text(), "hello");
  assert.equal((await box.run(["head", "-c", "3000000", "/dev/zero"])).stdout.length, 3_000_000);
});

Deno.test("when the command ends, its session ends, and everything fails at once", async () => {
  const { program, args } = serverCommand();
  const command = [program, ...args, "--listen", "stdio", "--log-level", "error"];
  const box = await connect({ command });
  const process = await box.spawn(["sleep", "1000"]);
  const failed = assert.rejects(process.status, SessionExpiredError);
  const { pid } = (await box.processes())[0]!;
  const server = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(" ")[3]!;
  Deno.kill(Number(server), "SIGKILL");
  await failed;
  await box.close();
});

Deno.test("a command that is not there", async () => {
  await assert.rejects(connect({ command: ["/no/such/command"] }), ConnectionRefusedError);
});
