/**
 * What is to be run: the part of starting a child that does not depend on how it is started.
 */

import { internalError } from "../../errors.ts";
import { detailedFailure } from "../descriptor.ts";
import { E2BIG } from "../errno.ts";

export interface Program {
  /** Not empty. The first word selects the program. */
  readonly argv: readonly string[];
  /** What the program is told as its own name instead of `argv[0]`. */
  readonly arg0: string | null;
  readonly cwd: string | Uint8Array;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The kernel takes at most three quarters of 8 MiB for arguments and environment together. */
export const MAX_EXEC_BYTES = 6 * 1024 * 1024;

/**
 * Directories of a search path. Nobody else is served while a program is looked for, which takes some microseconds in
 * each; real search paths have some ten.
 */
const MAX_SEARCHED_DIRECTORIES = 1024;

/**
 * Refuses what no way of starting a program can start, or only after a long search. Every way calls this first, so that
 * all refuse the same things in the same words. The bounds come before anything is read or copied.
 */
export function refuseUnstartable(program: Program): void {
  refuseTooLong(program);
  refuseNul(program);
}

function refuseTooLong({ argv, arg0, env }: Program): void {
  // Of characters, which have a byte or more each. Each word ends with a NUL.
  let bytes = (arg0 ?? "").length;
  for (const word of argv) bytes += word.length + 1;
  for (const [name, value] of Object.entries(env)) bytes += name.length + value.length + 2;
  if (bytes > MAX_EXEC_BYTES) throw detailedFailure(E2BIG, `${bytes} bytes of arguments and variables`);
  const directories = env.PATH?.split(":", MAX_SEARCHED_DIRECTORIES + 1).length ?? 0;
  if (directories <= MAX_SEARCHED_DIRECTORIES) return;
  throw detailedFailure(E2BIG, `PATH names more than ${MAX_SEARCHED_DIRECTORIES} directories`);
}

/** C strings end at the first NUL; whatever follows would be dropped silently. */
function refuseNul(program: Program): void {
  program.argv.forEach((word, index) => refuseNulIn(word, `argument ${index}`));
  refuseNulIn(program.arg0 ?? "", "arg0");
  refuseNulIn(program.cwd, "the working directory");
  for (const [name, value] of Object.entries(program.env)) {
    refuseNulIn(name, "the name of an environment variable");
    refuseNulIn(value, `environment variable ${name}`);
  }
}

function refuseNulIn(text: string | Uint8Array, what: string): void {
  const hasNul = typeof text === "string" ? text.includes("\0") : text.includes(0);
  if (hasNul) throw internalError(`Cannot start process: ${what} contains a NUL byte`);
}
