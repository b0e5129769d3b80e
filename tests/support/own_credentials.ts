/** Variables of a server that are its own, and what can be seen of them from outside. */

import { childrenOf, type ProcessEntry } from "./proc.ts";

export const SECRET = "s3cret-8c1f";

/** What a server is started with: all but the last are its own. */
export const ENV = {
  EXEC_SERVER_TOKEN: SECRET,
  EXEC_SERVER_URL_TOKENS: SECRET,
  EXEC_SERVER_MY_SECRET_X: SECRET,
  exec_server_token: SECRET,
  CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: SECRET,
  CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: SECRET,
  PLAIN_TOKEN: "the-operator's",
};

/** The variables that a process was started with. */
export function environmentOf(pid: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/environ`);
  } catch {
    return ""; // It has ended since the list was made.
  }
}

export function descendantsOf(pid: number): ProcessEntry[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child.pid)]);
}
