import assert from "node:assert/strict";
import { shellQuote, shellWord } from "../src/shell_quote.ts";

Deno.test("shellQuote() and shellWord() make one word of any text, and the latter leaves plain words as they are", () => {
  const cases: [text: string, quote: string, word: string][] = [
    ["plain/word-1.ts", "'plain/word-1.ts'", "plain/word-1.ts"],
    ["two words", "'two words'", "'two words'"],
    ["it's", "'it'\\''s'", "'it'\\''s'"],
    ["$HOME\n", "'$HOME\n'", "'$HOME\n'"],
    ["", "''", "''"],
  ];
  for (const [text, quote, word] of cases) assert.deepEqual([shellQuote(text), shellWord(text)], [quote, word]);
});
