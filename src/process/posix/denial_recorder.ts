/**
 * Answers the network calls that the filter of one sandbox refuses, and records which call it was and by which program.
 *
 * Every call gets the answer it would get without a listener, EPERM, after at most one turn of our event loop.
 * Everything recorded was really refused. What could not be recorded (a bound was reached, the caller's memory could
 * not be read) was refused too.
 */

import { describeAddress, type NetworkCall, networkCall } from "../../launch/stub/network_call.ts";
import { lossyText, toByteString } from "../../os/files/byte_string.ts";
import { EPERM } from "../../os/errno.ts";
import { AT_FDCWD, readLinkAt } from "../../os/files/file_calls.ts";
import { readMemory } from "../../os/children/process_memory.ts";
import type { NetworkDenial } from "../backend.ts";
import type { CallAnswerer, SupervisedCall } from "./supervised_calls.ts";
import { MAX_ADDRESS_READS, MAX_DENIALS, MAX_DENIED_PROGRAM_CHARACTERS } from "../limits.ts";

/** For the whole program: they share its pool of threads. */
let addressReads = 0;

export class DenialRecorder implements CallAnswerer {
  readonly #denials: NetworkDenial[] = [];
  readonly #known = new Set<string>();

  /** Each kind of refusal once, in the order of their first time, growing as they happen. */
  get denials(): readonly NetworkDenial[] {
    return this.#denials;
  }

  answer(call: SupervisedCall): void {
    const meaning = this.#denials.length < MAX_DENIALS ? networkCall(call, Deno.build.arch) : null;
    if (meaning?.type === "addressed") void this.#refuseAddressed(call, meaning);
    else this.#refuse(call, meaning);
  }

  async #refuseAddressed(
    call: SupervisedCall,
    { name, address, addressBytes }: NetworkCall & { readonly type: "addressed" },
  ): Promise<void> {
    if (addressReads >= MAX_ADDRESS_READS) return this.#refuse(call, null);
    addressReads++;
    const bytes = await readMemory(call.tid, address, addressBytes);
    addressReads--;
    const target = bytes === null ? null : describeAddress(bytes);
    this.#refuse(call, target === null ? null : { text: `${name}(${target})`, isProbe: false });
  }

  /** Null: not to be recorded. */
  #refuse(call: SupervisedCall, meaning: { readonly text: string; readonly isProbe: boolean } | null): void {
    const program = meaning === null ? null : programOf(call.tid);
    // If the answer was accepted, the caller was still waiting, so what was read was the caller's.
    const isRefused = call.fail(EPERM);
    if (meaning === null || !isRefused || this.#denials.length >= MAX_DENIALS) return;
    const { text, isProbe } = meaning;
    const key = JSON.stringify([text, program]);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#denials.push({ call: text, program, isProbe });
  }
}

/** The path of the program that a thread runs, as seen inside; null when we may not know. */
function programOf(tid: number): string | null {
  const path = readLinkAt(AT_FDCWD, toByteString(`/proc/${tid}/exe`));
  return typeof path === "number" ? null : lossyText(path).slice(0, MAX_DENIED_PROGRAM_CHARACTERS);
}
