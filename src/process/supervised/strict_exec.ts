/**
 * Lets a call through and looks, before the new program begins, whether it is the one that was decided.
 *
 * The kernel reads path and arguments again after the decision, and another thread of the caller may have changed them
 * by then, or the directory or descriptor that they refer to. So the caller is stopped right after it has become the
 * program, when it has no other threads any more. A program that differs by its words or its file is killed before its
 * first instruction. This costs about two milliseconds.
 */

import { EACCES } from "../../os/errno.ts";
import { fileBehind } from "../../os/children/foreign_process.ts";
import { RemoteMemory } from "../../os/children/remote_memory.ts";
import { sendSignal } from "../../os/children/pidfd.ts";
import { readWholeBytes } from "../../os/children/procfs.ts";
import { interrupt, letGo, releaseIfDead, seize, stopOf } from "../../os/children/tracing.ts";
import { byteStringOf } from "../../os/files/byte_string.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";
import { SIGKILL } from "../signals.ts";
import { pause } from "./caller.ts";
import type { WaitingExec } from "./exec_request.ts";
import { interpretedScript } from "./interpreted_script.ts";

/** In the list of what the kernel tells a new program: the address of the path it was given. */
const AT_EXECFN = 31n;
const MAX_PATH_BYTES = 4096;

/** `failed`: the caller goes on as it was. `refused`: it could not be stopped, so the call failed. */
export type StrictOutcome = "same" | "killed" | "failed" | "refused";

export async function runStrictly(call: SupervisedCall, request: WaitingExec, pid: number): Promise<StrictOutcome> {
  const { tid } = call;
  if (!seize(tid, { stopsAtExec: true })) {
    call.fail(EACCES);
    return "refused";
  }
  // Also stops it when the call has failed, so that it can be let go in any case.
  interrupt(tid);
  call.letThrough();
  for (let look = 0;; look++) {
    // A thread that becomes a program takes the number of its process.
    for (const at of new Set([tid, pid])) {
      const stop = stopOf(at);
      if (stop === "other") {
        letGo(at);
        return "failed";
      }
      if (stop === "exec") return await judge(at, request);
    }
    if (releaseIfDead(pid)) return "failed";
    await pause(look);
  }
}

async function judge(pid: number, request: WaitingExec): Promise<StrictOutcome> {
  const isSame = await isProgram(pid, request).catch(() => false);
  if (isSame) {
    letGo(pid);
    return "same";
  }
  sendSignal(pid, SIGKILL);
  // A killed thread cannot be let go. It is its tracer's until it has been released.
  for (let look = 0; !releaseIfDead(pid); look++) await pause(look);
  return "killed";
}

async function isProgram(pid: number, request: WaitingExec): Promise<boolean> {
  const { givenName, identity } = request;
  if (await pathGivenTo(pid) !== givenName) return false;
  const wanted = request.argv.length === 0 ? [""] : request.argv.map(byteStringOf);
  const words = byteStringOf(readWholeBytes(`/proc/${pid}/cmdline`)).split("\0").slice(0, -1);
  const executed = fileBehind(pid, "exe")?.identity;
  if (identity !== null && executed === identity) return sameWords(words, wanted);
  // A script's interpreter comes first, with at most one argument for each interpreter; then the script and the rest.
  const rest = [givenName, ...wanted.slice(1)];
  if (identity !== null) {
    const script = await interpretedScript(pid, { name: request.name, identity, words: rest });
    return script !== null && script.interpreter === executed && sameWords(words, script.words);
  }
  // The decision was about this name, whatever the caller finds there.
  return sameWords(words, wanted) ||
    (words.length > wanted.length && sameWords(words.slice(-rest.length), rest));
}

async function pathGivenTo(pid: number): Promise<string | null> {
  const auxiliary = readWholeBytes(`/proc/${pid}/auxv`);
  const view = new DataView(auxiliary.buffer);
  for (let at = 0; at + 16 <= auxiliary.length; at += 16) {
    if (view.getBigUint64(at, true) !== AT_EXECFN) continue;
    const text = view.getBigUint64(at + 8, true);
    const copies = await new RemoteMemory(pid).read({ text, lists: [], maxBytes: MAX_PATH_BYTES });
    return byteStringOf(copies.text);
  }
  return null;
}

function sameWords(words: readonly (string | null)[], wanted: readonly (string | null)[]): boolean {
  return words.length === wanted.length && words.every((word, index) => word === wanted[index]);
}
