/**
 * Whether a sandboxed process failed after the sandbox had refused it something.
 *
 * Known, where the system tells: it refused a network call. Otherwise a guess from the exit code and words in the
 * output, meant to equal the reference's guess, because clients use it to decide whether to ask for approval. The guess
 * is wrong for a program that merely prints such words and fails.
 */

import type { NetworkDenial } from "../backend.ts";
import { SIGSYS } from "../signals.ts";
import type { OutputChunk } from "./output_log.ts";

/** Words of programs that were refused something, in lower case. The reference's. */
export const DENIAL_MARKERS: readonly string[] = [
  "operation not permitted",
  "permission denied",
  "read-only file system",
  "seccomp",
  "sandbox",
  "landlock",
  "failed to write file",
];

/** A marker may lie across two chunks: this many characters of the first are looked at again with the second. */
const OVERLAP = Math.max(...DENIAL_MARKERS.map((marker) => marker.length)) - 1;

/** Killed by the kernel's system call filter. */
export const SIGSYS_EXIT_CODE = 128 + SIGSYS;

/** A process that succeeded did not need what it was refused, and no process needs a probe. */
export function isKnownDenied(exitCode: number, denials: readonly NetworkDenial[] | null): boolean {
  return exitCode !== 0 && denials !== null && denials.some(({ isProbe }) => !isProbe);
}

/** For a process in a sandbox; without one nothing is denied. */
export function looksDenied(exitCode: number, output: Iterable<OutputChunk>): boolean {
  if (exitCode === 0) return false;
  return exitCode === SIGSYS_EXIT_CODE || containsMarker(output);
}

function containsMarker(output: Iterable<OutputChunk>): boolean {
  // One byte is one character here. The markers are ASCII, and no other byte turns into ASCII when lower-cased.
  const decoder = new TextDecoder("latin1");
  const ends = new Map<string, string>();
  for (const { stream, bytes } of output) {
    const text = (ends.get(stream) ?? "") + decoder.decode(bytes).toLowerCase();
    if (DENIAL_MARKERS.some((marker) => text.includes(marker))) return true;
    ends.set(stream, text.slice(-OVERLAP));
  }
  return false;
}
