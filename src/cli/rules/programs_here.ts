/** Where programs given by a path lie, for whoever types a command here. */

import type { ProgramPlace } from "../../rules/mod.ts";

export function programsHere(): ProgramPlace {
  return { cwd: Deno.cwd(), home: Deno.env.get("HOME") || null };
}
