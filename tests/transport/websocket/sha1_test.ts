import assert from "node:assert/strict";
import { sha1 } from "../../../src/transport/websocket/sha1.ts";
import { websocketAccept } from "../../../src/transport/door/upgrade.ts";

Deno.test("sha1() is the runtime's, for texts of every length around the blocks", async () => {
  for (let length = 0; length <= 200; length++) {
    const text = Array.from({ length }, (_, index) => "aé\u{1F600}z"[(index * 7 + length) % 4]).join("");
    const expected = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
    assert.deepEqual(sha1(text), new Uint8Array(expected), `${length}`);
  }
});

Deno.test("websocketAccept() is what RFC 6455 has for its example", () => {
  assert.equal(websocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});
