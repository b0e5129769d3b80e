import assert from "node:assert/strict";
import { printable, printableLines } from "../src/printable.ts";

Deno.test("printable() escapes what is not seen or turns what is", () => {
  const cases: [string, string][] = [
    ["\n\t\x1b[31m\x7f", "\\n\\t\\u001b[31m\\u007f"],
    ["\u0085\u009b31m", "\\u0085\\u009b31m"],
    ["a\u2028b\u2029", "a\\u2028b\\u2029"],
    ["gpj.\u202eexe", "gpj.\\u202eexe"],
    ["\u200e\u200f\u061c\u202a\u2066\u2069", "\\u200e\\u200f\\u061c\\u202a\\u2066\\u2069"],
    ["\u200b\ufeff\u00ad", "\\u200b\\ufeff\\u00ad"],
    ["\u{e0041}", "\\udb40\\udc41"],
  ];
  for (const [text, expected] of cases) assert.equal(printable(text), expected);
});

Deno.test("printable() leaves what is seen, and changes no value of a JSON text", () => {
  const seen = 'plain, "quoted" \\ ünïcode 漢字 שלום 👍';
  assert.equal(printable(seen), seen);
  const value = { a: "\u202e\u009b\u{e0041}\n", b: seen };
  assert.deepEqual(JSON.parse(printable(JSON.stringify(value))), value);
});

Deno.test("printableLines() keeps line breaks and tabs, and nothing else that is not seen", () => {
  assert.equal(printableLines("a\n\tb\r\n\u001b[2K\u202e é"), "a\n\tb\\r\n\\u001b[2K\\u202e é");
  assert.equal(printableLines("plain"), "plain");
});
