import assert from "node:assert/strict";
import { TokenDigest } from "../../../src/transport/tokens/token_digest.ts";
import {
  formatTokenFile,
  parseTokenFile,
  type TokenEntry,
  TokenFileError,
} from "../../../src/transport/tokens/token_file.ts";

const DIGEST = "1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62";
const ROW = {
  name: "alice",
  sha256: DIGEST,
  roles: ["client"],
  ids: ["box-*"],
  createdAt: "2026-01-02T03:04:05.000Z",
  expiresAt: null,
};

Deno.test("a file of tokens is read as it was written, and holds no token", async () => {
  const entry: TokenEntry = {
    name: "bob",
    digest: await TokenDigest.ofToken("est_secret"),
    roles: ["executor", "viewer"],
    ids: ["a", "b-*"],
    createdAt: new Date("2026-01-02T03:04:05Z"),
    expiresAt: new Date("2027-01-02T03:04:05Z"),
  };
  const text = formatTokenFile([entry]);
  assert.doesNotMatch(text, /est_/);
  const table = parseTokenFile(text);
  assert.equal((await table.find("est_secret"))?.name, "bob");
  assert.equal(await table.find("est_secret2"), null);
  assert.equal(formatTokenFile(table.entries), text);
});

Deno.test("parseTokenFile() says what is wrong and where, and quotes no digest", () => {
  const withRow = (change: Record<string, unknown>) => JSON.stringify({ version: 1, tokens: [{ ...ROW, ...change }] });
  const cases: [string, RegExp][] = [
    ["{", /^it is not JSON$/],
    ["[]", /^the whole: /],
    ['{"version":2,"tokens":[]}', /^version: /],
    [withRow({ sha256: DIGEST.slice(1) }), /^tokens\.0\.sha256: /],
    [withRow({ roles: [] }), /^tokens\.0\.roles: /],
    [withRow({ roles: ["root"] }), /^tokens\.0\.roles\.0: /],
    [withRow({ ids: [] }), /^tokens\.0\.ids: /],
    [withRow({ ids: ["a/b"] }), /^tokens\.0\.ids\.0: a pattern is an id/],
    [withRow({ name: "a b" }), /^tokens\.0\.name: a name has/],
    [withRow({ expiresAt: "tomorrow" }), /^tokens\.0\.expiresAt: /],
    [withRow({ expireAt: null }), /^tokens\.0: /],
    [JSON.stringify({ version: 1, tokens: [ROW, ROW] }), /two tokens have the name "alice"/],
  ];
  for (const [text, expected] of cases) {
    assert.throws(() => parseTokenFile(text), (error) => {
      assert.ok(error instanceof TokenFileError, String(error));
      assert.match(error.message, expected);
      assert.ok(!error.message.includes(DIGEST.slice(1, 20)), error.message);
      return true;
    }, text);
  }
});
