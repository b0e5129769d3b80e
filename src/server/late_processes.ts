/**
 * The code of sessions' processes, loaded behind the listener: a server listens and opens sessions without it. It
 * is loaded before the first request that may be about a process.
 */

import { internalError } from "../errors.ts";
import type { SessionProcesses } from "./session_processes.ts";
import type { ProcessSettings, SessionSurroundings } from "./session_state.ts";

let loaded: typeof import("./session_processes.ts") | null = null;

export async function loadProcesses(): Promise<void> {
  loaded ??= await import("./session_processes.ts");
}

/** For a session's first request about a process. */
export function openProcesses(settings: ProcessSettings, surroundings: SessionSurroundings): SessionProcesses {
  if (loaded === null) throw internalError("the code of processes was not loaded before a request that needs it");
  return new loaded.SessionProcesses(settings, surroundings);
}
