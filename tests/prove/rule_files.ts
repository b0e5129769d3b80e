/** Rule files nobody wrote: whatever is in them, they load or are refused with a place, in good time and within bounds. */

import assert from "node:assert/strict";
import { RuleFileError } from "../../src/rules/language/failure.ts";
import { MAX_EVALUATION_MS, MAX_RULES } from "../../src/rules/limits.ts";
import { loadRules } from "../../src/rules/load.ts";
import { decide } from "../../src/rules/policy/decide.ts";
import { proof } from "../support/proof.ts";
import { RuleFileGenerator } from "../support/rule_file_generator.ts";

const PLACE = { cwd: "/work", home: "/home/somebody" };
/** The bound itself, what one step may take, and a machine with other work. */
const MAX_MS = MAX_EVALUATION_MS + 8000;

proof({
  name: "any text is a rule set or a refusal that names its place, within the bounds",
  tries: 200_000,
  unit: "files",
}, ({ tries, random, remark }) => {
  const generator = new RuleFileGenerator(random);
  const counts = { loaded: 0, refused: 0, bounded: 0 };
  let slowestMs = 0;
  for (let index = 0; index < tries; index++) {
    const kind = random.int(100);
    const text = kind < 45
      ? generator.file()
      : kind < 75
      ? generator.mangled()
      : index % 100 === 0
      ? generator.greedy()
      : generator.soup();
    const begun = performance.now();
    try {
      const rules = loadRules([{ path: "FILE", text }], PLACE);
      counts.loaded++;
      assert.ok(rules.rules.length <= MAX_RULES);
      const verdict = decide(generator.command(), { rules, place: PLACE });
      assert.ok(["allow", "prompt", "forbidden"].includes(verdict.decision));
    } catch (error) {
      if (!(error instanceof RuleFileError)) {
        throw new Error(`file ${index} was not refused but crashed:\n${text.slice(0, 2000)}`, { cause: error });
      }
      assert.ok(error.position !== null && error.position.line >= 1 && error.position.column >= 1, text);
      assert.ok(error.message.includes(`--> FILE:${error.position.line}:${error.position.column}`), error.message);
      assert.doesNotMatch(error.reason, /^too deep or too large/, text.slice(0, 2000));
      counts.refused++;
      if (/stopped|more than|overflow|exceed|too many/i.test(error.reason)) counts.bounded++;
    }
    const tookMs = performance.now() - begun;
    slowestMs = Math.max(slowestMs, tookMs);
    assert.ok(tookMs < MAX_MS, `file ${index} took ${tookMs} ms:\n${text.slice(0, 2000)}`);
  }
  remark(`${counts.loaded} loaded, ${counts.refused} refused, ${counts.bounded} of them by a bound`);
  remark(`slowest ${Math.round(slowestMs)} ms`);
  return Promise.resolve();
});
