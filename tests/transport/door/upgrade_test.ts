import assert from "node:assert/strict";
import type { Authenticator } from "../../../src/transport/door/auth.ts";
import { parseHead, type RequestHead } from "../../../src/transport/door/http_head.ts";
import { httpResponse, serializeResponse, serializeUpgrade } from "../../../src/transport/door/http_response.ts";
import {
  answerMalformed,
  decideUpgrade,
  UPGRADE_REFUSAL,
  type UpgradeContext,
  websocketAccept,
} from "../../../src/transport/door/upgrade.ts";

/** The handshake of RFC 6455, section 1.3. */
const UPGRADE = {
  Host: "127.0.0.1:80",
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const OPEN: UpgradeContext = { authenticator: null, isLoopbackListener: true };

const allow: Authenticator = () => Promise.resolve({ ok: true });

type Fields = Record<string, string | string[] | undefined>;

function head(requestLine: string, fields: Fields = { Host: "127.0.0.1" }): RequestHead {
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`)
  );
  const text = [requestLine.includes("HTTP/") ? requestLine : `${requestLine} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const parsed = parseHead(Uint8Array.from(text, (char) => char.charCodeAt(0)));
  if (parsed.type !== "head") assert.fail(`${JSON.stringify(parsed)} for ${JSON.stringify(text)}`);
  return parsed;
}

/** The answer on the wire: status and body for refusals, the whole for an upgrade. */
async function answer(request: RequestHead, context: UpgradeContext = OPEN): Promise<string> {
  const decision = await decideUpgrade(request, context);
  if (decision.type === "upgrade") return `101 ${decision.accept}`;
  return `${decision.status} ${decision.body}`;
}

function decode(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

Deno.test("the refusals are the reference server's texts", () => {
  const { method, connection, upgrade, version, key } = UPGRADE_REFUSAL;
  assert.deepEqual({ method, connection, upgrade, version, key }, {
    method: "Request method must be `GET`",
    connection: "Connection header did not include 'upgrade'",
    upgrade: "`Upgrade` header did not include 'websocket'",
    version: "`Sec-WebSocket-Version` header did not include '13'",
    key: "`Sec-WebSocket-Key` header missing",
  });
});

Deno.test("decideUpgrade() upgrades a websocket handshake with the accept hash of RFC 6455", async () => {
  assert.equal(await websocketAccept(UPGRADE["Sec-WebSocket-Key"]), ACCEPT);
  const request = (fields: Fields, target = "/") => head(`GET ${target}`, { ...UPGRADE, ...fields });
  assert.deepEqual(await decideUpgrade(request({}), OPEN), { type: "upgrade", accept: ACCEPT, requestId: null });
  assert.deepEqual(await decideUpgrade(request({ "X-Request-Id": "a b\xff" }), OPEN), {
    type: "upgrade",
    accept: ACCEPT,
    requestId: "a b\xff",
  });
  const variations: [Fields, string?][] = [
    [{}, "/?token=x"],
    [{}, "http://127.0.0.1/"],
    [{ Connection: "keep-alive, UPGRADE" }],
    [{ Connection: ["keep-alive", "upgrade"] }],
    [{ Upgrade: "h2c, WebSocket" }],
    [{ "Sec-WebSocket-Protocol": "chat", "Sec-WebSocket-Extensions": "permessage-deflate" }],
    [{ "Content-Length": "0" }],
  ];
  for (const [fields, target] of variations) {
    assert.equal(await answer(request(fields, target)), `101 ${ACCEPT}`, JSON.stringify(fields));
  }
});

Deno.test("decideUpgrade() answers every row of the table, one check at a time", async () => {
  const broken = { Host: "127.0.0.1" };
  const cases: [string, Fields, string][] = [
    // Origin comes first, whatever its value and whatever the rest.
    ["GET /", { ...UPGRADE, Origin: "http://127.0.0.1" }, "403 "],
    ["GET /", { ...UPGRADE, Origin: "null" }, "403 "],
    ["GET /", { ...UPGRADE, Origin: "" }, "403 "],
    ["GET /readyz", { ...broken, Origin: "x" }, "403 "],
    ["POST /nowhere", { Host: "evil.example", Origin: "x" }, "403 "],
    ["HEAD /readyz", { ...broken, Origin: "x" }, "403 "],
    // Then Host.
    ["GET /nowhere", { Host: "evil.example" }, `403 ${UPGRADE_REFUSAL.host}`],
    ["POST /", { Host: "evil.example" }, `403 ${UPGRADE_REFUSAL.host}`],
    // Then the route, before method and headers.
    ["GET /readyz", broken, "200 "],
    ["HEAD /readyz", broken, "200 "],
    ["GET /readyz?x=1", broken, "200 "],
    ["GET /healthz", broken, "200 "],
    ["HEAD /healthz", broken, "200 "],
    ["GET /readyz", UPGRADE, "200 "],
    ["POST /readyz", broken, "405 "],
    ["get /readyz", broken, "405 "],
    ["DELETE /healthz", broken, "405 "],
    // A body changes nothing where the connection ends with the answer.
    ["POST /", { ...broken, "Content-Length": "3" }, `405 ${UPGRADE_REFUSAL.method}`],
    ["POST /", { ...broken, Origin: "x", "Transfer-Encoding": "chunked" }, "403 "],
    ["GET /readyz", { ...broken, "Content-Length": "3" }, "200 "],
    ["GET /", { ...UPGRADE, "Content-Length": "0010" }, `413 ${UPGRADE_REFUSAL.body}`],
    ["GET /", { ...UPGRADE, "Transfer-Encoding": "chunked" }, `413 ${UPGRADE_REFUSAL.body}`],
    ["GET /readyz/", broken, "404 "],
    ["GET /READYZ", broken, "404 "],
    ["GET /%72eadyz", broken, "404 "],
    ["GET //", UPGRADE, "404 "],
    ["GET /foo", UPGRADE, "404 "],
    ["POST /foo", broken, "404 "],
    ["HEAD /foo", broken, "404 "],
    ["GET /./", UPGRADE, "404 "],
    // Then the method.
    ["POST /", UPGRADE, `405 ${UPGRADE_REFUSAL.method}`],
    ["get /", UPGRADE, `405 ${UPGRADE_REFUSAL.method}`],
    ["OPTIONS /", broken, `405 ${UPGRADE_REFUSAL.method}`],
    ["HEAD /", UPGRADE, "405 null"],
    // Then the upgrade headers, in this order.
    ["GET /", broken, `400 ${UPGRADE_REFUSAL.connection}`],
    ["GET /", { ...UPGRADE, Connection: undefined }, `400 ${UPGRADE_REFUSAL.connection}`],
    ["GET /", { ...UPGRADE, Connection: "close" }, `400 ${UPGRADE_REFUSAL.connection}`],
    ["GET /", { ...UPGRADE, Connection: "upgraded" }, `400 ${UPGRADE_REFUSAL.connection}`],
    ["GET /", { ...broken, Connection: "upgrade" }, `400 ${UPGRADE_REFUSAL.upgrade}`],
    ["GET /", { ...UPGRADE, Upgrade: "h2c" }, `400 ${UPGRADE_REFUSAL.upgrade}`],
    ["GET /", { ...UPGRADE, Upgrade: "websockets" }, `400 ${UPGRADE_REFUSAL.upgrade}`],
    ["GET /", { ...broken, Connection: "upgrade", Upgrade: "websocket" }, `400 ${UPGRADE_REFUSAL.version}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Version": "8" }, `400 ${UPGRADE_REFUSAL.version}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Version": "13, 8" }, `400 ${UPGRADE_REFUSAL.version}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Version": ["13", "13"] }, `400 ${UPGRADE_REFUSAL.version}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Key": undefined }, `400 ${UPGRADE_REFUSAL.key}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Key": "" }, `400 ${UPGRADE_REFUSAL.key}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Key": ["a", "a"] }, `400 ${UPGRADE_REFUSAL.repeatedKey}`],
    ["GET / HTTP/1.0", UPGRADE, `400 ${UPGRADE_REFUSAL.httpVersion}`],
  ];
  for (const [requestLine, fields, expected] of cases) {
    assert.equal(await answer(head(requestLine, fields)), expected, `${requestLine} ${JSON.stringify(fields)}`);
  }
});

Deno.test("decideUpgrade() asks the authenticator last, and only for a complete handshake", async () => {
  const asked: (string | null)[] = [];
  const authenticator: Authenticator = (authorization) => {
    asked.push(authorization);
    return Promise.resolve({ ok: false, body: "go away" });
  };
  const context = { authenticator, isLoopbackListener: true };
  const cases: [string, Fields, string][] = [
    ["GET /", { ...UPGRADE, Origin: "x" }, "403 "],
    ["GET /readyz", { Host: "127.0.0.1" }, "200 "],
    ["GET /foo", UPGRADE, "404 "],
    ["POST /", UPGRADE, `405 ${UPGRADE_REFUSAL.method}`],
    ["GET /", { ...UPGRADE, "Sec-WebSocket-Key": undefined }, `400 ${UPGRADE_REFUSAL.key}`],
    ["GET /", { ...UPGRADE, Authorization: ["Bearer a", "Bearer a"] }, "401 invalid authorization header"],
  ];
  for (const [requestLine, fields, expected] of cases) {
    assert.equal(await answer(head(requestLine, fields), context), expected, requestLine);
  }
  assert.deepEqual(asked, []);

  assert.equal(await answer(head("GET /?token=x", UPGRADE), context), "401 go away");
  assert.equal(await answer(head("GET /", { ...UPGRADE, Authorization: " Bearer a " }), context), "401 go away");
  assert.deepEqual(asked, [null, "Bearer a"]);
  const accepted = { authenticator: allow, isLoopbackListener: true };
  assert.equal(await answer(head("GET /", UPGRADE), accepted), `101 ${ACCEPT}`);
});

Deno.test("a loopback listener without auth answers to IP addresses and localhost only", async () => {
  const own = ["127.0.0.1", "127.0.0.1:80", "[::1]:9", "[::1]", "localhost", "LOCALHOST:1", "10.0.0.1", "8.8.8.8:53"];
  const foreign = [
    "evil.example",
    "localhost.evil.example",
    "evil.localhost",
    "localhost.",
    "127.0.0.1.evil.example",
    "127.1",
    "2130706433",
    "0x7f.1",
    "[1.2.3.4]",
    "[::1::]",
    "",
    ":80",
  ];
  for (const Host of own) assert.equal(await answer(head("GET /", { ...UPGRADE, Host })), `101 ${ACCEPT}`, Host);
  for (const Host of foreign) {
    const request = head("GET /", { ...UPGRADE, Host });
    assert.equal(await answer(request), `403 ${UPGRADE_REFUSAL.host}`, Host);
    assert.equal(await answer(head("GET /readyz", { Host })), `403 ${UPGRADE_REFUSAL.host}`, Host);
    assert.equal(await answer(head("HEAD /readyz", { Host })), "403 null", Host);
    assert.equal(await answer(request, { authenticator: null, isLoopbackListener: false }), `101 ${ACCEPT}`, Host);
    assert.equal(await answer(request, { authenticator: allow, isLoopbackListener: true }), `101 ${ACCEPT}`, Host);
  }
  assert.equal(await answer(head("GET http://evil.example/readyz")), `403 ${UPGRADE_REFUSAL.host}`);
  assert.equal(await answer(head("GET /readyz HTTP/1.0", {})), "200 ");
});

Deno.test("decideUpgrade() passes on a fault of the authenticator rather than letting anybody in", async () => {
  const authenticator: Authenticator = () => Promise.reject(new Error("out of order"));
  await assert.rejects(answer(head("GET /", UPGRADE), { authenticator, isLoopbackListener: true }), /out of order/);
});

Deno.test("answers carry the headers that explain them", async () => {
  const headersOf = async (request: RequestHead, context = OPEN) => {
    const decision = await decideUpgrade(request, context);
    return decision.type === "response" ? decision.headers : null;
  };
  const refuse: Authenticator = () => Promise.resolve({ ok: false, body: "no" });
  assert.deepEqual(await headersOf(head("POST /readyz")), { allow: "GET,HEAD" });
  assert.deepEqual(await headersOf(head("POST /")), { allow: "GET" });
  assert.deepEqual(await headersOf(head("GET /", { ...UPGRADE, "Sec-WebSocket-Version": "8" })), {
    "sec-websocket-version": "13",
  });
  assert.deepEqual(await headersOf(head("GET /", UPGRADE), { authenticator: refuse, isLoopbackListener: true }), {
    "www-authenticate": "Bearer",
  });
  assert.deepEqual(await headersOf(head("GET /readyz", { Host: "127.0.0.1", "X-Request-Id": "1" })), {});
});

Deno.test("serializeResponse() closes the connection and states the length in bytes", () => {
  assert.equal(
    decode(serializeResponse(httpResponse(200))),
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
  );
  assert.equal(
    decode(serializeResponse(httpResponse(405, "é", { allow: "GET" }))),
    "HTTP/1.1 405 Method Not Allowed\r\nallow: GET\r\nconnection: close\r\ncontent-length: 2\r\n" +
      "content-type: text/plain; charset=utf-8\r\n\r\n\xc3\xa9",
  );
  assert.equal(
    decode(serializeResponse(httpResponse(405, null, { allow: "GET" }))),
    "HTTP/1.1 405 Method Not Allowed\r\nallow: GET\r\nconnection: close\r\n\r\n",
  );
});

Deno.test("serializeUpgrade() echoes the request id byte by byte and agrees to nothing else", () => {
  const head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n";
  assert.equal(
    decode(serializeUpgrade({ accept: ACCEPT, requestId: null })),
    `${head}sec-websocket-accept: ${ACCEPT}\r\n\r\n`,
  );
  assert.equal(
    decode(serializeUpgrade({ accept: ACCEPT, requestId: "r\xe9 1" })),
    `${head}sec-websocket-accept: ${ACCEPT}\r\nx-request-id: r\xe9 1\r\n\r\n`,
  );
});

Deno.test("answerMalformed() gives the parser's status and reason", () => {
  const response = answerMalformed({ type: "malformed", status: 431, reason: "too much" });
  assert.deepEqual(response, { type: "response", status: 431, headers: {}, body: "too much" });
});
