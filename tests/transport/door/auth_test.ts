/**
 * Which tokens are let in, and in which words others are refused.
 *
 * More than 300 lines: tables of tokens.
 */

import assert from "node:assert/strict";
import {
  AUTH_REFUSAL,
  type AuthConfig,
  createAuthenticator,
  SharedSecret,
  TokenDigest,
} from "../../../src/transport/door/auth.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const NOW_SECONDS = 1_800_000_000;
/** Half a second past the full one, so that rounding the clock the wrong way shows. */
const nowMs = () => NOW_SECONDS * 1000 + 500;

const encoder = new TextEncoder();

function base64url(bytes: Uint8Array | string): string {
  return (typeof bytes === "string" ? encoder.encode(bytes) : bytes).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
}

interface TokenParts {
  header?: unknown;
  secret?: string;
  hash?: "SHA-256" | "SHA-512";
}

/** A JWT made by hand from the text of its payload. */
async function signText(payload: string | Uint8Array, parts: TokenParts = {}): Promise<string> {
  const header = JSON.stringify(parts.header ?? { alg: "HS256", typ: "JWT" });
  const signed = `${base64url(header)}.${base64url(payload)}`;
  const algorithm = { name: "HMAC", hash: parts.hash ?? "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(parts.secret ?? SECRET), algorithm, false, ["sign"]);
  return `${signed}.${base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(signed))))}`;
}

function sign(claims: unknown, parts: TokenParts = {}): Promise<string> {
  return signText(JSON.stringify(claims), parts);
}

type Demands = { issuer?: string; audience?: string; maxClockSkewSeconds?: number };

async function signedConfig(demands: Demands = {}): Promise<AuthConfig> {
  return {
    type: "signedBearerToken",
    secret: await SharedSecret.import(SECRET),
    issuer: demands.issuer ?? null,
    audience: demands.audience ?? null,
    maxClockSkewSeconds: demands.maxClockSkewSeconds ?? 30,
  };
}

/** "ok", or the body of the refusal. */
async function verdict(config: AuthConfig, authorization: string | null): Promise<string> {
  const outcome = await createAuthenticator(config, { nowMs })!(authorization);
  return outcome.ok ? "ok" : outcome.body;
}

async function jwtVerdict(token: string, demands: Demands = {}): Promise<string> {
  return await verdict(await signedConfig(demands), `Bearer ${token}`);
}

Deno.test("createAuthenticator() is null when no auth is configured", () => {
  assert.equal(createAuthenticator({ type: "none" }), null);
});

Deno.test("the refusals are the reference server's texts", () => {
  assert.deepEqual(AUTH_REFUSAL, {
    missingToken: "missing websocket bearer token",
    invalidHeader: "invalid authorization header",
    wrongToken: "invalid websocket bearer token",
    invalidJwt: "invalid websocket jwt",
    expiredJwt: "expired websocket jwt",
    earlyJwt: "websocket jwt is not valid yet",
    wrongIssuer: "websocket jwt issuer mismatch",
    wrongAudience: "websocket jwt audience mismatch",
  });
});

Deno.test("both modes refuse a header that carries no bearer token", async () => {
  const configs: AuthConfig[] = [
    { type: "capabilityToken", token: await TokenDigest.ofToken("tok") },
    await signedConfig(),
  ];
  for (const config of configs) {
    assert.equal(await verdict(config, null), AUTH_REFUSAL.missingToken);
    for (
      const header of [
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Bearer    ",
        "bearer\t",
        "Basic tok",
        "tok",
        "Bearertok",
        "Bearer:tok",
        "Bearers tok",
        "Bearer\ttok",
        "Bearer tok\x80",
        "Bearer tok\u00a0",
        "Bearer t\u0000k",
        "Token Bearer tok",
        `Bearer ${"x".repeat(16_384)}`,
      ]
    ) assert.equal(await verdict(config, header), AUTH_REFUSAL.invalidHeader, JSON.stringify(header.slice(0, 40)));
  }
});

Deno.test("a capability token is accepted whatever the case of the scheme and the space around it", async () => {
  const config: AuthConfig = { type: "capabilityToken", token: await TokenDigest.ofToken("tok-123") };
  for (const header of ["Bearer tok-123", "bearer tok-123", "BEARER   tok-123", " Bearer tok-123 \t"]) {
    assert.equal(await verdict(config, header), "ok", header);
  }
  for (const token of ["tok-12", "tok-1234", "TOK-123", "tok-123 tok-123", "tok-123,", "x", "x".repeat(16_000)]) {
    assert.equal(await verdict(config, `Bearer ${token}`), AUTH_REFUSAL.wrongToken, token.slice(0, 40));
  }
});

Deno.test("TokenDigest.fromHex() takes 64 hex digits and matches the token, not the digest", async () => {
  const hex = "df3e6b0bb66ceaadca4f84cbc371fd66e04d20fe51fc414da8d1b84d31d178de"; // of "token1"
  for (const digits of [hex, hex.toUpperCase()]) {
    const digest = TokenDigest.fromHex(digits);
    assert.equal(await digest.matches(hex), false);
    assert.equal(await digest.matches("token1"), true);
  }
  for (const bad of ["", hex.slice(1), hex + "0", hex.replace("5", "g"), ` ${hex}`, `${hex}\n`]) {
    assert.throws(() => TokenDigest.fromHex(bad), RangeError);
  }
});

Deno.test("SharedSecret.import() counts bytes, not characters, and wants 32", async () => {
  await SharedSecret.import("é".repeat(16));
  await assert.rejects(SharedSecret.import("é".repeat(15) + "x"), RangeError);
  await assert.rejects(SharedSecret.import(""), RangeError);
});

Deno.test("a signed token is accepted with exp, and with every optional claim in order", async () => {
  const exp = NOW_SECONDS + 60;
  const demands = { issuer: "iss1", audience: "aud1" };
  const cases: [unknown, Demands][] = [
    [{ exp }, {}],
    [{ exp, nbf: null, iss: null, aud: null }, {}],
    [{ exp, nbf: 0, iss: "anyone", aud: ["anything"], extra: { a: 1 } }, {}],
    [{ exp, aud: [] }, {}],
    [{ exp, iss: "iss1", aud: "aud1" }, demands],
    [{ exp, iss: "iss1", aud: ["x", "aud1"] }, demands],
    [{ exp: 2 ** 62 }, {}],
  ];
  for (const [claims, wanted] of cases) {
    assert.equal(await jwtVerdict(await sign(claims), wanted), "ok", JSON.stringify(claims));
  }
  assert.equal(await jwtVerdict(await sign({ exp }, { header: { alg: "HS256" } })), "ok");
});

Deno.test("a signed token lives from nbf - skew through exp + skew, both inclusive", async () => {
  const far = NOW_SECONDS + 1000;
  const cases: [Record<string, number>, number, string][] = [
    [{ exp: NOW_SECONDS }, 0, "ok"],
    [{ exp: NOW_SECONDS - 1 }, 0, AUTH_REFUSAL.expiredJwt],
    [{ exp: NOW_SECONDS - 30 }, 30, "ok"],
    [{ exp: NOW_SECONDS - 31 }, 30, AUTH_REFUSAL.expiredJwt],
    [{ exp: far, nbf: NOW_SECONDS }, 0, "ok"],
    [{ exp: far, nbf: NOW_SECONDS + 1 }, 0, AUTH_REFUSAL.earlyJwt],
    [{ exp: far, nbf: NOW_SECONDS + 30 }, 30, "ok"],
    [{ exp: far, nbf: NOW_SECONDS + 31 }, 30, AUTH_REFUSAL.earlyJwt],
    [{ exp: -5 }, 30, AUTH_REFUSAL.expiredJwt],
  ];
  for (const [claims, maxClockSkewSeconds, expected] of cases) {
    assert.equal(await jwtVerdict(await sign(claims), { maxClockSkewSeconds }), expected, JSON.stringify(claims));
  }
});

Deno.test("claims are judged in the order exp, nbf, iss, aud", async () => {
  const demands = { issuer: "iss1", audience: "aud1" };
  const bad = { exp: NOW_SECONDS - 100, nbf: NOW_SECONDS + 100, iss: "x", aud: "x" };
  const cases: [unknown, string][] = [
    [bad, AUTH_REFUSAL.expiredJwt],
    [{ ...bad, exp: NOW_SECONDS + 200 }, AUTH_REFUSAL.earlyJwt],
    [{ ...bad, exp: NOW_SECONDS + 200, nbf: 0 }, AUTH_REFUSAL.wrongIssuer],
    [{ ...bad, exp: NOW_SECONDS + 200, nbf: 0, iss: "iss1" }, AUTH_REFUSAL.wrongAudience],
  ];
  for (const [claims, expected] of cases) assert.equal(await jwtVerdict(await sign(claims), demands), expected);
});

Deno.test("a demanded claim must exist and be equal, letter by letter", async () => {
  const exp = NOW_SECONDS + 60;
  for (const iss of [undefined, null, "", "ISS1", "iss1 "]) {
    const token = await sign({ exp, iss });
    assert.equal(await jwtVerdict(token, { issuer: "iss1" }), AUTH_REFUSAL.wrongIssuer, String(iss));
  }
  for (const aud of [undefined, null, "", "aud", "aud11", [], ["x"], ["aud1 "]]) {
    const token = await sign({ exp, aud });
    assert.equal(await jwtVerdict(token, { audience: "aud1" }), AUTH_REFUSAL.wrongAudience, String(aud));
  }
});

Deno.test("a signature does not help claims of the wrong type", async () => {
  const exp = NOW_SECONDS + 60;
  const payloads = [
    ...[
      {},
      { exp: null },
      { exp: String(exp) },
      { exp: exp + 0.5 },
      { exp: true },
      { exp: [exp] },
      { exp, nbf: "0" },
      { exp, nbf: 0.5 },
      { exp, iss: 1 },
      { exp, iss: ["iss1"] },
      { exp, aud: 1 },
      { exp, aud: { 0: "aud1" } },
      { exp, aud: ["aud1", 1] },
      [exp],
      exp,
      "exp",
      null,
    ].map((claims) => JSON.stringify(claims)),
    '{"exp":1e400}',
    '{"exp":9223372036854775808}',
    `{"__proto__":{"exp":${exp}}}`,
    `{"exp":${exp}`,
    "",
    " ",
  ];
  for (const payload of payloads) {
    assert.equal(await jwtVerdict(await signText(payload)), AUTH_REFUSAL.invalidJwt, payload);
  }
  const notUtf8 = new Uint8Array([...encoder.encode(`{"exp":${exp},"x":"`), 0xff, ...encoder.encode('"}')]);
  assert.equal(await jwtVerdict(await signText(notUtf8)), AUTH_REFUSAL.invalidJwt);
});

Deno.test("only HS256 is accepted, whatever the header claims", async () => {
  const claims = { exp: NOW_SECONDS + 60 };
  const { privateKey } = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    false,
    ["sign", "verify"],
  );
  const rsaSigned = `${base64url('{"alg":"RS256"}')}.${base64url(JSON.stringify(claims))}`;
  const rsaSignature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", privateKey, encoder.encode(rsaSigned));
  const none = `${base64url('{"alg":"none"}')}.${base64url(JSON.stringify(claims))}`;
  const tokens: [string, string][] = [
    ["none, unsigned", `${none}.`],
    ["none, some signature", `${none}.AAAA`],
    ["none, signed all the same", await sign(claims, { header: { alg: "none" } })],
    ["NONE", await sign(claims, { header: { alg: "NONE" } })],
    ["HS512 by HMAC-SHA-512", await sign(claims, { header: { alg: "HS512" }, hash: "SHA-512" })],
    ["HS512 by HMAC-SHA-256", await sign(claims, { header: { alg: "HS512" } })],
    ["HS256 by HMAC-SHA-512", await sign(claims, { hash: "SHA-512" })],
    ["RS256 by RSA", `${rsaSigned}.${base64url(new Uint8Array(rsaSignature))}`],
    ["RS256 by our secret", await sign(claims, { header: { alg: "RS256" } })],
    ["hs256", await sign(claims, { header: { alg: "hs256" } })],
    ["no alg", await sign(claims, { header: { typ: "JWT" } })],
    ["alg list", await sign(claims, { header: { alg: ["HS256"] } })],
    ["header list", await sign(claims, { header: ["HS256"] })],
    ["unknown critical extension", await sign(claims, { header: { alg: "HS256", crit: ["x"], x: 1 } })],
    ["another secret", await sign(claims, { secret: "f".repeat(32) })],
    ["our secret and more", await sign(claims, { secret: SECRET + "0" })],
  ];
  for (const [name, token] of tokens) assert.equal(await jwtVerdict(token), AUTH_REFUSAL.invalidJwt, name);
});

Deno.test("tokens that are not compact JWS are refused, of whatever size", async () => {
  const token = await sign({ exp: NOW_SECONDS + 60 });
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const flipped = (signature[0] === "A" ? "B" : "A") + signature.slice(1);
  for (
    const bad of [
      "abc",
      ".",
      "..",
      "....",
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${token}.`,
      `${token}.${payload}.${signature}`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${flipped}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      `${header}.${base64url("{}")}.${signature}`,
      `${header}.${payload}.${signature.replace(/^./, "+")}`,
      `${header}.${payload}.${signature.replace(/^./, "/")}`,
      `${header} .${payload}.${signature}`,
      `${header}.${payload}.${"A".repeat(15_000)}`,
      `${"A".repeat(5000)}.${"A".repeat(5000)}.${"A".repeat(5000)}`,
      "eyJ.".repeat(4000),
    ]
  ) assert.equal(await jwtVerdict(bad), AUTH_REFUSAL.invalidJwt, bad.slice(0, 60));
});

Deno.test("no mutation of a good token passes", async () => {
  const config = await signedConfig();
  const authenticate = createAuthenticator(config, { nowMs })!;
  const token = await sign({ exp: NOW_SECONDS + 60 });
  const lastDot = token.lastIndexOf(".");
  for (let at = 0; at < token.length; at++) {
    // The last character of the signature carries bits that decode to nothing.
    if (at === token.length - 1) continue;
    const replacement = token[at] === "x" ? "y" : "x";
    const mutated = token.slice(0, at) + replacement + token.slice(at + 1);
    assert.equal((await authenticate(`Bearer ${mutated}`)).ok, false, `${at} of ${lastDot}`);
  }
});
