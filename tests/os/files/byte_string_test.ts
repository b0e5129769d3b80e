import assert from "node:assert/strict";
import { fromByteString, lossyText, toByteString, writeCString } from "../../../src/os/files/byte_string.ts";

Deno.test("byte strings carry any bytes there and back, and text as text", () => {
  for (const text of ["", "plain", "ümläut", "日本", "🦕", "\ufeffmark"]) {
    assert.equal(fromByteString(toByteString(text)), text);
    assert.equal(lossyText(toByteString(text)), text);
  }
  const bytes = Uint8Array.from({ length: 255 }, (_, index) => index + 1);
  assert.deepEqual(fromByteString(toByteString(bytes)), bytes);
  assert.equal(lossyText(toByteString(new Uint8Array([97, 0xff, 98]))), "a\ufffdb");
});

Deno.test("byte strings compare as bytes do", () => {
  const names = ["b", "a", "\u{10000}", "\uffff", "é", "z"].map(toByteString).sort();
  // As UTF-16 the last two would be the other way round.
  assert.deepEqual(names.map(fromByteString), ["a", "b", "z", "é", "\uffff", "\u{10000}"]);
});

Deno.test("writeCString ends with NUL and refuses what does not fit", () => {
  const into = new Uint8Array(4).fill(9);
  assert.equal(writeCString(toByteString("abc"), into), true);
  assert.deepEqual([...into], [97, 98, 99, 0]);
  assert.equal(writeCString(toByteString("abcd"), into), false);
});
