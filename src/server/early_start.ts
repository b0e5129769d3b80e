/**
 * The one request besides `initialize` that does not wait for the methods to be loaded: an ordinary start of a process,
 * which is what most clients ask first. Later ones come this way too: checked by hand they take a fraction of a
 * microsecond, by their schema 18. A test compares it with the row of the table.
 */

import { startsProcess } from "../protocol/claims.ts";
import { plainStart } from "../protocol/plain_start.ts";
import type { CallContext } from "./call_context.ts";
import { loadProcesses } from "./late_processes.ts";
import type { PreparedCall } from "./method_table.ts";
import type { SessionState } from "./session_state.ts";

/** Null: leave it to the method table. */
export function prepareEarly(
  method: string,
  raw: unknown,
): PreparedCall<CallContext<SessionState>, SessionState> | null {
  const params = method === "process/start" ? plainStart(raw) : null;
  if (params === null) return null;
  return {
    family: "exec",
    lane: "ordinary",
    claims: (scope) => startsProcess(params, scope),
    answerBytes: 0,
    run: (context) =>
      assembly !== null
        ? assembly.startProcess(params, context)
        : loadStart().then(({ startProcess }) => startProcess(params, context)),
  };
}

type Assembly = typeof import("./methods/start_assembly.ts");

/** Null until it has been loaded. */
let assembly: Assembly | null = null;

/** Loads what the above runs. */
export async function loadStart(): Promise<Assembly> {
  const [loaded] = await Promise.all([import("./methods/start_assembly.ts"), loadProcesses()]);
  return assembly = loaded;
}
