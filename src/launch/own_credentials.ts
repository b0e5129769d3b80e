/**
 * Which environment variables may hold a credential of this server, or of the reference server.
 *
 * They are removed from the server's environment before anything is started from it. Children, helpers and shell states
 * never have them, and no request can send one anywhere. Only names count; the operator must protect the files that
 * variables point to.
 */

type Environment = Readonly<Record<string, string>>;

/** `EXEC_SERVER_*TOKEN*`, `EXEC_SERVER_*SECRET*` and `CODEX_EXEC_SERVER_*TOKEN*`, in any case. */
const OWN_CREDENTIAL = /^(?:EXEC_SERVER_.*(?:TOKEN|SECRET)|CODEX_EXEC_SERVER_.*TOKEN)/is;

/** Credentials and switches of the reference that are meant only for a server process. */
const MEANT_FOR_SERVERS: ReadonlySet<string> = new Set([
  "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
  "NODE_REPL_AUTH_TOKEN",
  "OPENAI_FEDERATION_RULE_ID",
  "OPENAI_IDENTITY_TOKEN_FILE",
  "OPENAI_WORKLOAD_IDENTITY_CONTEXT",
]);

/** Whether no child may see a variable of this name, even if a client asks for it. */
export function isNeverPassedOn(name: string): boolean {
  return MEANT_FOR_SERVERS.has(name) || isOwnCredential(name);
}

export function isOwnCredential(name: string): boolean {
  return OWN_CREDENTIAL.test(name);
}

/** The same environment without them. */
export function withoutOwnCredentials(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOwnCredential(name)));
}

/** The same environment without what no child may see. */
export function withoutNeverPassedOn(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isNeverPassedOn(name)));
}
