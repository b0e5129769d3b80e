/**
 * Small files, with what `codex execpolicy check` 0.166 answered about `ls`: the justifications of the rules that match, or
 * the error. Values have to be the same; of errors only that there is one, and the text where tools look for it.
 */

import assert from "node:assert/strict";
import { loadRules } from "../../../src/rules/load.ts";
import { RuleFileError } from "../../../src/rules/language/failure.ts";

interface ReferenceAnswer {
  readonly text: string;
  readonly answers?: readonly string[];
  readonly error?: string;
}

const ANSWERS: readonly ReferenceAnswer[] = JSON.parse(
  Deno.readTextFileSync(new URL("../../fixtures/rules/reference_answers.json", import.meta.url)),
);

/** Values that differ, each with its reason. */
const DIFFERENT: ReadonlyMap<string, string> = new Map([
  ["1000000007 << 3", "the reference loses the bits beyond the 32nd when it shifts a small number to the left"],
  [`br"a"`, "bytes are refused here: a rule compares text"],
  ["9999999999.0", "the reference cuts digits off where C's %g rounds: 9999999999.0 is shown as 9e+09"],
]);

/** Errors that mean the same in other words. */
const OTHER_WORDS =
  /Wrong number of|cmp\(\)|`len\(\)` not supported on type `int`|set_loader|\*args is not an ident|f-string|invalid input `}`|call to function|return type|did you mean|^fail:|expected (every )?example/;

function answersOf(text: string): readonly string[] {
  const rules = loadRules([{ path: "FILE", text }], { cwd: "/", home: "/home/somebody" });
  return rules.matches(["ls"], null).map(({ rule }) => rule.justification ?? rule.decision);
}

Deno.test("files mean the same as in the reference", () => {
  assert.ok(ANSWERS.length > 300);
  for (const { text, answers } of ANSWERS) {
    if (answers === undefined || [...DIFFERENT.keys()].some((part) => text.includes(part))) continue;
    assert.deepEqual(answersOf(text), answers, text);
  }
});

Deno.test("the listed differences exist", () => {
  for (const [part, reason] of DIFFERENT) {
    const { text, answers } = ANSWERS.find((answer) => answer.answers !== undefined && answer.text.includes(part))!;
    let ours: unknown = null;
    try {
      ours = answersOf(text);
    } catch (error) {
      assert.ok(error instanceof RuleFileError);
    }
    assert.notDeepEqual(ours, answers, reason);
  }
});

Deno.test("files that the reference refuses are refused, in its words", () => {
  const refused = ANSWERS.filter(({ error }) => error !== undefined);
  assert.ok(refused.length > 150);
  for (const { text, error } of refused) {
    assert.throws(() => answersOf(text), (thrown) => {
      assert.ok(thrown instanceof RuleFileError, `${text}\n${thrown}`);
      assert.notEqual(thrown.position, null, text);
      if (!OTHER_WORDS.test(error!)) assert.equal(thrown.reason.trim(), error!.trim(), text);
      return true;
    }, text);
  }
});
