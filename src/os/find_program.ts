/**
 * Which file a command's first word means, by the rules of `execvp` but with the search path of the child's
 * environment.
 */

import { EACCES, ENOENT } from "./errno.ts";
import { failure } from "./descriptor.ts";
import { cString, libc } from "./libc.ts";
import type { Program } from "./program.ts";

const X_OK = 1;
const F_OK = 0;

/** What the C library searches when there is no PATH at all. */
const DEFAULT_PATH = "/bin:/usr/bin";

const SLASH = 0x2f;
const encoder = new TextEncoder();

/**
 * Paths to try, best first; never empty. A word with a slash is taken as it is, relative to the child's directory.
 * Throws when there is nothing to try: not found, or found and nowhere executable.
 */
export function findProgram(program: Pick<Program, "argv" | "cwd" | "env">): Uint8Array[] {
  const name = program.argv[0]!;
  if (name === "") throw failure(ENOENT);
  if (name.includes("/")) return [encoder.encode(name)];

  const executable: Uint8Array[] = [];
  let isForbidden = false;
  for (const directory of (program.env.PATH ?? DEFAULT_PATH).split(":")) {
    const path = resolveIn(program.cwd, directory === "" ? name : `${directory}/${name}`);
    if (mayAccess(path, X_OK)) executable.push(path);
    else isForbidden ||= mayAccess(path, F_OK);
  }
  if (executable.length === 0) throw failure(isForbidden ? EACCES : ENOENT);
  return executable;
}

/** The child will be in its own directory when it looks a relative path up; we are not. */
function resolveIn(cwd: string | Uint8Array, path: string): Uint8Array {
  const relative = encoder.encode(path);
  if (relative[0] === SLASH) return relative;
  const base = typeof cwd === "string" ? encoder.encode(cwd) : cwd;
  const joined = new Uint8Array(base.length + 1 + relative.length);
  joined.set(base);
  joined[base.length] = SLASH;
  joined.set(relative, base.length + 1);
  return joined;
}

function mayAccess(path: Uint8Array, mode: number): boolean {
  return libc().euidaccess(cString(path), mode) === 0;
}
