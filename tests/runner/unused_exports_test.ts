import assert from "node:assert/strict";
import { deadExports, unusedExports } from "../support/unused_exports.ts";

/** Not whole, so that nobody takes it for an import of this file. */
const LOADED = `import${'("./a.ts")'}`;

/** What of `a.ts` is exported for nobody, beside one other file. */
function unusedBeside(text: string, { door = false } = {}): string[] {
  const a = "export const one = 1;\nexport async function two() {}\nexport class Three {}\n";
  const files = [{ file: "src/a.ts", text: a }, { file: "src/b.ts", text }];
  return unusedExports(files, door ? ["src/b.ts"] : []);
}

const ALL = ["src/a.ts Three", "src/a.ts one", "src/a.ts two"];

Deno.test("an export that no import line names is unused, also when its word stands elsewhere", () => {
  assert.deepEqual(unusedBeside(""), ALL);
  assert.deepEqual(unusedBeside("const one = 1; // two\nclass Three {}"), ALL);
  assert.deepEqual(unusedBeside('import { one } from "./other.ts";'), ALL);
  assert.deepEqual(unusedExports([{ file: "src/a.ts", text: "export const one = 1;\none + one;" }], []), [
    "src/a.ts one",
  ]);
});

Deno.test("imports of any form use what they name, and no more", () => {
  const table: Record<string, string[]> = {
    'import { one } from "./a.ts";': ["src/a.ts Three", "src/a.ts two"],
    'import {\n  one as uno,\n  type Three,\n} from "./a.ts";': ["src/a.ts two"],
    'import type { Three } from "./a.ts";': ["src/a.ts one", "src/a.ts two"],
    'import * as a from "./a.ts";\na.two();': ["src/a.ts Three", "src/a.ts one"],
    'import * as a from "./a.ts";\nObject.keys(a);': [],
    "const { two } = await LOADED;": ["src/a.ts Three", "src/a.ts one"],
    "const load = () => LOADED;\n// one\n(await load()).two();": ["src/a.ts Three", "src/a.ts one"],
    "type A = typeof LOADED;\nlet a: A;\na.one;": ["src/a.ts Three", "src/a.ts two"],
  };
  for (const [text, expected] of Object.entries(table)) {
    assert.deepEqual(unusedBeside(text.replace("LOADED", LOADED)), expected, text);
  }
});

Deno.test("a re-export needs somebody who imports it, unless it is a door's", () => {
  const passed = 'export { one, two as deux } from "./a.ts";';
  assert.deepEqual(unusedBeside(passed), [...ALL, "src/b.ts deux", "src/b.ts one"]);
  assert.deepEqual(unusedBeside(passed, { door: true }), ["src/a.ts Three"]);
  assert.deepEqual(unusedBeside('export * from "./a.ts";'), ALL);
  assert.deepEqual(unusedBeside('export * from "./a.ts";', { door: true }), []);
  assert.deepEqual(unusedBeside('export type { Three } from "./a.ts";', { door: true }), [
    "src/a.ts one",
    "src/a.ts two",
  ]);
  const files = [
    { file: "src/a.ts", text: "export const one = 1;\nexport const two = 2;" },
    { file: "src/b.ts", text: 'export * from "./a.ts";' },
    { file: "src/c.ts", text: 'export { one as uno } from "./b.ts";' },
    { file: "tests/d.ts", text: 'import { uno } from "../src/c.ts";' },
  ];
  assert.deepEqual(unusedExports(files, []), ["src/a.ts two"]);
});

Deno.test("an unused export is dead unless its own file uses it", () => {
  const text = "export const one = 1;\nexport const two = one; // two\nexport function three() {}\n";
  assert.deepEqual(deadExports([{ file: "src/a.ts", text }], []), ["src/a.ts three", "src/a.ts two"]);
  const user = { file: "src/b.ts", text: 'import { two } from "./a.ts";' };
  assert.deepEqual(deadExports([{ file: "src/a.ts", text }, user], []), ["src/a.ts three"]);
});
