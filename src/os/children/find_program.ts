/**
 * Which file a command's first word means, by the rules of `execvp` but with the search path of the child's
 * environment.
 */

import { byteStringOf, lossyText } from "../files/byte_string.ts";
import { EACCES, ENOENT } from "../errno.ts";
import { detailedFailure, failure } from "../descriptor.ts";
import { cString, libcFunctions } from "../libc.ts";
import type { Program } from "./program.ts";

const accessFunctions = libcFunctions({
  /** 0 when the effective user may do this to the path. */
  euidaccess: { parameters: ["buffer", "i32"], result: "i32" },
});

const X_OK = 1;
const F_OK = 0;

/** What the C library searches when there is no PATH at all. */
const DEFAULT_PATH = "/bin:/usr/bin";

/** The longest name that a file can have on any of Linux's filesystems. */
const MAX_NAME_BYTES = 255;

const SLASH = 0x2f;
const encoder = new TextEncoder();

/**
 * Paths to try, best first; never empty. A word with a slash is used as it is, relative to the child's directory.
 * Throws when there is nothing to try: not found, or found and not executable.
 */
export function findProgram(program: Pick<Program, "argv" | "cwd" | "env">): Uint8Array[] {
  const name = program.argv[0]!;
  if (name === "") throw noSuchFile(program);
  if (name.includes("/")) return [encoder.encode(name)];
  // It would be copied once for every directory.
  if (name.length > MAX_NAME_BYTES) throw noSuchFile(program);

  const executable: Uint8Array[] = [];
  let isForbidden = false;
  for (const directory of (program.env.PATH ?? DEFAULT_PATH).split(":")) {
    const path = resolveIn(program.cwd, encoder.encode(directory === "" ? name : `${directory}/${name}`));
    if (mayAccess(path, X_OK)) executable.push(path);
    else isForbidden ||= mayAccess(path, F_OK);
  }
  if (executable.length === 0) throw isForbidden ? failure(EACCES) : noSuchFile(program);
  return executable;
}

/** A start that failed with ENOENT: the system does not say what is missing, so a look finds out for the log. */
export function noSuchFile(
  { argv, cwd }: Pick<Program, "argv" | "cwd">,
  tried: readonly Uint8Array[] = [],
): Error {
  const bytes = typeof cwd === "string" ? encoder.encode(cwd) : cwd;
  if (!mayAccess(bytes, F_OK)) {
    return detailedFailure(ENOENT, `there is no working directory ${lossyText(byteStringOf(bytes))}`);
  }
  const isThere = tried.some((path) => mayAccess(resolveIn(cwd, path), F_OK));
  return detailedFailure(
    ENOENT,
    isThere
      ? `the interpreter of program ${JSON.stringify(argv[0])} is missing`
      : `there is no program ${JSON.stringify(argv[0])}`,
  );
}

/** The child looks up a relative path in its own directory, and we are elsewhere. */
function resolveIn(cwd: string | Uint8Array, relative: Uint8Array): Uint8Array {
  if (relative[0] === SLASH) return relative;
  const base = typeof cwd === "string" ? encoder.encode(cwd) : cwd;
  const joined = new Uint8Array(base.length + 1 + relative.length);
  joined.set(base);
  joined[base.length] = SLASH;
  joined.set(relative, base.length + 1);
  return joined;
}

function mayAccess(path: Uint8Array, mode: number): boolean {
  return accessFunctions().euidaccess(cString(path), mode) === 0;
}
