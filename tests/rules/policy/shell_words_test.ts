import assert from "node:assert/strict";
import { forSeeds } from "../../support/seeds.ts";
import { joinWords, quoteWord, splitWords } from "../../../src/rules/policy/shell_words.ts";

Deno.test("splitWords() knows quotes, backslashes and comments", () => {
  for (
    const [line, words] of [
      [`git 'a b' "c d"e\\ f`, ["git", "a b", "c de f"]],
      [`a # b\nc`, ["a", "c"]],
      [`a#b ''`, ["a#b", ""]],
      [`"\\$ \\n \\"" x\\\ny`, [`$ \\n "`, "xy"]],
      ["  ", []],
      [`'x`, null],
      [`"x`, null],
      ["x\\", null],
    ] as const
  ) {
    assert.deepEqual(splitWords(line), words, line);
  }
});

Deno.test("quoteWord() quotes as the reference does", () => {
  for (
    const [word, quoted] of [
      ["", "''"],
      ["a-b_c./:@]+", "a-b_c./:@]+"],
      ["b\\s", `"b\\\\s"`],
      ["a'b$c", `"a'b"'$c'`],
      ["a^b", "a'^b'"],
      ["é", "'é'"],
      ["c d", "'c d'"],
    ]
  ) {
    assert.equal(quoteWord(word!), quoted);
  }
});

Deno.test("whatever is joined is split into the same words", async () => {
  await forSeeds(500, (random) => {
    const chars = [..."ab ^$`!'\"\\#\n\té=*"];
    const words = Array.from({ length: 1 + random.int(4) }, () => {
      return Array.from({ length: random.int(6) }, () => random.pick(chars)).join("");
    });
    assert.deepEqual(splitWords(joinWords(words)), words);
  });
});
