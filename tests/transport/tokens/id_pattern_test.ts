import assert from "node:assert/strict";
import { isExecutorId, isIdPattern, matchesPattern } from "../../../src/transport/tokens/id_pattern.ts";

Deno.test("matchesPattern() takes * for any characters and ? for one, and matches whole ids", () => {
  const cases: [string, string, boolean][] = [
    ["box-1", "box-1", true],
    ["box-1", "box-10", false],
    ["box-*", "box-", true],
    ["box-*", "box-17.eu", true],
    ["box-*", "a-box-17", false],
    ["*", "anything", true],
    ["*.eu", "box.us.eu", true],
    ["*.eu", "box.eu.us", false],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["box-?", "box-7", true],
    ["box-?", "box-", false],
    ["box-?", "box-17", false],
    ["**x", "x", true],
    ["Box", "box", false],
  ];
  for (const [pattern, id, expected] of cases) assert.equal(matchesPattern(pattern, id), expected, `${pattern} ${id}`);
});

Deno.test("matchesPattern() takes no more than pattern times id steps for the worst of patterns", () => {
  assert.equal(matchesPattern("*a".repeat(126) + "b", "a".repeat(253)), false);
});

Deno.test("isExecutorId() takes what needs no quoting in a path, a log or a table", () => {
  for (const id of ["a", "box-1", "ci.eu_1~x", "A".repeat(253)]) assert.ok(isExecutorId(id), id);
  for (const id of ["", "-a", ".", "..", "a/b", "a b", "a%20b", "\u00e9", "a*", "A".repeat(254), "a\n"]) {
    assert.ok(!isExecutorId(id), JSON.stringify(id));
  }
  assert.ok(isIdPattern("*") && isIdPattern("box-?") && !isIdPattern("a/*") && !isIdPattern(""));
});
