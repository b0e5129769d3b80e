/** Reasons for refusing a websocket, which say what to do. */

import type { HttpResponse } from "../../transport/door/http_response.ts";
import { problem } from "./answers.ts";
import type { AnyExecutor } from "./registry.ts";

/** The reference's executors register again after any 4xx, its harnesses ask once more after 401. */
export function staleUrl(path: "register" | "connect"): HttpResponse {
  return problem(401, "stale_url", `this URL is invalid or has expired: ask for a new one with ${path}`);
}

export function tooManyClients(id: string): HttpResponse {
  return problem(503, "too_many_clients", `executor ${id} has the maximum number of clients`);
}

/** Why a client of this kind can never use the executor; null if it can. */
export function complainOfKind({ kind, registration: { executorId } }: AnyExecutor, isHarness: boolean): string | null {
  switch (kind) {
    case "plain":
      return isHarness ? `executor ${executorId} speaks plain JSON-RPC: leave out role=harness` : null;
    case "relay":
      return isHarness ? null : `executor ${executorId} speaks the relay's framing: add ?role=harness to the URL`;
    case "noise":
      return `executor ${executorId} speaks noise, which ends at the client: use the registry form, not /connect`;
  }
}
