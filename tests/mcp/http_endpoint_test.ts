import assert from "node:assert/strict";
import { systemClock } from "../../src/clock.ts";
import { silentLogger } from "../../src/log.ts";
import { HttpEndpoint } from "../../src/mcp/http_endpoint.ts";
import { type AuthConfig, createAuthenticator, TokenDigest } from "../../src/transport/door/auth.ts";
import { Admissions } from "../../src/transport/tokens/admissions.ts";
import type { TokenEntry } from "../../src/transport/tokens/token_file.ts";
import { TokenTable } from "../../src/transport/tokens/token_table.ts";
import { McpHttpClient } from "../support/mcp_http_client.ts";
import { McpPeer, RawAnswer } from "../support/mcp_peer.ts";
import { until } from "../support/until.ts";
import { Scene, textOf } from "./scene.ts";

const RULES = `prefix_rule(pattern = ["ask"], decision = "prompt")\n`;
const ARGS = { command: "x", workdir: "/work" };
const ACCEPT = { action: "accept", content: {} };

async function endpoint(scene: Scene, auth: AuthConfig = { type: "none" }): Promise<AsyncDisposable & { url: string }> {
  const opened = await HttpEndpoint.open({
    address: { type: "tcp", hostname: "127.0.0.1", port: 0 },
    tls: null,
    authenticator: createAuthenticator(auth),
    allowOtherUsers: false,
    servers: scene.servers,
    clock: systemClock,
    log: silentLogger(),
  });
  const running = opened.run();
  return {
    url: `${opened.url}/mcp`,
    [Symbol.asyncDispose]: async () => {
      await opened.close();
      await running;
    },
  };
}

Deno.test("a session over HTTP: a command with a prompt in the middle, then its end", async () => {
  const scene = new Scene({ rules: RULES });
  await using server = await endpoint(scene);
  const client = new McpHttpClient(server);
  const { peer } = client;
  const { capabilities } = await peer.initialize();
  assert.deepEqual(capabilities.experimental["codex/sandbox-state"], { version: "1.0.0" });
  assert.equal((await peer.request("tools/list")).tools.length, 1);
  peer.onElicit = () => ACCEPT;
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  assert.equal((await shell.exec(["ask"])).kind, "escalate");
  shell.print("done\n");
  shell.exit(0);
  assert.equal(textOf(await answer).output, "done\n");
  const response = await client.fetch({ method: "DELETE" });
  assert.equal(response.status, 200);
  await response.body?.cancel();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 99, method: "tools/list" });
  assert.equal((await client.fetch({ body })).status, 404, "the session is gone");
});

Deno.test("over HTTP a malformed answer counts if its meaning is clear, and no call stays open because of it", async () => {
  const scene = new Scene({ rules: RULES });
  await using server = await endpoint(scene);
  const { peer } = new McpHttpClient(server);
  await peer.initialize();
  const unreadable = { kind: "deny", reason: "the client's answer cannot be read" };
  const answers: [object, object][] = [
    [{ result: { ...ACCEPT, _meta: null } }, { kind: "escalate", pathIsNamed: false }],
    [{ result: ACCEPT, error: null }, { kind: "escalate", pathIsNamed: false }],
    [{ result: { action: "accept", content: { a: {} } } }, { kind: "escalate", pathIsNamed: false }],
    [{ result: null }, unreadable],
    [{ error: { message: "no code" } }, unreadable],
  ];
  for (const [members, expected] of answers) {
    const started = scene.shells.next();
    const answer = peer.call("shell", ARGS);
    const shell = await started;
    peer.onElicit = () => new RawAnswer(members);
    let verdict: unknown = null;
    void shell.exec(["ask"]).then((decided) => verdict = decided);
    await until(() => verdict !== null, () => `no verdict after ${JSON.stringify(members)}`);
    assert.deepEqual(verdict, expected, JSON.stringify(members));
    shell.exit(0);
    await answer;
  }
});

Deno.test("the end of a session, and a client that goes away during a call, end commands", async () => {
  const scene = new Scene({ hasHandles: true });
  await using server = await endpoint(scene);
  const client = new McpHttpClient(server);
  await client.peer.initialize();
  let started = scene.shells.next();
  void client.peer.call("shell", ARGS).catch(() => {});
  const interrupted = await started;
  await client.drop();
  await interrupted.exited;
  assert.equal(interrupted.isTerminated, true);

  started = scene.shells.next();
  const answer = client.peer.call("shell", { ...ARGS, yield_ms: 0 });
  const kept = await started;
  await scene.passTimeUntil(answer);
  assert.equal(kept.isTerminated, false);
  await (await client.fetch({ method: "DELETE" })).body?.cancel();
  assert.equal(kept.isTerminated, true);
});

Deno.test("clients that may not connect to the websocket server may not connect here", async () => {
  const scene = new Scene();
  const token = "a-token-of-some-length";
  await using locked = await endpoint(scene, { type: "capabilityToken", token: await TokenDigest.ofToken(token) });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const status = async (client: McpHttpClient, headers: Record<string, string> = {}) => {
    const response = await client.fetch({ body, headers });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await status(new McpHttpClient(locked)), [401, "missing bearer token"]);
  assert.deepEqual(await status(new McpHttpClient(locked), { authorization: "Bearer wrong" }), [
    401,
    "invalid bearer token",
  ]);
  const holder = new McpHttpClient({ ...locked, headers: { authorization: `Bearer ${token}` } });
  await holder.peer.initialize();
  assert.equal((await holder.peer.request("tools/list")).tools.length, 1);
  assert.equal((await status(holder, { origin: "https://page.example" }))[0], 403);
  assert.equal((await status(new McpHttpClient({ url: `${new URL(locked.url).origin}/other` })))[0], 404);

  await using open = await endpoint(scene);
  assert.equal((await status(new McpHttpClient(open), { origin: "http://127.0.0.1" }))[0], 403);
  const own = await status(new McpHttpClient(open), { origin: new URL(open.url).origin });
  assert.notEqual(own[0], 403, "its own origin, which no page has");
  const named = await rawStatus(open.url, "evil.example");
  assert.match(named, /^HTTP\/1\.1 403 /, "a name that somebody else can point here");
  assert.equal((await fetch(`${new URL(open.url).origin}/healthz`)).status, 200);
});

Deno.test("revoking a token ends the sessions and commands of its holder, in both eras, and no others", async () => {
  const entry = async (name: string): Promise<TokenEntry> => ({
    ...{ name, digest: await TokenDigest.ofToken(`token of ${name}`), roles: ["client"], ids: ["*"] },
    ...{ createdAt: new Date(0), expiresAt: null },
  });
  const [alice, bob] = [await entry("alice"), await entry("bob")];
  using admissions = new Admissions({ table: new TokenTable([alice, bob]), clock: systemClock });
  const scene = new Scene({ hasHandles: true });
  await using server = await endpoint(scene, { type: "tokens", admissions, id: "box" });
  const clientOf = (name: string) =>
    new McpHttpClient({ ...server, headers: { authorization: `Bearer token of ${name}` } });
  const start = async (client: McpHttpClient, meta?: object) => {
    const started = scene.shells.next();
    const answer = client.peer.call("shell", { ...ARGS, yield_ms: 0 }, meta);
    const shell = await started;
    await scene.passTimeUntil(answer);
    return { shell, handle: textOf(await answer).handle };
  };
  const both = async (name: string) => {
    const client = clientOf(name);
    await client.peer.initialize();
    const legacy = await start(client);
    return { client, legacy, modern: await start(clientOf(name), McpPeer.modernMeta()) };
  };
  const [ofAlice, ofBob] = [await both("alice"), await both("bob")];
  const isAlive = ({ legacy, modern }: typeof ofAlice) => [!legacy.shell.isTerminated, !modern.shell.isTerminated];
  assert.deepEqual([isAlive(ofAlice), isAlive(ofBob)], [[true, true], [true, true]]);

  // A new token of the same name is another token: it does not inherit what the old one had.
  const newAlice = { ...alice, digest: await TokenDigest.ofToken("token of alice, the second") };
  admissions.replace(new TokenTable([newAlice, bob]));
  await Promise.all([ofAlice.legacy.shell.exited, ofAlice.modern.shell.exited]);
  assert.deepEqual([isAlive(ofAlice), isAlive(ofBob)], [[false, false], [true, true]]);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/list" });
  const refused = await ofAlice.client.fetch({ body });
  assert.equal(refused.status, 401);
  await refused.body?.cancel();
  const another = clientOf("alice, the second");
  another.sessionId = ofAlice.client.sessionId;
  const lost = await another.fetch({ body });
  assert.equal(lost.status, 404, "the session is gone");
  await lost.body?.cancel();
  await assert.rejects(
    another.peer.call("shell_poll", { handle: ofAlice.modern.handle }, McpPeer.modernMeta()),
    /unknown handle/,
  );
  const poll = ofBob.client.peer.call("shell_poll", { handle: ofBob.legacy.handle, wait_ms: 0 });
  await scene.passTimeUntil(poll);
  assert.equal(textOf(await poll).running, true);
});

Deno.test("a session is found by its id alone, and bodies that are too long or of no stated length are refused", async () => {
  const scene = new Scene();
  await using server = await endpoint(scene);
  const client = new McpHttpClient(server);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const unknown = await client.fetch({ body, headers: { "mcp-session-id": crypto.randomUUID() } });
  assert.equal(unknown.status, 404);
  await unknown.body?.cancel();
  const long = await client.fetch({ body: " ".repeat(5_000_000) }).then((response) => response.status, () => 413);
  assert.equal(long, 413);
  const chunked = await client.fetch({ body: ReadableStream.from([new TextEncoder().encode(body)]) as never });
  assert.equal(chunked.status, 411);
  await chunked.body?.cancel();
});

Deno.test("the 2026 era over HTTP: no session, prompts as answers, and the shell lives between the rounds", async () => {
  const scene = new Scene({ rules: RULES });
  await using server = await endpoint(scene);
  const { peer } = new McpHttpClient(server);
  const meta = McpPeer.modernMeta();
  const discovered = await peer.request("server/discover", { _meta: meta });
  assert.deepEqual(discovered.supportedVersions, ["2026-07-28"]);
  const started = scene.shells.next();
  const first = peer.call("shell", ARGS, meta);
  const shell = await started;
  const verdict = shell.exec(["ask"]);
  await scene.passTimeUntil(first);
  const { requestState, inputRequests } = await first;
  assert.equal(shell.isTerminated, false);
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, ACCEPT]));
  const second = peer.call("shell", ARGS, meta, { requestState, inputResponses });
  assert.equal((await verdict).kind, "escalate");
  shell.exit(0);
  assert.equal(textOf(await second).exit_code, 0);
});

Deno.test("in the 2026 era a method that is unknown, or not declared, is told as 404; in the 2025 era lists are empty", async () => {
  const scene = new Scene();
  await using server = await endpoint(scene);
  const modern = async (method: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: "m", method, params: { _meta: McpPeer.modernMeta() } });
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
    const response = await new McpHttpClient(server).fetch({ body, headers });
    const { id, error } = await response.json();
    return [response.status, id, error?.code];
  };
  assert.equal((await modern("tools/list"))[0], 200);
  for (const method of ["no/such", "prompts/list", "resources/list", "resources/templates/list", "ping"]) {
    assert.deepEqual(await modern(method), [404, "m", -32_601], method);
  }
  const { peer } = new McpHttpClient(server);
  await peer.initialize();
  assert.deepEqual(await peer.request("prompts/list"), { prompts: [] });
  assert.deepEqual(await peer.request("resources/list"), { resources: [] });
  await assert.rejects(peer.request("no/such"), /unknown method no\/such/);
});

Deno.test("without a session nothing that one client says holds for another: no sandbox, no answer", async () => {
  const scene = new Scene({ rules: RULES });
  await using server = await endpoint(scene);
  const meta = McpPeer.modernMeta();
  const run = async (answer: object) => {
    const { peer } = new McpHttpClient(server);
    const started = scene.shells.next();
    const first = peer.call("shell", ARGS, meta);
    const shell = await started;
    const verdict = shell.exec(["ask"]);
    await scene.passTimeUntil(first);
    const { requestState, inputRequests } = await first;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, answer]));
    const second = peer.call("shell", ARGS, meta, { requestState, inputResponses });
    const { kind } = await verdict;
    shell.exit(0);
    await second;
    return kind;
  };
  assert.equal(await run({ ...ACCEPT, _meta: { persist: "session" } }), "escalate");
  assert.equal(await run({ action: "decline" }), "deny");
  const { peer } = new McpHttpClient(server);
  const state = { sandboxPolicy: { type: "danger-full-access" }, sandboxCwd: "/", _meta: meta };
  await assert.rejects(peer.request("codex/sandbox-state/update", state), /unknown method|not found/i);
});

/** The first line of the answer to a request with this Host. */
async function rawStatus(url: string, host: string): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
  const buffer = new Uint8Array(1024);
  const read = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, read ?? 0));
}
