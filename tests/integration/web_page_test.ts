/** A server that pages of one origin may use: over real sockets, and what its log says of it. */

import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { runCli, TestServer } from "../support/test_server.ts";

const PAGE = "https://app.example";
const base64url = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

Deno.test("a page of the allowed origin connects by subprotocol, and the log never holds its token", async () => {
  const args = ["--ws-auth", "url-token", "--allow-origin", "http://localhost:1234", "--allow-origin", PAGE];
  const server = await TestServer.start({ args: [...args, "--log-level", "debug"] });
  const url = new URL(server.url);
  const token = url.searchParams.get("token")!;
  const offered = `exec-server.bearer.${base64url(token)}`;
  {
    await using _server = server;
    const protocols = { "Sec-WebSocket-Protocol": `exec-server.v1, ${offered}` };
    using socket = await RawWebSocket.connect(url.origin.replace("http", "ws"), { Origin: PAGE, ...protocols });
    assert.match((await socket.handshake()).sessionId, /^[0-9a-f-]{36}$/);

    const bare = `ws://${url.host}`;
    await assert.rejects(RawWebSocket.connect(bare, { Origin: "https://evil.example", ...protocols }), /403/);
    await assert.rejects(RawWebSocket.connect(bare, { Origin: PAGE }), /401/);
    await assert.rejects(
      RawWebSocket.connect(bare, { Origin: PAGE, "Sec-WebSocket-Protocol": `exec-server.v1, ${offered}x` }),
      /401/,
    );
    await assert.rejects(RawWebSocket.connect(bare, protocols), /401/);
    await server.logged("403");
  }
  const log = await server.log;
  assert.ok(!log.includes(token) && !log.includes(offered), log);
});

Deno.test("/session-check tests a login, with the texts of the upgrade", async () => {
  await using server = await TestServer.start({ args: ["--ws-auth", "url-token", "--allow-origin", PAGE] });
  const url = new URL(server.url);
  const check = `http://${url.host}/session-check`;
  const token = url.searchParams.get("token")!;
  const ask = async (target: string, init: RequestInit = {}) => {
    const response = await fetch(target, init);
    return [response.status, await response.text(), response.headers.get("access-control-allow-origin")];
  };
  assert.deepEqual(await ask(check, { headers: { authorization: `Bearer ${token}` } }), [204, "", null]);
  assert.deepEqual(await ask(`${check}?token=${token}`), [204, "", null]);
  assert.deepEqual(await ask(check), [
    401,
    "missing token: connect to the whole URL that the server has printed",
    null,
  ]);
  assert.deepEqual(await ask(`${check}?token=guess`), [
    401,
    "invalid token: the server makes a new one at every start",
    null,
  ]);

  await using open = await TestServer.start();
  assert.deepEqual(await ask(`http://127.0.0.1:${open.port}/session-check`), [204, "", null]);
});

Deno.test("--allow-origin refuses wildcards and invalid origins, and needs authentication", async () => {
  const cases: [string[], RegExp][] = [
    [["--ws-auth", "url-token", "--allow-origin", "*"], /--allow-origin "\*" is not accepted: name each origin/],
    [["--ws-auth", "url-token", "--allow-origin", "null"], /--allow-origin "null" is not accepted: pages without/],
    [["--ws-auth", "url-token", "--allow-origin", "app.example"], /an origin is a scheme, a host and a port/],
    [
      ["--ws-auth", "url-token", "--allow-origin", "https://App.example"],
      /browsers write this origin https:\/\/app\.example/,
    ],
    [["--ws-auth", "url-token", "--allow-origin", "https://app.example/"], /an origin is a scheme/],
    [["--ws-auth", "url-token", "--allow-origin", "https://app.example:443"], /browsers write this origin/],
    [["--allow-origin", PAGE], /--allow-origin needs --ws-auth/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await runCli(["--listen", "ws://127.0.0.1:0", ...args]);
    assert.deepEqual([code, message.test(stderr)], [1, true], stderr);
  }
});
