/** Texts of rule files -> one rule set. All or nothing: an error in any file is an error of the set. */

import { standardBuiltins } from "./language/builtins.ts";
import { evaluateFile } from "./language/evaluator.ts";
import { failureAt } from "./language/failure.ts";
import { SourceText } from "./language/source_text.ts";
import type { Value } from "./language/values.ts";
import { exampleFailure } from "./policy/examples.ts";
import type { ProgramPlace } from "./policy/host_programs.ts";
import { emptyCollection, ruleBuiltins, type RuleCollection } from "./policy/rule_builtins.ts";
import { RuleSet } from "./policy/rule_set.ts";

export interface RuleFile {
  /** As errors and explanations name it. */
  readonly path: string;
  readonly text: string;
}

/** Throws a `RuleFileError` at the first thing that is wrong. The place is for examples that name programs by a path. */
export function loadRules(files: readonly RuleFile[], place: ProgramPlace): RuleSet {
  const collection = emptyCollection();
  for (const file of files) addFile(file, collection, place);
  const { rules, networkRules, hostExecutables } = collection;
  return new RuleSet({ files: files.map(({ path }) => path), rules, networkRules, hostExecutables });
}

function addFile({ path, text }: RuleFile, collection: RuleCollection, place: ProgramPlace): void {
  const source = new SourceText(path, text);
  const firstExample = collection.examples.length;
  const builtins = new Map<string, Value>(standardBuiltins());
  for (const made of ruleBuiltins(path, collection)) builtins.set(made.name, made);
  evaluateFile(source, { builtins });
  for (const examples of collection.examples.slice(firstExample)) {
    const failure = exampleFailure(examples, collection.hostExecutables, place);
    if (failure !== null) throw failureAt(source, failure, callSpan(source, examples.rules[0]!.origin));
  }
}

/** From a call's beginning to the end of its line, for the mark below it. */
function callSpan(source: SourceText, origin: { line: number; column: number }): { start: number; end: number } {
  const start = source.offset(origin);
  return { start, end: start + source.line(origin.line).length - origin.column + 1 };
}
