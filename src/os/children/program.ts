/**
 * What is to be run: the part of starting a child that does not depend on how it is started.
 */

import { internalError } from "../../errors.ts";

export interface Program {
  /** Not empty. The first word selects the program. */
  readonly argv: readonly string[];
  /** What the program is told as its own name instead of `argv[0]`. */
  readonly arg0: string | null;
  readonly cwd: string | Uint8Array;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * C strings end at the first NUL; whatever follows would be dropped silently. Every way of starting a program calls
 * this first, so that all refuse the same things in the same words.
 */
export function refuseNul(program: Program): void {
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
