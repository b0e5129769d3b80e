/**
 * The environment of a child, from the server's environment, the request's policy and the request's variables.
 *
 * Pure: the server's environment is passed in. Only names matter here, never values.
 */

import type { EnvPolicy } from "../protocol/process.ts";
import { foldCase, MatchBudget, NamePattern } from "./name_pattern.ts";
import { isNeverPassedOn } from "./own_credentials.ts";

type Environment = Readonly<Record<string, string>>;

export interface ChildEnvRequest {
  /** Without a policy: the whole environment. With one: added to what the policy lets through. */
  readonly env: Environment;
  readonly envPolicy: EnvPolicy | null;
}

/** What `inherit: "core"` starts from: enough to find programs, a home and a language. */
const CORE_NAMES: ReadonlySet<string> = new Set([
  "PATH",
  "SHELL",
  "TMPDIR",
  "TEMP",
  "TMP",
  "HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "LOGNAME",
  "USER",
]);

const DEFAULT_EXCLUDES = ["*KEY*", "*SECRET*", "*TOKEN*"];

/** The order of the steps is part of the contract: `set` survives `exclude`, not `includeOnly`; `env` survives both. */
export function childEnv(request: ChildEnvRequest, serverEnv: Environment): Record<string, string> {
  const variables = request.envPolicy === null ? new Map<string, string>() : applyPolicy(request.envPolicy, serverEnv);
  for (const [name, value] of Object.entries(request.env)) variables.set(name, value);
  for (const name of variables.keys()) if (isNeverPassedOn(name)) variables.delete(name);
  return Object.fromEntries(variables);
}

function applyPolicy(policy: EnvPolicy, serverEnv: Environment): Map<string, string> {
  const budget = new MatchBudget();
  const variables = new Map(policy.inherit === "none" ? [] : Object.entries(serverEnv));
  const dropWhere = (isDropped: (name: string) => boolean): void => {
    for (const name of variables.keys()) if (isDropped(name)) variables.delete(name);
  };

  if (policy.inherit === "core") dropWhere((name) => !CORE_NAMES.has(name));
  if (!policy.ignoreDefaultExcludes) dropWhere(nameMatcher(DEFAULT_EXCLUDES, budget));
  dropWhere(nameMatcher(policy.exclude, budget));
  for (const [name, value] of Object.entries(policy.set)) variables.set(name, value);
  if (policy.includeOnly.length > 0) {
    const isIncluded = nameMatcher(policy.includeOnly, budget);
    dropWhere((name) => !isIncluded(name));
  }
  return variables;
}

/** Whether any of the patterns matches the whole name, ignoring case. */
function nameMatcher(patterns: readonly string[], budget: MatchBudget): (name: string) => boolean {
  const compiled = patterns.map((pattern) => new NamePattern(pattern, budget));
  return (name) => {
    if (compiled.length === 0) return false;
    budget.spend(name.length);
    const characters = foldCase(name);
    return compiled.some((pattern) => pattern.matches(characters));
  };
}
