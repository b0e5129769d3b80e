/** What one client may take from the others over HTTP: sessions and commands. Over real sockets, with shells that are played. */

import assert from "node:assert/strict";
import { systemClock } from "../../src/clock.ts";
import { silentLogger } from "../../src/log.ts";
import { HttpEndpoint } from "../../src/mcp/http_endpoint.ts";
import {
  MAX_CLIENT_COMMANDS,
  MAX_HOLDER_COMMANDS,
  MAX_HOLDER_SESSIONS,
  MAX_HTTP_SESSIONS,
} from "../../src/mcp/limits.ts";
import { accountOf } from "../../src/mcp/http_account.ts";
import { createAuthenticator, TokenDigest } from "../../src/transport/door/auth.ts";
import { Admissions } from "../../src/transport/tokens/admissions.ts";
import { TokenTable } from "../../src/transport/tokens/token_table.ts";
import type { FakeShell } from "../support/fake_supervised_shells.ts";
import { McpHttpClient } from "../support/mcp_http_client.ts";
import { McpPeer } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const ARGS = { command: "x", workdir: "/work" };
const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "flood", version: "1" } },
});

class Endpoint implements AsyncDisposable {
  readonly scene = new Scene({ hasHandles: true });
  readonly #admissions: Admissions | null;
  readonly #opened: HttpEndpoint;
  readonly #running: Promise<void>;

  private constructor(scene: Scene, opened: HttpEndpoint, admissions: Admissions | null) {
    this.scene = scene;
    this.#opened = opened;
    this.#admissions = admissions;
    this.#running = opened.run();
  }

  /** Without names everybody is let in. */
  static async open(...names: string[]): Promise<Endpoint> {
    const scene = new Scene({ hasHandles: true });
    const entries = await Promise.all(names.map(async (name) => ({
      ...{ name, digest: await TokenDigest.ofToken(`token of ${name}`), roles: ["client" as const], ids: ["*"] },
      ...{ createdAt: new Date(0), expiresAt: null },
    })));
    const admissions = names.length === 0
      ? null
      : new Admissions({ table: new TokenTable(entries), clock: systemClock });
    const opened = await HttpEndpoint.open({
      address: { type: "tcp", hostname: "127.0.0.1", port: 0 },
      ...{ tls: null, allowOtherUsers: false, servers: scene.servers, clock: systemClock, log: silentLogger() },
      authenticator: createAuthenticator(
        admissions === null ? { type: "none" } : { type: "tokens", admissions, id: "box" },
      ),
    });
    return new Endpoint(scene, opened, admissions);
  }

  client(name?: string): McpHttpClient {
    const headers = name === undefined ? {} : { authorization: `Bearer token of ${name}` };
    return new McpHttpClient({ url: `${this.#opened.url}/mcp`, headers });
  }

  /** The status of the answer to the first request of a session. */
  async begin(name?: string): Promise<number> {
    const response = await this.client(name).fetch({ body: INITIALIZE });
    await response.text();
    return response.status;
  }

  /** What a client is told that may not start a command. */
  async refusal({ peer }: McpHttpClient, meta?: object): Promise<string> {
    const call = peer.call("shell", { ...ARGS, yield_ms: 0 }, meta).then(() => "it began", ({ message }) => message);
    await this.scene.passTimeUntil(call);
    return await call;
  }

  /** Starts a command that runs on under a handle. */
  async leaveRunning({ peer }: McpHttpClient, meta?: object): Promise<FakeShell> {
    const started = this.scene.shells.next();
    const answer = peer.call("shell", { ...ARGS, yield_ms: 0 }, meta);
    const refused = answer.then(() => new Promise<never>(() => {}));
    const shell = await Promise.race([started, refused]);
    await this.scene.passTimeUntil(answer);
    assert.equal(textOf(await answer).running, true);
    return shell;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.close();
    await this.#running;
    this.#admissions?.[Symbol.dispose]();
  }
}

async function isThere(client: McpHttpClient): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 99, method: "tools/list" });
  const { status, body: answer } = await client.fetch({ body });
  await answer?.cancel();
  assert.ok(status === 200 || status === 404, `${status}`);
  return status === 200;
}

Deno.test("however many sessions one client begins, there is room for the next, and what runs stays", async () => {
  await using server = await Endpoint.open();
  const [working, used, first] = [server.client(), server.client(), server.client()];
  for (const { peer } of [working, used, first]) await peer.initialize();
  const running = await server.leaveRunning(working);
  (await server.leaveRunning(used)).exit(0);
  for (let count = 0; count < MAX_HTTP_SESSIONS + 20; count++) {
    const status = await server.begin();
    assert.equal(status, 200, `session ${count}`);
  }
  const last = server.client();
  await last.peer.initialize();
  assert.deepEqual(
    [await isThere(working), await isThere(used), await isThere(first), await isThere(last)],
    [true, true, false, true],
    "those that never ran a command go first, and those in which one runs stay",
  );
  assert.equal(running.isTerminated, false);
});

Deno.test("who has many sessions does not end those of another token, and has no more than half of all", async () => {
  await using server = await Endpoint.open("alice", "bob", "carol");
  const bob = server.client("bob");
  await bob.peer.initialize();
  const alice = server.client("alice");
  await alice.peer.initialize();
  for (let count = 1; count < MAX_HOLDER_SESSIONS; count++) await server.begin("alice");
  assert.equal(await isThere(alice), true);
  assert.equal(await server.begin("alice"), 200);
  for (let count = 0; count < MAX_HOLDER_SESSIONS; count++) await server.begin("alice");
  assert.deepEqual([await isThere(alice), await isThere(bob)], [false, true]);

  // All places are taken now: whoever has most makes room.
  for (let count = 0; count < MAX_HTTP_SESSIONS - MAX_HOLDER_SESSIONS - 1; count++) await server.begin("bob");
  const carol = server.client("carol");
  await carol.peer.initialize();
  assert.deepEqual([await isThere(carol), await isThere(bob)], [true, true]);
});

Deno.test("a request that begins no session ends none", async () => {
  await using server = await Endpoint.open();
  const first = server.client();
  await first.peer.initialize();
  for (let count = 1; count < MAX_HOLDER_SESSIONS; count++) await server.begin();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  for (let count = 0; count < 10; count++) {
    const response = await server.client().fetch({ body });
    assert.equal(response.status, 400);
    await response.body?.cancel();
  }
  assert.equal(await isThere(first), true);
});

Deno.test("where a command runs in every session of a client, the next one is refused, and another client is let in", async () => {
  await using server = await Endpoint.open("alice", "bob");
  const clients = [];
  for (let count = 0; count < MAX_HOLDER_SESSIONS; count++) {
    const client = server.client("alice");
    await client.peer.initialize();
    await server.leaveRunning(client);
    clients.push(client);
  }
  const refused = await server.client("alice").fetch({ body: INITIALIZE });
  assert.equal(refused.status, 503);
  assert.match((await refused.json()).error.message, /^too many sessions, and a command runs in each: end one with/);
  assert.equal(await server.begin("bob"), 200);
  server.scene.shells.shells[5]!.exit(0);
  await server.scene.shells.shells[5]!.closed;
  assert.equal(await server.begin("alice"), 200);
  assert.deepEqual([await isThere(clients[4]!), await isThere(clients[5]!)], [true, false]);
});

Deno.test("commands are counted over all sessions of a token, in both eras, and not against another", async () => {
  await using server = await Endpoint.open("alice", "bob");
  const sessions = [];
  for (let left = MAX_HOLDER_COMMANDS; left > 1; left -= MAX_CLIENT_COMMANDS) {
    const client = server.client("alice");
    sessions.push(client);
    await client.peer.initialize();
    for (let count = 0; count < Math.min(left - 1, MAX_CLIENT_COMMANDS); count++) await server.leaveRunning(client);
  }
  await server.leaveRunning(server.client("alice"), McpPeer.modernMeta());
  const full =
    /Cannot start the command: 128 others still run, in all sessions of the same token or address together; end/;
  const another = server.client("alice");
  await another.peer.initialize();
  assert.match(await server.refusal(another), full);
  assert.match(await server.refusal(server.client("alice"), McpPeer.modernMeta()), full);

  const bob = server.client("bob");
  await bob.peer.initialize();
  await server.leaveRunning(bob);
  server.scene.shells.shells[0]!.exit(0);
  await server.scene.shells.shells[0]!.closed;
  await server.leaveRunning(another);
  assert.match(await server.refusal(another), full);
  assert.equal(sessions.length, 2);
});

Deno.test("who counts as one: a token, a machine, a network of one machine", () => {
  const accounts = [
    [undefined, "127.0.0.1:4711", "this machine"],
    [undefined, "127.9.9.9:4712", "this machine"],
    [undefined, "[::1]:4711", "this machine"],
    [undefined, "unix", "unix"],
    [undefined, "192.0.2.7:1", "192.0.2.7"],
    [undefined, "[2001:db8::1]:1", "network 20010db800000000"],
    [undefined, "[2001:db8::ffff:1]:2", "network 20010db800000000"],
    ["alice", "192.0.2.7:1", "token alice"],
  ] as const;
  for (const [holder, remote, account] of accounts) assert.equal(accountOf(holder, remote), account, remote);
});
