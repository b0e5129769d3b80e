/** Who may do what at the rendezvous, how much of it, and what operators see, over real sockets. */

import assert from "node:assert/strict";
import { fingerprint, parsePublicKey } from "../../../src/remote/noise/keys.ts";
import { TokenTable } from "../../../src/transport/tokens/token_table.ts";
import { closing, entryOf, Hall, KEY, nextMessage, okay, TOKENS } from "./hall.ts";

const POLICY_VIOLATION = 1008;

Deno.test("wrong, expired and foreign tokens are refused everywhere, and no answer holds a token (duty 7)", async () => {
  const expired = "an-expired-token";
  await using hall = await Hall.open({
    entries: [
      await entryOf(TOKENS.executor, { name: "executors", roles: ["executor"], ids: ["box-*"] }),
      await entryOf(TOKENS.client, { name: "clients", roles: ["client"], ids: ["box-*"] }),
      await entryOf(expired, { roles: ["executor", "client", "viewer"], expiresAt: new Date(Date.now() - 1000) }),
    ],
  });
  using _ = await hall.seedExecutor("box-1");
  const routes: [string, string, string][] = [
    ["POST", "/cloud/executor/box-1/register", TOKENS.client],
    ["POST", "/cloud/environment/box-1/register", TOKENS.client],
    ["POST", "/cloud/environment/box-1/validate", TOKENS.client],
    ["POST", "/cloud/environment/box-1/connect", TOKENS.executor],
    ["GET", "/connect/box-1", TOKENS.executor],
    ["GET", "/executors", TOKENS.executor],
    ["POST", "/cloud/executor/ci-1/register", TOKENS.executor],
    ["GET", "/connect/ci-1", TOKENS.client],
  ];
  for (const [method, path, foreign] of routes) {
    for (const [token, status] of [[undefined, 401], ["wrong", 401], [expired, 401], [foreign, 403]] as const) {
      const answer = await hall.request(method, path, { ...(token === undefined ? {} : { token }) });
      assert.equal(answer.status, status, `${path} ${token}`);
      assert.equal(typeof answer.json.error.message, "string");
      assert.ok(!answer.text.includes(token ?? TOKENS.client), answer.text);
    }
  }
  const registered = await hall.registerSeed("box-2");
  assert.ok(!registered.text.includes(TOKENS.executor));
  assert.ok(!hall.lines.join("").includes(TOKENS.executor) && !hall.lines.join("").includes('wrong"'));
});

Deno.test("revoking a token drops the connections made with it, and no others", async () => {
  await using hall = await Hall.open();
  using plain = await hall.seedExecutor("box-1");
  const { socket: noise } = await hall.noiseExecutor("box-2");
  using _ = noise;
  using client = await hall.client("box-1");
  using harness = await hall.harness("box-2");
  const without = (name: string) =>
    new TokenTable(hall.admissions.table.entries.filter((entry) => entry.name !== name));
  assert.equal(hall.admissions.replace(without("clients")), 2);
  assert.deepEqual(await closing(client), [POLICY_VIOLATION, "the token was revoked"]);
  client.drop();
  assert.deepEqual(await closing(harness), [POLICY_VIOLATION, "the token was revoked"]);
  // Its client has gone, so that this one makes room for the next.
  assert.equal((await closing(plain))[0], 1000);
  hall.admissions.replace(without("executors"));
  assert.deepEqual(await closing(noise), [POLICY_VIOLATION, "the token was revoked"]);
});

Deno.test("clients of an executor, connections of a token and of an address are bounded", async () => {
  await using hall = await Hall.open({
    limits: { clientsPerExecutor: 1, connectionsPerToken: 3, connectionsPerAddress: 4 },
  });
  using _ = await hall.seedExecutor("box-1");
  using __ = await hall.seedExecutor("box-1");
  using ___ = await hall.client("box-1");
  await assert.rejects(hall.client("box-1"), /503/, "its executor has a client");
  using ____ = await hall.seedExecutor("box-2");
  await assert.rejects(hall.seedExecutor("box-3"), /429/, "three of the token's are open");
  await assert.rejects(hall.client("box-2"), /429/, "four of the address are open");
});

Deno.test("behind a proxy the address is the last one it names, and only there; the public URL is where peers are sent", async () => {
  const headers = (forwarded: string) => ({ authorization: `Bearer ${TOKENS.executor}`, "x-forwarded-for": forwarded });
  const body = { idempotency_id: "p" };
  for (const isBehindProxy of [true, false]) {
    await using hall = await Hall.open({ isBehindProxy, publicUrl: "wss://meet.example.com" });
    const register = async (id: string, forwarded: string) =>
      okay(await hall.request("POST", `/cloud/executor/${id}/register`, { headers: headers(forwarded), body })).url;
    // Whoever connects can write what it likes before the proxy's own word.
    assert.match(await register("box-1", "203.0.113.9, 198.51.100.7"), /^wss:\/\/meet\.example\.com\/rendezvous\//);
    await register("box-2", "not an address");
    const addresses = hall.lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "executor registered")
      .map(({ address }) => address);
    assert.deepEqual(addresses, [isBehindProxy ? "198.51.100.7" : "127.0.0.1", "127.0.0.1"]);
  }
});

Deno.test("GET /executors shows what the token is for: name, kind, since when, last seen, clients", async () => {
  await using hall = await Hall.open();
  using _ = await hall.seedExecutor("box-1");
  using __ = await hall.client("box-1");
  const { socket } = await hall.noiseExecutor("ci-1");
  using ___ = socket;
  const list = async (token: string) => okay(await hall.request("GET", "/executors", { token })).executors;
  assert.deepEqual((await list(TOKENS.viewer)).map(({ id }: { id: string }) => id), ["box-1"]);
  const [box, ci] = await list(TOKENS.client);
  const { connectedSince, lastSeen, ...rest } = box;
  assert.deepEqual(rest, {
    ...{ id: "box-1", kind: "plain", name: "Box", version: null, connected: true, clients: 1, fingerprint: null },
  });
  for (const time of [connectedSince, lastSeen]) assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000);
  assert.deepEqual([ci.id, ci.kind, ci.clients], ["ci-1", "noise", 0]);
  assert.equal(ci.fingerprint, fingerprint(parsePublicKey(KEY)));
});

Deno.test("browsers, wrong paths, methods and bodies get clear answers", async () => {
  await using hall = await Hall.open();
  const token = TOKENS.executor;
  const cases: [Parameters<Hall["request"]>, number, RegExp][] = [
    [["GET", "/executors", { headers: { origin: "https://page.example" } }], 403, /web pages may not connect/],
    [["GET", "/", {}], 404, /there is nothing here/],
    [["GET", "/connect/a%2fb", { token }], 404, /not the id of an executor/],
    [["GET", "/cloud/executor/a/register", {}], 405, /use POST/],
    [["POST", "/cloud/environment/a/direct/register", {}], 501, /use the default, noise/],
    [["POST", "/cloud/executor/a/register", { token, body: "{" }], 400, /the body is not JSON/],
    [["POST", "/cloud/executor/a/register", { token, body: {} }], 400, /idempotency_id/],
    [
      ["POST", "/cloud/environment/a/register", { token, body: { security_profile: "plain_v1" } }],
      400,
      /security_profile/,
    ],
    [["POST", "/cloud/executor/a/register", { token, body: " ".repeat(20_000) }], 413, /at most 16384 bytes/],
    [
      ["POST", "/cloud/environment/a/connect", { token: TOKENS.client, body: { harness_public_key: {} } }],
      400,
      /harness/,
    ],
    [["GET", "/connect/a", { token: TOKENS.client }], 400, /Connection header/],
  ];
  for (const [[method, path, words], status, message] of cases) {
    const answer = await hall.request(method, path, words);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    assert.match(answer.text, message);
  }
});

Deno.test("audit lines say who came, who went, by which token, from where and with how much", async () => {
  await using hall = await Hall.open();
  using executor = await hall.seedExecutor("box-1");
  const client = await hall.client("box-1");
  await client.sendText("hello");
  await nextMessage(executor);
  client.drop();
  assert.equal(await nextMessage(executor), null);
  executor.drop();
  await hall.rendezvous.shutDown();
  const audit = hall.lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "audit");
  const brief = audit.map(({ event, executor, token, address }) => [event, executor, token, address]);
  assert.deepEqual(brief.sort(), [
    ["client connected", "box-1", "clients", "127.0.0.1"],
    ["client gone", "box-1", "clients", "127.0.0.1"],
    ["executor connected", "box-1", "executors", "127.0.0.1"],
    ["executor gone", "box-1", "executors", "127.0.0.1"],
    ["executor registered", "box-1", "executors", "127.0.0.1"],
  ]);
  const gone = audit.find(({ event }) => event === "client gone");
  assert.deepEqual([gone.endedBy, gone.bytesToExecutor, gone.bytesToClient], ["client", 11, 0]);
});
