import assert from "node:assert/strict";
import v8 from "node:v8";
import vm from "node:vm";
import { BYTES_PER_MARK, measureToml } from "../../../src/environment/discovery/toml_cost.ts";
import { parseToml } from "../../../src/environment/discovery/toml_document.ts";
import { MAX_TOML_DOTS, MAX_TOML_MARKS } from "../../../src/environment/limits.ts";

const lines = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

/** With one byte a character for the text, and as many for copies; two if there are escapes. */
const marksIn = async (text: string) =>
  (await measureToml(text, "f") - text.length * (text.includes("\\") ? 3 : 2)) / BYTES_PER_MARK;

Deno.test("measureToml() counts what makes keys, tables and values, and nothing in texts and comments", async () => {
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
  for (const [text, marks] of table) assert.equal(await marksIn(text), marks, text);
});

Deno.test("measureToml() reads strings as the parser does", async () => {
  // Were a string longer or shorter than the parser's, the second key would not count, or the text not parse.
  for (
    const value of ['"""a""""', '"""a"""""', "'''a''''", "'''a'''''", '""""a"""', '""', '""""""', "''''''", '"\\\\"']
  ) {
    const text = `a = ${value}\nb = 1`;
    assert.deepEqual(Object.keys(await parseToml(text, "f")), ["a", "b"], text);
    assert.equal(await marksIn(text), 2, text);
  }
});

Deno.test("measureToml() reads strings and numbers alike wherever its steps end", async () => {
  for (let before = 2_020; before < 2_060; before++) {
    const text = `#${"x".repeat(before)}\na = """b\\"""=\\\\"""""\nc = '''=,'''''\nd = "\\"="\n`;
    assert.equal(await marksIn(text), 3, `after ${before} characters`);
    const digits = `a = "${"x".repeat(before)}"\nb = ${"1".repeat(1_025)}`;
    await assert.rejects(measureToml(digits, "f"), { message: /more than 1024 digits/ });
  }
});

Deno.test("measureToml() refuses what would take long, and takes what is merely long", async () => {
  const project = (i: number) => `[projects."/home/somebody/work/client-${i}"]\ntrust_level = "trusted"\n`;
  for (
    const text of [
      lines(MAX_TOML_MARKS, (i) => `k${i}=1`),
      lines(10_000, project),
      `a = """${"Some words, and more of them. ".repeat(30_000)}"""`,
      "# a = 1, 2\n".repeat(90_000),
      `a = [${"1.5,".repeat(MAX_TOML_MARKS / 2 - 1)}]`,
      `${"a.".repeat(MAX_TOML_DOTS)}a = 1`,
      `a = [0x${"f".repeat(1_000)}, 1e5, 1979-05-27T07:32:00Z]\ndead-beef_0 = "${"1f".repeat(50_000)}"`,
    ]
  ) await measureToml(text, "f");
  const table: [string, RegExp][] = [
    [
      lines(MAX_TOML_MARKS + 1, (i) => `k${i}=1`),
      /^f: it has more than 32768 commas, dots, equals signs and opening brackets$/,
    ],
    [`a = [${"[],".repeat(MAX_TOML_MARKS / 2)}]`, /more than 32768/],
    [`${"a.".repeat(MAX_TOML_DOTS + 1)}a = 1`, /^f: it has a key with more than 64 dots$/],
    [`a = ${"1".repeat(1_000_000)}`, /^f: it has more than 1024 digits in a row$/],
    [`a = ${"1_".repeat(500_000)}1`, /more than 1024 digits/],
    // To write it takes even longer than with the others.
    [`a = 0x${"Fe".repeat(500_000)}`, /more than 1024 digits/],
  ];
  for (const [text, expected] of table) await assert.rejects(measureToml(text, "f"), { message: expected });
});

Deno.test("measureToml() gives way every few thousand characters, whatever they are", async () => {
  for (
    const text of [
      `a = "${"x".repeat(1_000_000)}"`,
      `a = "${"\\n".repeat(500_000)}"`,
      `a = '''${"''x".repeat(300_000)}'''`,
      "1f\n".repeat(300_000),
    ]
  ) {
    let rests = 0;
    const rest = () => {
      rests++;
      return Promise.resolve();
    };
    await measureToml(text, "f", { isOver: true, rest });
    assert.ok(text.length / rests <= 4_096, `${rests} rests in ${text.length} characters`);
  }
});

/** So that no two names are the same, which would be kept only once. */
let names = 0x1000000;
const name = () => (names++).toString(36);

const MEMORY: [what: string, text: () => string][] = [
  ["tables", () => lines(MAX_TOML_MARKS, () => `[${name()}]`)],
  ["tables, where a table has just grown", () => lines(21_846, () => `[${name()}]`)],
  ["lists of tables", () => lines(MAX_TOML_MARKS / 2, () => `[[${name()}]]`)],
  ["tables in tables", () => lines(MAX_TOML_MARKS / 4, () => `[${name()}.a.b.c]`)],
  ["times", () => lines(MAX_TOML_MARKS, () => `${name()}=1979-05-27T07:32:00+01:00`)],
  ["long keys", () => lines(20_000, () => `${"k".repeat(40)}${name()}=1`)],
  ["lists", () => lines(MAX_TOML_MARKS / 2, () => `${name()}=[1]`)],
  ["short texts", () => lines(MAX_TOML_MARKS, () => `${name()}="abcdefghijkl"`)],
  ["one character that is not of Latin-1", () => `a = "${"x".repeat(1_000_000)}\u4e2d"`],
  ["short wide texts", () => lines(20_000, () => `${name()}="abcdefghijk\u4e2d"`)],
  ["escapes", () => `a = "${"\\n".repeat(500_000)}"`],
  ["escapes between two characters", () => `a = "${"ab\\n".repeat(260_000)}"`],
  ["escapes that make a text wide", () => `a = """${"abcdefghijklmno\\u4e2d".repeat(45_000)}"""`],
  ["escapes in lists and tables", () => `a = [${"{b = '', c = \"0123456789abcdef\\n0123456789\\n\"},".repeat(6_000)}]`],
];

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

async function heapUsed(): Promise<number> {
  // Whatever the last turn left on the stack is gone on the next one.
  await new Promise((resolve) => setTimeout(resolve, 0));
  collectGarbage();
  collectGarbage();
  return Deno.memoryUsage().heapUsed;
}

/** Of several, because other things come and go besides. */
async function heldAndCounted(makeText: () => string): Promise<{ held: number; counted: number }> {
  const before = await heapUsed();
  const kept: unknown[] = [];
  let counted = 0;
  for (let at = 0; at < 3; at++) {
    const text = new TextDecoder().decode(new TextEncoder().encode(makeText()));
    counted += await measureToml(text, "f");
    kept.push(text, await parseToml(text, "f"));
  }
  const held = await heapUsed() - before;
  assert.equal(kept.length, 6);
  return { held, counted };
}

for (const [what, text] of MEMORY) {
  Deno.test(`measureToml() counts no less than is held: ${what}`, async () => {
    // The library, and whatever is made for the first time.
    await parseToml(`a = "x\\n"`, "f");
    const { held, counted } = await heldAndCounted(text);
    assert.ok(held <= counted + 200_000, `${held} bytes are held, and ${counted} counted`);
  });
}
