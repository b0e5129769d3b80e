/**
 * The environment of a child, from the server's environment, the request's policy and its own variables.
 *
 * Pure: the server's environment is passed in. Nothing here looks at values, only at names.
 */

import type { EnvPolicy } from "../protocol/process.ts";

type Environment = Readonly<Record<string, string>>;

export interface ChildEnvRequest {
  /** The whole environment without a policy, else what lies on top of what the policy lets through. */
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

/** Credentials and switches meant for a server process alone: no child sees them, whoever asks. */
const NEVER_PASSED_ON = [
  "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
  "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
  "NODE_REPL_AUTH_TOKEN",
  "OPENAI_FEDERATION_RULE_ID",
  "OPENAI_IDENTITY_TOKEN_FILE",
  "OPENAI_WORKLOAD_IDENTITY_CONTEXT",
];

/** The order of the steps is part of the contract: `set` survives `exclude`, not `includeOnly`; `env` survives both. */
export function childEnv(request: ChildEnvRequest, serverEnv: Environment): Record<string, string> {
  const variables = request.envPolicy === null ? new Map<string, string>() : applyPolicy(request.envPolicy, serverEnv);
  for (const [name, value] of Object.entries(request.env)) variables.set(name, value);
  for (const name of NEVER_PASSED_ON) variables.delete(name);
  return Object.fromEntries(variables);
}

function applyPolicy(policy: EnvPolicy, serverEnv: Environment): Map<string, string> {
  const variables = new Map(policy.inherit === "none" ? [] : Object.entries(serverEnv));
  const dropWhere = (isDropped: (name: string) => boolean): void => {
    for (const name of variables.keys()) if (isDropped(name)) variables.delete(name);
  };

  if (policy.inherit === "core") dropWhere((name) => !CORE_NAMES.has(name));
  if (!policy.ignoreDefaultExcludes) dropWhere(nameMatcher(DEFAULT_EXCLUDES));
  dropWhere(nameMatcher(policy.exclude));
  for (const [name, value] of Object.entries(policy.set)) variables.set(name, value);
  if (policy.includeOnly.length > 0) {
    const isIncluded = nameMatcher(policy.includeOnly);
    dropWhere((name) => !isIncluded(name));
  }
  return variables;
}

/** Whether any of the patterns matches a whole name, whatever the case. */
function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const folded = patterns.map(foldCase);
  return (name) => {
    const characters = foldCase(name);
    return folded.some((pattern) => matchesWhole(pattern, characters));
  };
}

function foldCase(text: string): string[] {
  return Array.from(text.toLowerCase());
}

/**
 * `*` is any run of characters and `?` any one. On a mismatch only the latest `*` takes one more character, which is
 * enough, so the time is at most pattern times name: a peer cannot make it explode as it could a regular expression.
 */
function matchesWhole(pattern: readonly string[], name: readonly string[]): boolean {
  let patternAt = 0;
  let nameAt = 0;
  let starAt = -1;
  let starTookUntil = 0;
  while (nameAt < name.length) {
    if (pattern[patternAt] === "*") {
      starAt = patternAt++;
      starTookUntil = nameAt;
    } else if (pattern[patternAt] === "?" || pattern[patternAt] === name[nameAt]) {
      patternAt++;
      nameAt++;
    } else if (starAt !== -1) {
      patternAt = starAt + 1;
      nameAt = ++starTookUntil;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === "*") patternAt++;
  return patternAt === pattern.length;
}
