import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { foldCase, MatchBudget, MAX_MATCH_STEPS, NamePattern } from "../../src/launch/name_pattern.ts";
import { Random } from "../support/random.ts";

const matches = (pattern: string, name: string, budget = new MatchBudget()): boolean =>
  new NamePattern(pattern, budget).matches(foldCase(name));

Deno.test("NamePattern matches whole names, whatever the case", () => {
  const cases: [pattern: string, name: string, expected: boolean][] = [
    ["PATH", "path", true],
    ["PATH", "PATHS", false],
    ["", "", true],
    ["", "A", false],
    ["*", "", true],
    ["**", "A", true],
    ["*KEY*", "KEY", true],
    ["*KEY*", "my_keys", true],
    ["*aab", "aaab", true],
    ["aa*aa", "aaa", false],
    ["aa*aa", "aaaa", true],
    ["*ab*ab*", "abab", true],
    ["*ab*ab*", "abaab", true],
    ["*ab*ab*", "aba", false],
    ["a?c", "aBc", true],
    ["a?c", "ac", false],
    ["*?b*", "b", false],
    ["*?b*", "ab", true],
    ["?", "\u{1f600}", true],
    ["?*?", "ab", true],
    ["?*?", "a", false],
  ];
  for (const [pattern, name, expected] of cases) assert.equal(matches(pattern, name), expected, `${pattern} ${name}`);
});

Deno.test("NamePattern agrees with regular expressions on generated patterns and names", () => {
  const seed = 20260611;
  const random = new Random(seed);
  const word = (letters: string[], length: number) =>
    Array.from({ length: random.int(length) }, () => random.pick(letters)).join("");
  for (let round = 0; round < 20_000; round++) {
    const pattern = word(["a", "b", "*", "?"], 9);
    const name = word(["a", "b"], 12);
    const expression = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
    assert.equal(matches(pattern, name), expression.test(name), `seed ${seed}: ${pattern} ${name}`);
  }
});

Deno.test("NamePattern reads pattern and name once, however they are made", () => {
  const name = "a".repeat(100_000);
  for (
    const [pattern, expected] of [
      [`*${"a".repeat(49_998)}b`, false],
      [`*${"a".repeat(49_997)}b*`, false],
      [`*${"a".repeat(49_998)}*`, true],
      ["a*".repeat(25_000), true],
      [`${"a*".repeat(25_000)}b*`, false],
      [`*${"ab".repeat(25_000)}*`, false],
    ] as const
  ) {
    assert.equal(
      matches(pattern, name, new MatchBudget(4 * (pattern.length + name.length))),
      expected,
      pattern.slice(0, 9),
    );
  }
});

Deno.test("NamePattern refuses what would take longer than it may", () => {
  const refusal = (error: unknown) => error instanceof DomainError && error.kind === "invalidParams";
  const name = "a".repeat(100_000);
  assert.throws(() => matches(`*${"a?".repeat(25_000)}b*`, name), refusal);
  assert.throws(() => new NamePattern("x".repeat(MAX_MATCH_STEPS + 1), new MatchBudget()), refusal);
  const budget = new MatchBudget();
  const pattern = new NamePattern("X", budget);
  assert.throws(() => {
    for (let i = 0; i <= MAX_MATCH_STEPS; i++) pattern.matches(["y"]);
  }, refusal);
});
