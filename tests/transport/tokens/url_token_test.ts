import assert from "node:assert/strict";
import { AUTH_REFUSAL, createAuthenticator } from "../../../src/transport/door/auth.ts";
import { tokenInTarget, URL_TOKEN_REFUSAL, UrlToken } from "../../../src/transport/tokens/url_token.ts";

const textOf = (token: UrlToken) => new URL(token.addTo("ws://127.0.0.1:1")).searchParams.get("token")!;

Deno.test("UrlToken.create() makes another token each time, of 192 bits that need no escapes", () => {
  const texts = Array.from({ length: 100 }, () => textOf(UrlToken.create()));
  assert.equal(new Set(texts).size, texts.length);
  for (const text of texts) assert.match(text, /^[\w-]{32}$/);
});

Deno.test("UrlToken.addTo() puts the token into the query of the root", () => {
  const token = UrlToken.create();
  assert.equal(token.addTo("ws://[::1]:80"), `ws://[::1]:80/?token=${textOf(token)}`);
});

Deno.test("tokenInTarget() takes one token, from the query alone", () => {
  const cases: [string, string | null][] = [
    ["/?token=abc", "abc"],
    ["/?x=1&token=abc&y=2", "abc"],
    ["/?token=a%62c", "abc"],
    ["http://127.0.0.1/?token=abc", "abc"],
    ["/", null],
    ["/?", null],
    ["/?token", null],
    ["/?token=", null],
    ["/?Token=abc", null],
    ["/?token=abc&token=abc", null],
    ["/token=abc", null],
  ];
  for (const [target, expected] of cases) assert.equal(tokenInTarget(target), expected, target);
});

Deno.test("a token in the URL lets in by the URL or by the header, and a wrong header is not made good by the URL", async () => {
  const token = UrlToken.create();
  const text = textOf(token);
  const authenticate = createAuthenticator({ type: "urlToken", token })!;
  const verdict = async (authorization: string | null, target?: string) => {
    const outcome = await authenticate(authorization, target);
    return outcome.ok ? "ok" : outcome.body;
  };
  assert.equal(await verdict(null, `/?token=${text}`), "ok");
  assert.equal(await verdict(`Bearer ${text}`), "ok");
  assert.equal(await verdict(`Bearer ${text}`, "/?token=wrong"), "ok");
  assert.equal(await verdict(null), URL_TOKEN_REFUSAL.missing);
  assert.equal(await verdict(null, "/"), URL_TOKEN_REFUSAL.missing);
  assert.equal(await verdict(null, `/?token=${text}&token=${text}`), URL_TOKEN_REFUSAL.missing);
  for (const wrong of [text.slice(1), `${text}x`, text.toLowerCase() + text.toUpperCase(), "x"]) {
    assert.equal(await verdict(null, `/?token=${wrong}`), URL_TOKEN_REFUSAL.wrong);
    assert.equal(await verdict(`Bearer ${wrong}`, `/?token=${text}`), URL_TOKEN_REFUSAL.wrong);
  }
  assert.equal(await verdict("Basic x", `/?token=${text}`), AUTH_REFUSAL.invalidHeader);
});
