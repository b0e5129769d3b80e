import assert from "node:assert/strict";
import { measureToml } from "../../../src/environment/discovery/toml_cost.ts";
import { parseToml } from "../../../src/environment/discovery/toml_document.ts";
import { MAX_TOML_DOTS, MAX_TOML_MARKS } from "../../../src/environment/limits.ts";

const marksIn = (text: string) => (measureToml(text, "f") - text.length) / 192;

Deno.test("measureToml() counts what makes keys, tables and values, and nothing in texts and comments", () => {
  const table: [string, number][] = [
    ["", 0],
    ["a = 1", 1],
    ["[a.b]\nc = [1, 2, {d = 1.5}]", 9],
    ['a = "=,[{.\\"=,["', 1],
    ["a = '=,[{.\\'\nb = 1", 2],
    ['a = """\n=,[{."" \\""" = """""\nb = 1', 2],
    ["a = '''=,\n[{.'' = '''''\nb = 1", 2],
    ['"a=b" = 1 # = , [ { . "\n\'c\' = 2', 2],
    ['a = ""\nb = 1', 2],
    ["# only = this", 0],
    ['a = "never ends = ,', 1],
    ["a = '''never ends = ,", 1],
  ];
  for (const [text, marks] of table) assert.equal(marksIn(text), marks, text);
});

Deno.test("measureToml() reads strings as the parser does", async () => {
  // Were a string longer or shorter than the parser's, the second key would not count, or the text not parse.
  for (
    const value of ['"""a""""', '"""a"""""', "'''a''''", "'''a'''''", '""""a"""', '""', '""""""', "''''''", '"\\\\"']
  ) {
    const text = `a = ${value}\nb = 1`;
    assert.deepEqual(Object.keys(await parseToml(text, "f")), ["a", "b"], text);
    assert.equal(marksIn(text), 2, text);
  }
});

Deno.test("measureToml() refuses what would take long, and takes what is merely long", () => {
  const lines = (count: number, line: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => line(i)).join("\n");
  const project = (i: number) => `[projects."/home/somebody/work/client-${i}"]\ntrust_level = "trusted"\n`;
  for (
    const text of [
      lines(MAX_TOML_MARKS, (i) => `k${i}=1`),
      lines(10_000, project),
      `a = """${"Some words, and more of them. ".repeat(30_000)}"""`,
      "# a = 1, 2\n".repeat(90_000),
      `a = [${"1.5,".repeat(MAX_TOML_MARKS / 2 - 1)}]`,
    ]
  ) measureToml(text, "f");
  const table: [string, RegExp][] = [
    [lines(MAX_TOML_MARKS + 1, (i) => `k${i}=1`), /^f: it has more than 32768 keys, tables and values$/],
    [`a = [${"[],".repeat(MAX_TOML_MARKS / 2)}]`, /more than 32768/],
    [`${"a.".repeat(MAX_TOML_DOTS + 1)}a = 1`, /^f: it has a key of more than 64 parts$/],
    [`a = ${"1".repeat(1_000_000)}`, /^f: it has more than 1024 digits in a row$/],
    [`a = ${"1_".repeat(500_000)}1`, /more than 1024 digits/],
  ];
  for (const [text, expected] of table) assert.throws(() => measureToml(text, "f"), { message: expected });
});
