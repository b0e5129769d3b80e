/** Files that would run, grow or nest without end: each is refused in good time, with the bound that stopped it. */

import assert from "node:assert/strict";
import { evaluateFile } from "../../../src/rules/language/evaluator.ts";
import { RuleFileError } from "../../../src/rules/language/failure.ts";
import { standardBuiltins } from "../../../src/rules/language/builtins.ts";
import { SourceText } from "../../../src/rules/language/source_text.ts";

function reasonOf(text: string, limits = {}): string {
  try {
    evaluateFile(new SourceText("FILE", text), { builtins: standardBuiltins(), limits });
    return "ran";
  } catch (error) {
    if (error instanceof RuleFileError) return error.reason;
    throw error;
  }
}

const LOOP = "for i in range(2000):\n  for j in range(2000):\n    pass";
const DOUBLE = (start: string) => `x = ${start}\nfor i in range(60):\n    x = x + x`;
const DEEP = `x = []\nfor i in range(1000):\n    x = [x]\n`;

for (
  const [name, text, reason] of [
    ["loops in loops", LOOP, /stopped after 2000000 steps/],
    ["a string that doubles", DOUBLE('"a"'), /may take 64 MiB/],
    ["a list that doubles", DOUBLE("[0]"), /may take 64 MiB|stopped after/],
    ["a string times a number", `x = "a" * 2000000000`, /may take 64 MiB/],
    ["a list times a number", `x = [0] * 2000000000`, /may take 64 MiB/],
    ["a long range made into a list", "x = list(range(2000000000))", /may take 64 MiB/],
    ["a number that is squared", "x = 3\nfor i in range(60):\n    x = x * x", /more than 4096 bits/],
    ["a shift", "x = 1 << 1000000000", /Integer overflow/],
    ["replacing by more", `x = "a" * 1000\nfor i in range(9):\n    x = x.replace("a", x)`, /may take 64 MiB/],
    ["joining", `x = "a" * 1000\nfor i in range(9):\n    x = x.join([x] * 1000)`, /may take 64 MiB/],
    ["format", `x = "{}" * 1000\nfor i in range(20):\n    x = x.replace("{}", x)`, /may take 64 MiB/],
    [
      "writing out a list that holds itself often",
      `x = ["a"]\nfor i in range(60):\n    x = [x, x]\ny = str(x)`,
      /exceeds/,
    ],
    ["comparing two of these", DOUBLE_LISTS(), /stopped after|Too many recursion/],
    ["a function that calls itself", "def f():\n    return f()\nf()", /call stack overflow/],
    ["sorting by a function that sorts", SORTS(), /call stack overflow|stopped after/],
    ["brackets in brackets", "x = " + "[".repeat(5000), /nested more than 100 levels/],
    ["parentheses in parentheses", "x = " + "(".repeat(99_999), /nested more than 100 levels/],
    ["minus signs", `x = ${"-".repeat(100_000)}1`, /nested more than 100 levels/],
    ["not not not", `x = ${"not ".repeat(100_000)}1`, /nested more than 100 levels/],
    ["conditions in conditions", `x = ${"1 if 1 else ".repeat(5000)}1`, /nested more than 100 levels/],
    ["lambdas in lambdas", `x = ${"lambda: ".repeat(5000)}1`, /nested more than 100 levels/],
    ["attributes of attributes", `x = y${".a".repeat(5000)}`, /nested more than 100 levels/],
    ["blocks in blocks", BLOCKS(), /nested more than 100 levels/],
    ["f-strings in f-strings", `x = ${'f"{'.repeat(5000)}`, /nested more than 100 levels/],
    ["clauses of a comprehension", `x = [1 ${"for a in [1] ".repeat(5000)}]`, /nested more than 100 levels/],
    ["an integer of many digits", `x = ${"9".repeat(100_000)}`, /longer than 1024 digits/],
    ["lists in lists, written out", `${DEEP}y = str(x)`, /Too many recursion levels/],
    ["lists in lists, compared", `${DEEP}y = x\n${DEEP}z = x == y`, /Too many recursion levels/],
    ["tuples in tuples as a key", DEEP.replace("[x]", "(x,)").replace("[]", "()") + "y = {x: 1}", /Too many recursion/],
  ] as const
) {
  Deno.test(`a file with ${name} is stopped`, () => assert.match(reasonOf(text), reason));
}

Deno.test("long chains are not deep: a thousand additions and elifs are fine", () => {
  assert.equal(reasonOf(`x = ${Array(5000).fill("1").join(" + ")}`), "ran");
  assert.equal(reasonOf(`x = ${Array(5000).fill("1").join(" and ")}`), "ran");
  assert.equal(reasonOf(`if 0: pass\n${"elif 0: pass\n".repeat(5000)}`), "ran");
});

Deno.test("expressions as deep as may be, in as many calls as may be, fit on the stack", () => {
  const nested = `${"[".repeat(45)}f(n - 1) if n else 0${"]".repeat(45)}`;
  const reason = reasonOf(`def f(n):\n    return ${nested}\nf(48)`);
  assert.match(reason, /ran|nested more than 600/);
  const blocks = Array.from({ length: 45 }, (_, depth) => `${" ".repeat(depth + 1)}for a${depth} in [1]:`).join("\n");
  const deep = `def f(n):\n${blocks}\n${" ".repeat(46)}f(n - 1) if n else 0\nf(48)`;
  assert.match(reasonOf(deep), /nested more than 600/);
  const clauses = "for a in [1] ".repeat(99);
  const many = `def f(n):\n    return [f(n - 1) if n else 0 ${clauses}]\nf(48)`;
  assert.match(reasonOf(many), /nested more than 600/);
});

Deno.test("a clock stops what the other bounds let through", () => {
  assert.match(reasonOf(LOOP, { steps: 1e12, ms: 50 }), /stopped after 50 ms/);
});

function DOUBLE_LISTS(): string {
  return `x = ["a"]\ny = ["a"]\nfor i in range(60):\n    x = [x, x]\n    y = [y, y]\nz = x == y`;
}

function SORTS(): string {
  return "def f(x):\n    return sorted([3, 1, 2], key = f)\nf(1)";
}

function BLOCKS(): string {
  return Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth)}if 1:`).join("\n");
}
