import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { runCli, TestServer } from "../support/test_server.ts";

Deno.test("`exec-server spec` prints the document that a server answers to rpc.discover", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  assert.equal(client.environmentInfo.capabilities.rpcDiscover, true);
  const { code, stdout, stderr } = await runCli(["spec"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(JSON.parse(stdout), await client.call("rpc.discover", null));
});

Deno.test("`exec-server spec --format markdown` prints the reference of the protocol's page", async () => {
  const { code, stdout } = await runCli(["spec", "--format", "markdown"]);
  assert.equal(code, 0);
  assert.match(stdout, /^### Handshake and session\n/);
  assert.match(stdout, /\n#### process\/start\n/);
});

Deno.test("`exec-server spec` says what is wrong with its command line", async () => {
  for (
    const [args, message] of [[["more"], /unexpected argument "more"/], [["--format", "yaml"], /openrpc/]] as const
  ) {
    const { code, stdout, stderr } = await runCli(["spec", ...args]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, message);
  }
});

Deno.test("rpc.discover waits for the handshake, and then for nothing else", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.sendText('{"id":1,"method":"rpc.discover"}');
  assert.equal((await socket.readMessage()).error.code, -32600);
  await socket.handshake();
  const start = { processId: "p", argv: ["sleep", "60"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
  await socket.sendText(JSON.stringify({ id: 2, method: "process/start", params: start }));
  await socket.sendText('{"id":3,"method":"process/wait","params":{"processId":"p"}}');
  await socket.sendText('{"id":4,"method":"rpc.discover"}');
  const { result } = await socket.readUntil(({ id }) => id === 3 || id === 4);
  assert.equal(result.openrpc, "1.3.2");
});
