/** Turns argv and environment into the options of a registration, checked as a whole. Pure: files are read later. */

import { quoted, refuseSurplus, usageError } from "../cli_error.ts";
import { type Environment, type FlagValues, type GivenAs, parseFlags } from "../flags.ts";
import { type ServingValues, servingValues } from "../serve/serving_values.ts";
import { REGISTRATION_FLAGS, REMOTE_FLAGS } from "./remote_flags.ts";

/** The source of the token. */
export type TokenSource =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "variable"; readonly name: string; readonly value: string | null }
  | { readonly type: "stdin" };

export interface RegistrationOptions {
  readonly url: string;
  readonly id: string;
  readonly transport: "noise" | "plain";
  readonly name: string | null;
  readonly token: TokenSource;
  /** Null: the default place. */
  readonly identityFile: string | null;
  readonly exitOnStdinClose: boolean;
  readonly isInsecureAccepted: boolean;
}

export type RemoteInvocation =
  | { readonly type: "remote"; readonly registration: RegistrationOptions; readonly serving: ServingValues }
  | { readonly type: "help" }
  | { readonly type: "version" };

/** The reference's variable, and ours, which comes first. */
const TOKEN_VARIABLE = "CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN";
const OWN_TOKEN_VARIABLE = "EXEC_SERVER_REMOTE_TOKEN";
const EXIT_VARIABLE = "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE";

export function parseRemote(argv: readonly string[], env: Environment): RemoteInvocation {
  if (argv.some((word) => /^--listen(?:=|$)/.test(word))) {
    throw usageError("--remote and --listen cannot be given together");
  }
  const parsed = parseFlags(REMOTE_FLAGS, argv, env);
  if (parsed.type === "action") return { type: parsed.action };
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0], "--remote --help");
  const executorId = values["executor-id"];
  const environmentId = values["environment-id"];
  if (executorId !== null && environmentId !== null) {
    throw usageError(`${givenAs["executor-id"]} and ${givenAs["environment-id"]} cannot be given together`);
  }
  const id = executorId ?? environmentId;
  if (id === null) throw usageError("--remote needs --environment-id or --executor-id");
  const transport = values["remote-transport"] ?? (executorId === null ? "noise" : "plain");
  const registration = registrationOptions({ values, givenAs, id, transport, env });
  return { type: "remote", registration, serving: servingValues(values) };
}

/** The options that `--remote` and `forward` share. */
export function registrationOptions({ values, givenAs, id, transport, env }: {
  values: FlagValues<typeof REGISTRATION_FLAGS>;
  givenAs: GivenAs<typeof REGISTRATION_FLAGS>;
  id: string;
  transport: "noise" | "plain";
  env: Environment;
}): RegistrationOptions {
  if (values.remote === null) throw usageError("--remote URL is required");
  if (values["identity-file"] !== null && transport === "plain" && givenAs["identity-file"]?.startsWith("--")) {
    throw usageError("--identity-file has no meaning in the plain form");
  }
  return {
    url: values.remote,
    id,
    transport,
    name: values.name,
    token: tokenSource(values, env),
    identityFile: values["identity-file"],
    exitOnStdinClose: values["exit-on-stdin-close"] || exitVariable(env),
    isInsecureAccepted: values["insecure-remote"],
  };
}

function tokenSource(values: FlagValues<typeof REGISTRATION_FLAGS>, env: Environment): TokenSource {
  const path = values["remote-token-file"];
  if (values["executor-credential-stdin"]) {
    if (path !== null) throw usageError("--executor-credential-stdin and --remote-token-file cannot be given together");
    return { type: "stdin" };
  }
  if (path !== null) return { type: "file", path };
  const name = env[OWN_TOKEN_VARIABLE] === undefined ? TOKEN_VARIABLE : OWN_TOKEN_VARIABLE;
  return { type: "variable", name, value: env[name] ?? null };
}

/** The reference accepts only these two words. */
function exitVariable(env: Environment): boolean {
  const value = env[EXIT_VARIABLE];
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw usageError(`${EXIT_VARIABLE} must be true or false, not ${quoted(value)}`);
}
