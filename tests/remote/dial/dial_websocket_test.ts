import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { Dialer } from "../../../src/http/dialer.ts";
import { dialWebSocket, UpgradeRefused } from "../../../src/remote/dial/dial_websocket.ts";
import { MessageSocket } from "../../../src/transport/websocket/message_socket.ts";
import { areInstalled } from "../../support/installed.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";
import { tunnelProxy } from "../../support/tunnel_proxy.ts";

const HAS_OPENSSL = areInstalled(["openssl"], "websockets over TLS");

function options(env: Record<string, string> = {}) {
  return { dialer: new Dialer(env, "test"), clock: systemClock, timeoutMs: 10_000 };
}

/** A websocket server that sends back what it gets, and remembers the heads of requests. */
function echoServer(settings: { tls?: { cert: string; key: string }; path?: string; status?: number } = {}) {
  const heads: { url: string; headers: Headers }[] = [];
  const where = settings.path === undefined ? { hostname: "127.0.0.1", port: 0 } : { path: settings.path };
  const server = Deno.serve({ ...where, onListen: () => {}, ...settings.tls } as Deno.ServeTcpOptions, (request) => {
    heads.push({ url: request.url, headers: new Headers(request.headers) });
    if (settings.status !== undefined) return new Response("no", { status: settings.status });
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  const port = (server.addr as Deno.NetAddr).port;
  return { heads, port, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Sends this and resolves with what comes back. */
async function echo(url: string, payload: Uint8Array<ArrayBuffer>, env?: Record<string, string>) {
  const { stream, initialBytes } = await dialWebSocket(url, options(env));
  const socket = new MessageSocket(stream, {
    clock: systemClock,
    pingIntervalMs: 30_000,
    role: "client",
    initialBytes,
  });
  const received = Promise.withResolvers<Uint8Array>();
  const ending = socket.receive(({ bytes }) => received.resolve(bytes.slice()));
  await socket.send([{ isText: false, bytes: payload }]);
  const answer = await received.promise;
  socket.close({ cause: "done", reason: "" });
  await ending;
  return answer;
}

const PAYLOAD = new Uint8Array(3_000_000).map((_, index) => index * 31);

Deno.test("a websocket is dialed over TCP with the five headers and no other", async () => {
  await using server = echoServer();
  assert.deepEqual(await echo(`ws://127.0.0.1:${server.port}/a/b?c=d`, PAYLOAD), PAYLOAD);
  const [{ url, headers } = { url: "", headers: new Headers() }] = server.heads;
  assert.equal(url, `http://127.0.0.1:${server.port}/a/b?c=d`);
  assert.deepEqual([...headers.keys()].sort(), [
    "connection",
    "host",
    "sec-websocket-key",
    "sec-websocket-version",
    "upgrade",
  ]);
});

Deno.test("a websocket is dialed over a unix socket", () =>
  inScratchDirectory(async (directory) => {
    await using _server = echoServer({ path: `${directory}/socket` });
    assert.deepEqual(await echo(`unix:${directory}/socket`, PAYLOAD), PAYLOAD);
  }));

Deno.test({
  name: `a websocket is dialed over TLS with an authority of our own${HAS_OPENSSL ? "" : " (SKIPPED: no openssl)"}`,
  ignore: !HAS_OPENSSL,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const { caFile, certFile, keyFile } = await makeAuthority(directory);
      const tls = { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
      await using server = echoServer({ tls });
      const url = `wss://localhost:${server.port}`;
      assert.deepEqual(await echo(url, PAYLOAD, { SSL_CERT_FILE: caFile }), PAYLOAD);
      await assert.rejects(echo(url, PAYLOAD), /certificate|UnknownIssuer/i);
      const proxy = tunnelProxy();
      assert.deepEqual(await echo(url, PAYLOAD, { SSL_CERT_FILE: caFile, HTTPS_PROXY: proxy.url }), PAYLOAD);
      assert.deepEqual(proxy.asked, [`CONNECT localhost:${server.port} HTTP/1.1`]);
      await proxy.close();
    }),
});

Deno.test("a websocket in clear goes through a tunnel of the proxy, too, unless the host is exempt", async () => {
  await using server = echoServer();
  const proxy = tunnelProxy();
  const url = `ws://127.0.0.1:${server.port}/x`;
  assert.deepEqual(await echo(url, PAYLOAD, { HTTP_PROXY: proxy.url }), PAYLOAD);
  assert.deepEqual(proxy.asked, [`CONNECT 127.0.0.1:${server.port} HTTP/1.1`]);
  assert.deepEqual(await echo(url, PAYLOAD, { HTTP_PROXY: proxy.url, NO_PROXY: "127.0.0.1" }), PAYLOAD);
  assert.equal(proxy.asked.length, 1);
  await proxy.close();
});

Deno.test("what is not a websocket is refused, with the status where there is one", async () => {
  await using server = echoServer({ status: 404 });
  await assert.rejects(
    dialWebSocket(`ws://127.0.0.1:${server.port}`, options()),
    (error) => error instanceof UpgradeRefused && error.status === 404,
  );
  for (
    const [answer, reason] of [
      ["HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: wrong\r\n\r\n", /not a websocket's/],
      ["HTTP/1.1 101 OK\r\n\r\n", /not a websocket's/],
      ["SSH-2.0-OpenSSH\r\n\r\n", /invalid HTTP status line/],
      ["", /ended before the upgrade was answered/],
    ] as const
  ) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const answering = (async () => {
      using conn = await listener.accept();
      await conn.read(new Uint8Array(4096));
      await conn.write(new TextEncoder().encode(answer));
    })();
    await assert.rejects(dialWebSocket(`ws://127.0.0.1:${listener.addr.port}`, options()), reason);
    await answering;
  }
  for (const url of ["http://x", "nonsense", "unix:relative"]) {
    await assert.rejects(dialWebSocket(url, options()), /not a ws:\/\/ or wss:\/\/ URL|must be absolute/);
  }
});

Deno.test("a server that never answers the upgrade is given up in time, and by a signal", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `ws://127.0.0.1:${listener.addr.port}`;
  await assert.rejects(dialWebSocket(url, { ...options(), timeoutMs: 30 }), /no websocket within 30 ms/);
  const controller = new AbortController();
  const dialing = dialWebSocket(url, { ...options(), signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(dialing, /enough/);
  await assert.rejects(dialWebSocket(url, { ...options(), signal: controller.signal }), /enough/);
});
