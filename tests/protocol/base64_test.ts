import assert from "node:assert/strict";
import { decodeBase64, decodeBase64Ahead } from "../../src/protocol/base64.ts";

Deno.test("decodeBase64() gives the bytes that were decoded ahead, once, and for that text alone", () => {
  assert.ok(decodeBase64Ahead("AQID"));
  const bytes = decodeBase64("AQID");
  assert.deepEqual(bytes, new Uint8Array([1, 2, 3]));
  const again = decodeBase64("AQID");
  assert.deepEqual(again, bytes);
  assert.notEqual(again, bytes, "two owners must not share an array");
  assert.ok(decodeBase64Ahead("AQID"));
  assert.deepEqual(decodeBase64("BAUG"), new Uint8Array([4, 5, 6]));
  assert.deepEqual(decodeBase64("AQID"), new Uint8Array([1, 2, 3]));
});

Deno.test("decodeBase64Ahead() leaves nothing of what is no base64", () => {
  assert.ok(decodeBase64Ahead("AQID"));
  assert.equal(decodeBase64Ahead("AQI"), false);
  assert.equal(decodeBase64("AQI"), null);
});
