/** Finds the process that a user means: by its id, by the beginning of it, or by its name. */

import type { Devbox } from "../../client/devbox.ts";
import type { ProcessInfo } from "../../client/process/process_types.ts";
import { quoted, refusal } from "../cli_error.ts";

/** A shorter prefix may fit only one process now, and soon another one, too. */
const MIN_PREFIX_CHARS = 3;

/** All processes that can be reached on a server, the oldest first. */
export async function reachableProcesses(box: Devbox, { details = false } = {}): Promise<ProcessInfo[]> {
  if (!box.has("processList")) throw refusal("cannot list processes: this server does not support it");
  return await box.processes({ scope: "server", details: details && box.has("processDetails") });
}

/**
 * The process that a word means. A name means the running process with that name, or else the last one that had it.
 * Throws if no process fits, or several do.
 */
export function findProcess(processes: readonly ProcessInfo[], word: string): ProcessInfo {
  const named = processes.filter(({ name }) => name === word);
  const living = named.find(({ closed }) => !closed);
  const last = named.toSorted((one, other) => one.ageMs - other.ageMs)[0];
  const exact = living ?? last ?? processes.find(({ uid, processId }) => uid === word || processId === word);
  if (exact !== undefined) return exact;
  const begins = word.length < MIN_PREFIX_CHARS ? [] : processes.filter(({ uid }) => uid.startsWith(word));
  if (begins.length === 1) return begins[0]!;
  if (begins.length > 1) {
    throw refusal(`${quoted(word)} is the beginning of ${begins.length} ids: write more of the one you mean`);
  }
  throw refusal(`there is no process ${quoted(word)}: exec-server ps -a lists them`);
}
