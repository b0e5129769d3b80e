import assert from "node:assert/strict";
import { parseToml, stringifyToml } from "../../../src/environment/discovery/toml_document.ts";
import { lengthOfToml } from "../../../src/environment/discovery/toml_length.ts";

Deno.test("lengthOfToml() is the length of what is written", async () => {
  for (
    const document of [
      "",
      "a = 1",
      "a = 1\n[b]\nc = 2",
      "[a]",
      "[a]\n[a.b]\n[a.b.c]\nd = 1\n[e]",
      "[a.b.c]\nx.y = 1\nz.y = 2\n[a]\nq = 1",
      '["quoted key".\'"\']\n"\\u007f" = "\\u007f\\u0001\\"\\\\\\n"\n"" = 1',
      "[[a]]\n[[a]]\nb = 1\n[[a.c]]\n[[a.c]]\nd = 1\n[a.e]\n[[f]]",
      "a = []\nb = {}\nc = [{}, {}]\nd = [1, 'x', [2, []], {e = 1, f = {g = []}}]\nh = [[{}], [{i = 1}]]",
      "a = 1.0\nb = 1e300\nc = inf\nd = -nan\ne = 9007199254740993\nf = -0.0\ng = true\nh = 0.1\ni = 1e-9",
      "a = 2020-01-01T00:00:00Z\nb = 2020-01-01\nc = 07:32:00\nd = 1979-05-27T07:32:00\ne = 1979-05-27T07:32:00-07:00",
      'a = "\u00e9\u4e2d\u{1f600}"\n[b."\u4e2d"]\n__proto__ = 1',
    ]
  ) {
    const table = await parseToml(document, "f");
    const written = await stringifyToml(table);
    const { length, isWide } = lengthOfToml(table);
    const spare = length - written.length;
    // The last line may end already. Dates are taken for the longest.
    assert.ok(spare >= 0 && spare <= (document.includes(":00") ? 70 : 1), `${length} for ${JSON.stringify(written)}`);
    assert.equal(isWide, /[\u0100-\uffff]/.test(written));
  }
});
