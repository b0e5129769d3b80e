/** This process becomes another program, in place: same number, same descriptors, same environment. */

import { cString, cStringArray, lastErrno, libcFunctions } from "../libc.ts";
import { allocate } from "../libc.ts";
import { reapingFunctions } from "./child_reaping.ts";
import { readSoftLimit, readWholeBytes } from "./procfs.ts";
import { getLimit, RLIMIT_NOFILE, setLimit } from "./resource_limits.ts";

const becomingFunctions = libcFunctions({
  /** Returns only when it has failed. The program gets the environment that this process was started with. */
  execv: { parameters: ["buffer", "buffer"], result: "i32" },
});

const SIGPIPE = 13;
/** Larger than `struct sigaction` anywhere; all zero is the default action. */
const SIGACTION_BYTES = 256;

/** The last words of our own command line, as bytes. */
export function ownWords(count: number): Uint8Array<ArrayBuffer>[] {
  const words = separated(readWholeBytes("/proc/self/cmdline"));
  return words.slice(words.length - count);
}

/** The environment that this process was started with, as bytes. */
export function ownEnvironment(): Uint8Array<ArrayBuffer>[] {
  return separated(readWholeBytes("/proc/self/environ"));
}

function separated(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const words: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0, start);
    if (end < 0) break;
    words.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return words;
}

/** Does not return if it succeeds; otherwise returns the error number. */
export function becomeProgram(path: Uint8Array, argv: readonly Uint8Array[]): number {
  // Undo what the runtime changed for itself, because the program would inherit it.
  reapingFunctions().sigaction(SIGPIPE, allocate(SIGACTION_BYTES), null);
  const own = getLimit(RLIMIT_NOFILE);
  const original = readSoftLimit(Deno.ppid, "Max open files");
  if (own !== null && original !== null && original < own.soft) setLimit(RLIMIT_NOFILE, { ...own, soft: original });
  const { execv } = becomingFunctions();
  execv(cString(path), cStringArray(argv));
  return lastErrno();
}
