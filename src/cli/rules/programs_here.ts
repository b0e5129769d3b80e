/** Resolves programs that are given by a path, for commands typed on this machine. */

import type { ProgramPlace } from "../../rules/mod.ts";

export function programsHere(): ProgramPlace {
  return { cwd: Deno.cwd(), home: Deno.env.get("HOME") || null };
}
