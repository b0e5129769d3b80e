import assert from "node:assert/strict";
import { parseSkillFrontmatter } from "../../../src/environment/discovery/skill_frontmatter.ts";

async function parse(header: string) {
  return await parseSkillFrontmatter(`---\n${header}\n---\nbody`, "directory name");
}

Deno.test("parseSkillFrontmatter() reads name, description and short description", async () => {
  assert.deepEqual(await parse("name: n\ndescription: d\nmetadata:\n  short-description: s\nother: [1, {a: b}]"), {
    name: "n",
    description: "d",
    shortDescription: "s",
  });
});

Deno.test("parseSkillFrontmatter() takes every kind of scalar for text, on one line", async () => {
  const table: [string, string, string][] = [
    ["name: 5\ndescription: true", "5", "true"],
    ["name: 0x1F\ndescription: 1.50", "0x1F", "1.50"],
    ["name: Yes\ndescription: 2020-01-01", "Yes", "2020-01-01"],
    ['name: "one  two"\ndescription: |\n  multi\n  line', "one two", "multi line"],
    ['name: "é \\u00a0x"\ndescription: >-\n  folded\n  text\n\n  more', "é x", "folded text more"],
    ["name: a # comment\ndescription: 'q: ''x'''", "a", "q: 'x'"],
    ["name: &a v\ndescription: *a", "v", "v"],
    ["name: z:z\ndescription: d", "z:z", "d"],
  ];
  for (const [header, name, description] of table) {
    assert.deepEqual(await parse(header), { name, description, shortDescription: null }, header);
  }
});

Deno.test("parseSkillFrontmatter() names a skill like its directory when it does not name itself", async () => {
  for (
    const header of ["description: d", "name:\ndescription: d", "name: ~\ndescription: d", "name: ''\ndescription: d"]
  ) {
    assert.equal((await parse(header))?.name, "directory name");
  }
});

Deno.test("parseSkillFrontmatter() understands headers in which everything after a colon is meant as text", async () => {
  const table: [string, string][] = [
    ["name: n\ndescription: Build for AWS: ECS", "Build for AWS: ECS"],
    ["name: n\ndescription: it's: so # comment", "it's: so"],
    ["name: n\ndescription: [bad\nhint: <duration: e.g. 7d>", "[bad"],
    ["name: n\ndescription: @mention someone", "@mention someone"],
    ["name: n\nhint: a: b\ndescription: |\n  kept: as: it is\n  [too", "kept: as: it is [too"],
    ["name: n\ndescription: fine\nhint: a: b", "fine"],
  ];
  for (const [header, description] of table) assert.equal((await parse(header))?.description, description, header);
});

Deno.test("parseSkillFrontmatter() takes line ends of either kind, and blanks around the fences", async () => {
  const expected = { name: "n", description: "d", shortDescription: null };
  assert.deepEqual(await parseSkillFrontmatter("---\r\nname: n\r\ndescription: d\r\n---\r\n", "x"), expected);
  assert.deepEqual(await parseSkillFrontmatter("--- \nname: n\ndescription: d\n\t---  \n", "x"), expected);
});

Deno.test("parseSkillFrontmatter() refuses headers that would take long, and reads those that are merely long", async () => {
  const parse = (header: string) => parseSkillFrontmatter(`---\n${header}\n---\n`, "dir");
  const long = "word ".repeat(10_000).trim();
  assert.equal((await parse(`description: ${long}`))?.description, long);
  assert.equal((await parse(`description: a: b${" ".repeat(60_000)}`))?.description, "a: b");
  assert.equal((await parse(`description: x\nlist: ${"[".repeat(60)}${"]".repeat(60)}`))?.description, "x");
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => `k${i}: &a${i} x`).join("\n");
  assert.equal((await parse(`description: x\n${numbered(400)}`))?.description, "x");
  for (
    const header of [
      `description: ${"x".repeat(70_000)}`,
      `description: x\n${numbered(2_000)}`,
      `description: x\nlist: ${"[".repeat(65)}${"]".repeat(65)}`,
      `description: x\ndescription: y`,
      "]".repeat(8_000),
    ]
  ) assert.equal(await parse(header), null, header.slice(0, 40));
});

Deno.test("parseSkillFrontmatter() puts a value with a colon into quotes, and leaves its comment where it is", async () => {
  const parse = async (header: string) => (await parseSkillFrontmatter(`---\n${header}\n---\n`, "dir"))?.description;
  assert.equal(await parse("description: for AWS: ECS # note: x"), "for AWS: ECS");
  assert.equal(await parse("description:   a: b   # c # d"), "a: b");
  assert.equal(await parse("description: a: b#c"), "a: b#c");
  assert.equal(await parse("description: it's: here"), "it's: here");
});

Deno.test("parseSkillFrontmatter() refuses headers that do not describe a skill", async () => {
  const table = [
    "no header",
    "",
    "---\n---\n",
    "---\nname: n\ndescription: d\n",
    "\ufeff---\nname: n\ndescription: d\n---\n",
    "---\nname: n\n---\n",
    "---\nname: n\ndescription: ~\n---\n",
    "---\nname: n\ndescription:\n---\n",
    `---\nname: ${"n".repeat(65)}\ndescription: d\n---\n`,
    "---\nname: [1]\ndescription: d\n---\n",
    "---\nname: n\nname: m\ndescription: d\n---\n",
    "---\nname: n\ndescription: d\nmetadata: text\n---\n",
    '---\nname: n\ndescription: "a" b\n---\n',
    "---\nname: x\n  bad: indent\n description: y\n---\n",
    "---\n- a\n- b\n---\n",
  ];
  for (const text of table) assert.equal(await parseSkillFrontmatter(text, "x"), null, JSON.stringify(text));
});
