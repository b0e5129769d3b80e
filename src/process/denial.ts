/**
 * Whether a sandboxed process failed and the sandbox had refused it something.
 *
 * By what is known, where the system tells: it refused something of the network. Otherwise by a guess from exit code and
 * words in the output, meant to be the reference's guess: clients decide by it whether to ask for approval. The guess is
 * wrong for a program that merely prints such words and fails.
 */

import type { NetworkDenial } from "./backend.ts";
import { SIGSYS } from "./signals.ts";
import type { OutputChunk } from "./output_log.ts";

const MARKERS = [
  "operation not permitted",
  "permission denied",
  "read-only file system",
  "seccomp",
  "sandbox",
  "landlock",
  "failed to write file",
];

/** A marker may lie across two chunks: so many characters of the first are looked at again with the second. */
const OVERLAP = Math.max(...MARKERS.map((marker) => marker.length)) - 1;

/** Killed by the kernel's system call filter. */
const SIGSYS_EXIT_CODE = 128 + SIGSYS;

/** A process that succeeded could do without what it was refused, and any process can do without a probe. */
export function isKnownDenied(exitCode: number, denials: readonly NetworkDenial[] | null): boolean {
  return exitCode !== 0 && denials !== null && denials.some(({ isProbe }) => !isProbe);
}

/** For a process in a sandbox; one without is never denied anything by it. */
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
    if (MARKERS.some((marker) => text.includes(marker))) return true;
    ends.set(stream, text.slice(-OVERLAP));
  }
  return false;
}
