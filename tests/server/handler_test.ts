import assert from "node:assert/strict";
import { createLogger } from "../../src/log.ts";
import { createAuthenticator, createHandler, type HandlerOptions, TokenDigest } from "../../src/server/mod.ts";
import { AUTH_REFUSAL } from "../../src/transport/door/auth.ts";
import { UPGRADE_REFUSAL } from "../../src/transport/door/upgrade.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { connect } from "../support/rpc_client.ts";

const OPEN: HandlerOptions = { authenticator: null };
const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** A program of somebody else that mounts the handler. */
class Host implements AsyncDisposable {
  readonly handler;
  readonly #server;

  constructor(options: HandlerOptions) {
    this.handler = createHandler(options);
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, this.handler.fetch);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handler.shutDown();
    await this.#server.shutdown();
  }
}

Deno.test("createHandler() serves processes over the websockets of a program's own Deno.serve", async () => {
  await using host = new Host(OPEN);
  await using client = await connect(host.url, { clientName: "test" });
  const command = { argv: ["/bin/sh", "-c", "read word; echo got $word"], cwd: "/", env: {}, tty: false };
  const events = client.follow("p");
  await client.call("process/start", { processId: "p", ...command, pipeStdin: true });
  await client.call("process/write", { processId: "p", writeId: "w", chunk: btoa("it\n") });
  const methods: string[] = [];
  for await (const { method } of events) methods.push(method);
  assert.deepEqual(methods, ["process/output", "process/exited", "process/closed"]);
  const { chunks } = await client.call("process/read", { processId: "p" });
  assert.equal(atob(chunks[0]!.chunk), "got it\n");
});

Deno.test("createHandler() lets nobody in by mistake: an authenticator has to be named, or null written", () => {
  assert.throws(() => createHandler({} as HandlerOptions), /authenticator is missing/);
  // @ts-expect-error The type asks for it, too.
  const options: HandlerOptions = {};
  assert.ok(options);
});

Deno.test("createHandler() refuses a path that does not begin with a slash", () => {
  assert.throws(() => createHandler({ ...OPEN, path: "exec" }), /does not begin with a slash/);
});

Deno.test("createHandler() asks for the token it was told to ask for, and logs who had none", async () => {
  const token = await TokenDigest.ofToken("a-long-enough-token");
  const lines: string[] = [];
  await using host = new Host({
    authenticator: createAuthenticator({ type: "capabilityToken", token }),
    log: createLogger({ level: "info", format: "json", write: (line) => lines.push(line) }),
  });
  await assert.rejects(RawWebSocket.connect(host.url), /401/);
  await assert.rejects(RawWebSocket.connect(host.url, { Authorization: "Bearer wrong" }), /401/);
  using socket = await RawWebSocket.connect(host.url, { Authorization: "Bearer a-long-enough-token" });
  await socket.handshake();
  const refused = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "login refused");
  assert.deepEqual(refused.map(({ reason }) => reason), [AUTH_REFUSAL.missingToken, AUTH_REFUSAL.wrongToken]);
  assert.match(refused[0].remote, /^127\.0\.0\.1:\d+$/);
});

Deno.test("createHandler() keeps web pages out, by Origin and by Host", async () => {
  await using host = new Host(OPEN);
  await assert.rejects(RawWebSocket.connect(host.url, { Origin: "http://127.0.0.1" }), /403/);
  await assert.rejects(RawWebSocket.connect(host.url, { Host: "rebound.example:80" }), /403/);
  using socket = await RawWebSocket.connect(host.url, { Host: "localhost:80" });
  await socket.handshake();
});

Deno.test("createHandler() holds requests of unknown peers to the Host rule", async () => {
  const handler = createHandler(OPEN);
  const request = (host: string) => new Request(`http://${host}/`, { headers: { ...UPGRADE, host } });
  const refused = await handler.fetch(request("rebound.example"));
  assert.deepEqual([refused.status, await refused.text()], [403, UPGRADE_REFUSAL.host]);
  const info = { remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 1 } } as const;
  const far = await handler.fetch(
    new Request("http://rebound.example/", { headers: { host: "rebound.example" } }),
    info,
  );
  assert.deepEqual([far.status, await far.text()], [400, UPGRADE_REFUSAL.connection]);
  await handler.shutDown();
});

Deno.test("createHandler() answers probes and refusals below the path it is mounted at, and 404 elsewhere", async () => {
  const handler = createHandler({ ...OPEN, path: "/exec/" });
  const answer = async (path: string, init?: RequestInit) => {
    const response = await handler.fetch(new Request(`http://127.0.0.1${path}`, init));
    return [response.status, await response.text()];
  };
  assert.deepEqual(await answer("/exec/readyz"), [200, ""]);
  assert.deepEqual(await answer("/exec"), [400, UPGRADE_REFUSAL.connection]);
  assert.deepEqual(await answer("/exec/", { method: "POST" }), [405, UPGRADE_REFUSAL.method]);
  for (const path of ["/", "/readyz", "/executive", "/exec/other"]) {
    assert.deepEqual(await answer(path), [404, ""], path);
  }
  await handler.shutDown();
});

Deno.test("createHandler() names the connection as its client does, in the answer", async () => {
  await using host = new Host(OPEN);
  const { hostname, port } = new URL(host.url);
  using conn = await Deno.connect({ hostname, port: Number(port) });
  const fields = Object.entries({ host: hostname, ...UPGRADE, "x-request-id": "r-1" });
  const head = `GET / HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  await conn.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(4096);
  const text = new TextDecoder().decode(buffer.subarray(0, await conn.read(buffer) ?? 0));
  assert.match(text, /^HTTP\/1\.1 101 /);
  assert.match(text, /\r\nx-request-id: r-1\r\n/i);
});

Deno.test("a handler's shutDown() ends processes, tells their clients, and lets nobody in any more", async () => {
  await using host = new Host(OPEN);
  await using client = await connect(host.url, { clientName: "test" });
  const events = client.follow("p");
  const command = { argv: ["/bin/sleep", "1000"], cwd: "/", env: {}, tty: false };
  await client.call("process/start", { processId: "p", ...command });
  const over = host.handler.shutDown();
  const methods: string[] = [];
  for await (const { method } of events) methods.push(method);
  assert.deepEqual(methods, ["process/exited", "process/closed"]);
  await over;
  await assert.rejects(RawWebSocket.connect(host.url), /503/);
});
