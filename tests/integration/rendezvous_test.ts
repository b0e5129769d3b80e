/** The commands around a rendezvous, each as a process of its own. */

import assert from "node:assert/strict";
import { connectBox } from "../support/checked_box.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";
import { runCli } from "../support/test_server.ts";
import { connectTls, missingTls, tlsFlags } from "../support/test_tls.ts";

const NO_TLS = await missingTls();

// deno-lint-ignore no-explicit-any
async function register(rendezvous: TestRendezvous, id: string, token: string): Promise<any> {
  const response = await fetch(`${rendezvous.url}/cloud/executor/${id}/register`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ idempotency_id: id, executor_id: id, name: "My Box", metadata: { version: "1.2.3" } }),
  });
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("a rendezvous is started, listed, told of tokens by SIGHUP and ended by SIGTERM; its log holds no token", async () => {
  await inScratchDirectory(async (directory) => {
    const rendezvous = await TestRendezvous.start(directory);
    const [executor, client] = [
      await rendezvous.token(["executor"]),
      await rendezvous.token(["client"], { name: "me" }),
    ];
    using socket = await RawWebSocket.connect((await register(rendezvous, "box-1", executor)).url);
    await Deno.writeTextFile(`${directory}/token`, `${client}\n`);
    const listed = await runCli(["executors", "--url", rendezvous.url, "--token-file", `${directory}/token`]);
    assert.match(
      listed.stdout,
      /^ID +NAME +VERSION +KIND +CLIENTS +CONNECTED +LAST SEEN\nbox-1 +My Box +1\.2\.3 +plain +0 +for/,
    );
    const json = await runCli(["executors", "--url", rendezvous.url, "--json"], { EXEC_SERVER_TOKEN: client });
    assert.deepEqual(JSON.parse(json.stdout).map(({ id }: { id: string }) => id), ["box-1"]);

    await rendezvous.revoke("me");
    const refused = await runCli(["executors", "--url", rendezvous.url, "--token-file", `${directory}/token`]);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.equal(refused.stderr, 'exec-server: the rendezvous refuses (401): "invalid token"\n');

    for (const path of ["/healthz", "/readyz"]) {
      const response = await fetch(rendezvous.url + path);
      assert.deepEqual([response.status, await response.text()], [200, ""]);
    }
    const idle = socket.readFrame();
    await rendezvous[Symbol.asyncDispose]();
    assert.equal((await rendezvous.status).code, 0);
    assert.equal((await idle)?.opcode, 0x8);
    const log = await rendezvous.log;
    assert.ok(!log.includes(executor) && !log.includes(client) && !log.includes("ticket="), log);
  });
});

Deno.test({
  name: `a rendezvous over TLS hands out wss URLs, and splices over it${
    NO_TLS === null ? "" : ` (SKIPPED: ${NO_TLS})`
  }`,
  ignore: NO_TLS !== null,
  async fn() {
    await inScratchDirectory(async (directory) => {
      await using rendezvous = await TestRendezvous.start(directory, {
        listen: "wss://127.0.0.1:0",
        args: tlsFlags(directory),
      });
      assert.match(rendezvous.url, /^https:/);
      const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      const body = JSON.stringify({ idempotency_id: "p" });
      using conn = await connectTls(rendezvous.port);
      const head = `POST /cloud/executor/box-1/register HTTP/1.1\r\nHost: 127.0.0.1:${rendezvous.port}\r\n` +
        `Authorization: Bearer ${executor}\r\nContent-Length: ${body.length}\r\n\r\n`;
      await conn.write(new TextEncoder().encode(head + body));
      const answer = await new Response(conn.readable).text();
      const { url } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
      assert.ok(url.startsWith(`wss://127.0.0.1:${rendezvous.port}/`), url);
      using far = await RawWebSocket.connect(url);
      using near = await RawWebSocket.connect(`wss://127.0.0.1:${rendezvous.port}/connect/box-1`, {
        Authorization: `Bearer ${client}`,
      });
      const payload = crypto.getRandomValues(new Uint8Array(60_000));
      for (const [from, to] of [[far, near], [near, far]] as const) {
        await Promise.all(Array.from({ length: 50 }, () => from.sendFrame(0x2, payload)));
        for (let i = 0; i < 50; i++) assert.deepEqual((await to.readFrame())!.payload, payload);
      }
    });
  },
});

Deno.test("rendezvous and executors say what is missing or refused", async () => {
  await inScratchDirectory(async (directory) => {
    const tokens = `${directory}/tokens.json`;
    await Deno.writeTextFile(tokens, '{"version":1,"tokens":[]}');
    const cases: [string[], number, RegExp][] = [
      [["rendezvous"], 2, /--tokens PATH is missing: make one with exec-server token create/],
      [["rendezvous", "--tokens", `${directory}/none`], 1, /cannot read --tokens/],
      [["rendezvous", "--tokens", tokens, "--listen", "stdio"], 1, /not on stdio/],
      [
        ["rendezvous", "--tokens", tokens, "--listen", "ws://0.0.0.0:0"],
        1,
        /without TLS: tokens could be read on the way/,
      ],
      [["rendezvous", "--tokens", tokens, "--public-url", "ftp://x"], 1, /--public-url "ftp:\/\/x" is not accepted/],
      [["rendezvous", "--tokens", tokens, "extra"], 2, /unexpected argument "extra"/],
      [["executors"], 2, /--url URL is missing/],
      [["executors", "--url", "http://127.0.0.1:9"], 2, /the token is missing/],
      [["executors", "--url", "http://127.0.0.1:9", "--token-file", tokens], 1, /cannot ask .*: .*refused/i],
    ];
    await Promise.all(cases.map(async ([words, status, message]) => {
      const { code, stderr } = await runCli(words);
      assert.equal(code, status, stderr);
      assert.match(stderr, message);
    }));
    for (const command of ["rendezvous", "executors", "token"]) {
      const { code, stdout } = await runCli([command, "--help"]);
      assert.equal(code, 0);
      assert.deepEqual(stdout.split("\n").filter((line) => line.length > 80), []);
    }
  });
});

for (const form of ["plain", "noise"] as const) {
  Deno.test(`${form}: several clients use an executor that dials out at once, and the next comes in without waiting`, async () => {
    await inScratchDirectory(async (directory) => {
      await using rendezvous = await TestRendezvous.start(directory);
      const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      await using executor = new RemoteChild({
        args: [
          ...["--remote", rendezvous.url, form === "plain" ? "--executor-id" : "--environment-id", "box-1"],
          ...(form === "plain" ? [] : ["--identity-file", `${directory}/identity`]),
        ],
        env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
      });
      const address = form === "plain"
        ? `${rendezvous.websocketUrl}/connect/box-1`
        : { rendezvous: rendezvous.url, executor: "box-1" };
      const boxes = await Promise.all([1, 2, 3].map(() => connectBox(address, { token })));
      const answers = await Promise.all(boxes.map((box, index) => box.run(["bash", "-c", `echo $((40 + ${index}))`])));
      assert.deepEqual(answers.map(({ stdoutText }) => stdoutText), ["40\n", "41\n", "42\n"]);
      const headers = { authorization: `Bearer ${token}` };
      const { executors } = await (await fetch(`${rendezvous.url}/executors`, { headers })).json();
      assert.deepEqual(executors.map(({ id, kind, clients }: Record<string, unknown>) => [id, kind, clients]), [
        ["box-1", form, 3],
      ]);
      await boxes[0]!.close();
      await using next = await connectBox(address, { token });
      assert.equal((await next.run(["echo", "next"])).stdoutText, "next\n");
      for (const box of boxes.slice(1)) await box.close();
      await next.close();
      executor.kill("SIGTERM");
      const { stderr } = await executor.ended();
      assert.ok(!stderr.includes("WARN"), stderr);
    });
  });
}
