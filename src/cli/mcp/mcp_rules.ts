/**
 * The rules that `mcp` decides by. Files are read again when they change. A directory that is missing at the start is
 * not noticed later: otherwise a command that can write there could make its own rules.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path/posix";
import type { Logger } from "../../log.ts";
import { printable } from "../../printable.ts";
import {
  RuleFileError,
  type RulePlace,
  RulePlaceError,
  rulePlaces,
  RuleReadError,
  RulesKeeper,
} from "../../rules/mod.ts";
import { refusal } from "../cli_error.ts";
import { programsHere } from "../rules/programs_here.ts";

export interface McpRules {
  readonly keeper: RulesKeeper;
  /** Places from which rules are read now, or would be at the next start. No command may write there. */
  readonly paths: readonly string[];
}

/** Throws a `CliError` if they cannot be used. */
export function mcpRules(named: readonly string[], log: Logger): McpRules {
  try {
    const places = rulePlaces(Deno.env.toObject(), named.map((path) => resolve(Deno.cwd(), path)));
    const keeper = new RulesKeeper({
      places: places.filter(isUsed),
      programs: programsHere(),
      onReload: ({ files, rules }) =>
        log.info("the rules were read again", { files: files.length, rules: rules.length }),
      onProblem: (problem) => {
        const file = problem instanceof RuleFileError ? problem.file : problem.path;
        log.error("the rules cannot be read again: the old ones stay in force", { file, reason: problem.message });
      },
    });
    for (const path of keeper.skipped) log.warn("not read, because it is not a regular file", { path });
    return { keeper, paths: places.map(({ path }) => path) };
  } catch (error) {
    if (error instanceof RulePlaceError) throw refusal(error.message, error);
    if (error instanceof RuleReadError) {
      throw refusal(`failed to read rules file ${printable(error.path)}: ${printable(error.message)}`, error);
    }
    if (!(error instanceof RuleFileError)) throw error;
    throw refusal(`failed to parse rules file ${printable(error.file)}: ${error.message}`, error);
  }
}

function isUsed({ path, mustExist }: RulePlace): boolean {
  return mustExist || existsSync(path);
}
