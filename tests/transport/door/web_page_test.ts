/** Clients in web pages, and logins that are only tried: what `decideUpgrade` makes of them. */

import assert from "node:assert/strict";
import {
  AUTH_REFUSAL,
  type Authenticator,
  createAuthenticator,
  TokenDigest,
} from "../../../src/transport/door/auth.ts";
import { parseHead, type RequestHead } from "../../../src/transport/door/http_head.ts";
import { serializeUpgrade } from "../../../src/transport/door/http_response.ts";
import { decideUpgrade, UPGRADE_REFUSAL, type UpgradeContext } from "../../../src/transport/door/upgrade.ts";

const PAGE = "https://app.example";
const TOKEN = "s3cret+/=~";
const authenticator = createAuthenticator({ type: "capabilityToken", token: await TokenDigest.ofToken(TOKEN) })!;
const CONTEXT: UpgradeContext = {
  authenticator,
  isLoopbackListener: true,
  allowedOrigins: [PAGE, "http://localhost:1"],
};

const UPGRADE = {
  Host: "box.example",
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

const bearer = (token: string) =>
  `exec-server.bearer.${new TextEncoder().encode(token).toBase64({ alphabet: "base64url", omitPadding: true })}`;
const OFFERED = `exec-server.v1, ${bearer(TOKEN)}`;

type Fields = Record<string, string | string[]>;

function head(requestLine: string, fields: Fields): RequestHead {
  const lines = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
  const text = [`${requestLine} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const parsed = parseHead(new TextEncoder().encode(text));
  if (parsed.type !== "head") assert.fail(JSON.stringify(parsed));
  return parsed;
}

async function answer(requestLine: string, fields: Fields, context: UpgradeContext = CONTEXT): Promise<string> {
  const decision = await decideUpgrade(head(requestLine, fields), context);
  return decision.type === "upgrade" ? `101 ${decision.protocol}` : `${decision.status} ${decision.body}`;
}

Deno.test("a page of an allowed origin is let in by the token in its subprotocol, and ours alone is selected", async () => {
  const fields = { ...UPGRADE, Origin: PAGE, "Sec-WebSocket-Protocol": OFFERED };
  assert.equal(await answer("GET /", fields), "101 exec-server.v1");
  const swapped = [bearer(TOKEN), "other", "exec-server.v1"];
  assert.equal(await answer("GET /", { ...fields, "Sec-WebSocket-Protocol": swapped }), "101 exec-server.v1");
  assert.equal(
    await answer("GET /", { ...fields, "Sec-WebSocket-Protocol": bearer(TOKEN) }),
    "101 undefined",
    "the token itself is never selected",
  );
  const decision = await decideUpgrade(head("GET /", fields), CONTEXT);
  if (decision.type !== "upgrade") assert.fail(String(decision.status));
  const text = new TextDecoder().decode(serializeUpgrade(decision));
  assert.match(text, /\r\nsec-websocket-protocol: exec-server\.v1\r\n/);
  assert.ok(!text.includes("bearer"), text);
});

Deno.test("a page of an allowed origin without a good token is refused as everybody else is", async () => {
  const origin = { ...UPGRADE, Origin: PAGE };
  const cases: [Fields, string][] = [
    [origin, AUTH_REFUSAL.missingToken],
    [{ ...origin, "Sec-WebSocket-Protocol": "exec-server.v1" }, AUTH_REFUSAL.missingToken],
    [{ ...origin, "Sec-WebSocket-Protocol": `exec-server.v1, ${bearer("guess")}` }, AUTH_REFUSAL.wrongToken],
    [{ ...origin, "Sec-WebSocket-Protocol": "exec-server.bearer." }, AUTH_REFUSAL.invalidHeader],
    [{ ...origin, "Sec-WebSocket-Protocol": "exec-server.bearer.a!" }, AUTH_REFUSAL.invalidHeader],
    [{ ...origin, "Sec-WebSocket-Protocol": `${bearer(TOKEN)}, ${bearer(TOKEN)}` }, AUTH_REFUSAL.invalidHeader],
    [{ ...origin, "Sec-WebSocket-Protocol": OFFERED, Authorization: `Bearer ${TOKEN}` }, AUTH_REFUSAL.invalidHeader],
    [{ ...origin, "Sec-WebSocket-Protocol": bearer(`${TOKEN}\r\n`) }, AUTH_REFUSAL.invalidHeader],
  ];
  for (const [fields, body] of cases) {
    assert.equal(await answer("GET /", fields), `401 ${body}`, JSON.stringify(fields));
  }
});

Deno.test("every other origin is refused, and all are without authentication", async () => {
  const offered = { ...UPGRADE, "Sec-WebSocket-Protocol": OFFERED };
  const others = [
    "https://app.example:8443",
    "http://app.example",
    "https://app.example.evil",
    "null",
    "*",
    "",
    PAGE + "/",
  ];
  for (const Origin of others) {
    assert.equal(await answer("GET /", { ...offered, Origin }), "403 ", Origin);
    assert.equal(await answer("GET /session-check", { Host: "x", Origin }), "403 ", Origin);
    assert.equal(await answer("OPTIONS /session-check", { Host: "x", Origin }), "403 ", Origin);
  }
  assert.equal(await answer("GET /", { ...offered, Origin: [PAGE, PAGE] }), "403 ", "two origins count as none");
  const open = { ...CONTEXT, authenticator: null };
  assert.equal(await answer("GET /", { ...offered, Origin: PAGE }, open), "403 ");
  const closed = { authenticator, isLoopbackListener: true };
  assert.equal(await answer("GET /", { ...offered, Origin: PAGE }, closed), "403 ", "none is allowed by default");
});

Deno.test("a token in a subprotocol counts for pages alone, but anybody may have the protocol selected", async () => {
  const offered = { ...UPGRADE, "Sec-WebSocket-Protocol": OFFERED };
  assert.equal(await answer("GET /", offered), `401 ${AUTH_REFUSAL.missingToken}`);
  assert.equal(await answer("GET /", { ...offered, Authorization: `Bearer ${TOKEN}` }), "101 exec-server.v1");
  assert.equal(await answer("GET /", { ...UPGRADE, Authorization: `Bearer ${TOKEN}` }), "101 undefined");
});

Deno.test("/session-check tries a login: 204, or what the upgrade would have said", async () => {
  const host = { Host: "127.0.0.1" };
  const cases: [string, Fields, string][] = [
    ["GET", { ...host, Authorization: `Bearer ${TOKEN}` }, "204 null"],
    ["GET", host, `401 ${AUTH_REFUSAL.missingToken}`],
    ["GET", { ...host, Authorization: "Bearer x" }, `401 ${AUTH_REFUSAL.wrongToken}`],
    ["GET", { ...host, Authorization: "Basic x" }, `401 ${AUTH_REFUSAL.invalidHeader}`],
    ["GET", { ...host, Authorization: ["Bearer x", "Bearer x"] }, `401 ${AUTH_REFUSAL.invalidHeader}`],
    ["POST", { ...host, Authorization: `Bearer ${TOKEN}` }, `405 ${UPGRADE_REFUSAL.method}`],
    ["OPTIONS", host, `405 ${UPGRADE_REFUSAL.method}`],
    ["GET", { ...host, "Content-Length": "1", Authorization: `Bearer ${TOKEN}` }, `413 ${UPGRADE_REFUSAL.body}`],
  ];
  for (const [method, fields, expected] of cases) {
    assert.equal(await answer(`${method} /session-check`, fields), expected, `${method} ${JSON.stringify(fields)}`);
  }
  const open: UpgradeContext = { authenticator: null, isLoopbackListener: true };
  assert.equal(await answer("GET /session-check", host, open), "204 null");
  assert.equal(await answer("GET /session-check", { Host: "evil.example" }, open), `403 ${UPGRADE_REFUSAL.host}`);
  const foreign = { ...open, foreignPeer: "user 1" };
  assert.match(await answer("GET /session-check", host, foreign), /^403 ./);
});

Deno.test("/session-check gives a login back at once", async () => {
  let released = 0;
  const admission = { holder: "me", revoked: new AbortController().signal, release: () => released++ };
  const admitting: Authenticator = () => Promise.resolve({ ok: true, admission });
  const context = { authenticator: admitting, isLoopbackListener: true };
  assert.equal(await answer("GET /session-check", { Host: "127.0.0.1" }, context), "204 null");
  assert.equal(released, 1);
});

Deno.test("/session-check can be read by pages of allowed origins, refusals included", async () => {
  const headersOf = async (requestLine: string, fields: Fields) => {
    const decision = await decideUpgrade(head(requestLine, { Host: "127.0.0.1", Origin: PAGE, ...fields }), CONTEXT);
    return decision.type === "response" ? { status: decision.status, ...decision.headers } : null;
  };
  const readable = { "access-control-allow-origin": PAGE, vary: "Origin" };
  const preflight = {
    status: 204,
    ...readable,
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "authorization",
    "access-control-max-age": "600",
  };
  const asking = { "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization" };
  assert.deepEqual(await headersOf("OPTIONS /session-check", asking), preflight);
  assert.deepEqual(
    await headersOf("OPTIONS /session-check", { ...asking, "Access-Control-Request-Private-Network": "true" }),
    { ...preflight, "access-control-allow-private-network": "true" },
  );
  assert.deepEqual(await headersOf("GET /session-check", { Authorization: `Bearer ${TOKEN}` }), {
    status: 204,
    ...readable,
  });
  assert.deepEqual(await headersOf("GET /session-check", {}), {
    status: 401,
    "www-authenticate": "Bearer",
    ...readable,
  });
  assert.deepEqual(await headersOf("POST /session-check", {}), { status: 405, allow: "GET", ...readable });
});
