import assert from "node:assert/strict";
import { escapedLength, escapeToAscii } from "../../src/rpc/encoded_result.ts";

Deno.test("escapeToAscii() writes what is beyond ASCII as its escape, and means the same", () => {
  for (const text of ["", 'plain \\ "', "\u007f\u0080é", "aé😀\uffff\u2028z", "\u0000\n", "é".repeat(100_000)]) {
    const json = JSON.stringify(text);
    const escaped = escapeToAscii(json);
    assert.doesNotMatch(escaped, /[\u0080-\uffff]/);
    assert.equal(JSON.parse(escaped), text);
    assert.equal(escaped.length, escapedLength(json));
  }
  assert.equal(escapeToAscii("é\u{1f600}"), "\\u00e9\\ud83d\\ude00");
});
