/**
 * Whether a command that failed under a sandbox was probably stopped by it. A guess by the words programs print and by
 * the exit code of a forbidden system call: the reference's words, so that its clients see the same.
 */

import { DENIAL_MARKERS, SIGSYS_EXIT_CODE } from "../process/session/denial.ts";

export function looksDenied(
  { exitCode, stdout, stderr }: { exitCode: number; stdout: string; stderr: string },
): boolean {
  if (exitCode === 0) return false;
  if (exitCode === SIGSYS_EXIT_CODE) return true;
  return [stdout, stderr].some((text) => {
    const lower = text.toLowerCase();
    return DENIAL_MARKERS.some((word) => lower.includes(word));
  });
}
