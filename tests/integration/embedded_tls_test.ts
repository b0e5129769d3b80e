/** TLS in a program that is not ours: what the address says is what its connections are. */

import assert from "node:assert/strict";
import { ListenError, loadTls, parseListenUrl, startServer } from "../../src/server/mod.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { ServerLog } from "../support/test_server.ts";
import { connectTls, layTestTls, loadTestTls } from "../support/test_tls.ts";

const ROOT = new URL("../..", import.meta.url);
const EXAMPLE = /<!-- example: begin[^]*?```ts\n([^]*?)```/
  .exec(Deno.readTextFileSync(new URL("docs/embedding.md", ROOT)))![1]!;

Deno.test("startServer() serves nobody in the clear at a wss: address", async () => {
  const listen = parseListenUrl("wss://127.0.0.1:0");
  for (const options of [{}, { tls: null }]) {
    await assert.rejects(startServer({ listen, ...options }), (error) => {
      assert.ok(error instanceof ListenError);
      assert.equal(error.url, "wss://127.0.0.1:0");
      assert.match(error.message, /asks for TLS, and there is no certificate: give `tls`, which `loadTls` makes/);
      return true;
    });
  }
});

Deno.test("startServer() refuses a certificate for an address that does not ask for one", async () => {
  const tls = await loadTestTls();
  await inScratchDirectory(async (directory) => {
    for (const url of ["ws://127.0.0.1:0", `unix:${directory}/s`, "stdio"]) {
      await assert.rejects(startServer({ listen: parseListenUrl(url), tls }), (error) => {
        assert.ok(error instanceof ListenError);
        assert.equal(error.url, url);
        assert.match(error.message, /leave out `tls`/);
        return true;
      });
    }
    assert.deepEqual([...Deno.readDirSync(directory)], []);
  });
});

Deno.test("startServer() serves a wss: address with what loadTls() gives", async () => {
  const server = await startServer({ listen: parseListenUrl("wss://127.0.0.1:0"), tls: await loadTestTls() });
  try {
    assert.match(server.url, /^wss:\/\/127\.0\.0\.1:\d+$/);
    (await connectTls(Number(new URL(server.url).port))).close();
  } finally {
    await server.shutDown({ graceMs: 0 });
  }
});

Deno.test("loadTls() names the files that it cannot use as its caller knows them", () =>
  inScratchDirectory(async (directory) => {
    const { certFile, keyFile } = layTestTls(directory);
    await assert.rejects(loadTls({ certFile: `${directory}/none`, keyFile }), /^Error: cannot read certFile ".*none"/);
    Deno.chmodSync(keyFile, 0o644);
    await assert.rejects(loadTls({ certFile, keyFile }), /^Error: keyFile ".*" is open to others \(mode 644\)/);
  }));

Deno.test("the example with TLS in docs/embedding.md serves, and reads its certificate again when it is told", () =>
  inScratchDirectory(async (directory) => {
    const { certFile, keyFile } = layTestTls(directory);
    const { imports, permissions } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
    imports["exec-server/server"] = new URL("src/server/mod.ts", ROOT).href;
    await Deno.writeTextFile(`${directory}/deno.json`, JSON.stringify({ imports, permissions }));
    const program = EXAMPLE.replace("/etc/my-program/cert.pem", certFile).replace("/etc/my-program/key.pem", keyFile)
      .replace("wss://0.0.0.0:8765", "wss://127.0.0.1:0");
    await Deno.writeTextFile(`${directory}/program.ts`, program);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-lock", "-P=serve", `${directory}/program.ts`],
      cwd: directory,
      env: { EXEC_SERVER_TOKEN: "an example's own token" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const log = new ServerLog(child.stderr);
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    try {
      const url = (await reader.read()).value?.trim() ?? assert.fail(await log.whole);
      await assert.rejects(RawWebSocket.connect(url), /401/);
      const runsCommands = async () => {
        using socket = await RawWebSocket.connect(url, { Authorization: "Bearer an example's own token" });
        await socket.handshake();
        await socket.sendText(JSON.stringify({ id: 1, method: "environment/status" }));
        assert.deepEqual(await socket.readMessage(), { id: 1, result: { status: "ready" } });
      };
      await runsCommands();
      await Deno.writeTextFile(certFile, "not a certificate");
      child.kill("SIGHUP");
      await log.contains("does not hold a certificate in PEM", 1);
      await runsCommands();
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      await log.whole;
    }
  }));
