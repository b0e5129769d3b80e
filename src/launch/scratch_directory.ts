/** Temporary directories to test a sandbox in: the only use of the server's own TMPDIR. */

import { messageOf } from "../errors.ts";

/** Where the runtime creates them, as far as this program may know. */
export function temporaryDirectory(): string {
  try {
    return Deno.env.get("TMPDIR") || "/tmp";
  } catch {
    return "/tmp"; // An embedding program may run without the environment.
  }
}

/** Why nothing can be created there; null when it seems possible. */
export function whyNoTemporaryDirectory(path: string = temporaryDirectory()): string | null {
  try {
    return Deno.statSync(path).isDirectory ? null : `TMPDIR is ${path}, which is not a directory`;
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound ? "does not exist" : `cannot be used: ${messageOf(error)}`;
    return `TMPDIR is ${path}, which ${reason}`;
  }
}

/** A new directory, by its canonical path. Rejects with an error that names the place. */
export async function makeScratchDirectory(prefix: string): Promise<string> {
  try {
    return await Deno.realPath(await Deno.makeTempDir({ prefix }));
  } catch (error) {
    const place = temporaryDirectory();
    const reason = whyNoTemporaryDirectory(place) ?? `cannot make a directory in ${place}: ${messageOf(error)}`;
    throw new Error(reason, { cause: error });
  }
}
