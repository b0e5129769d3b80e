/** How this program starts itself again, unlike a program that embeds the server. */

import type { RuntimePaths } from "../server/runtime_paths.ts";

/** Compiled, it is its own helper; run from source, the server finds `main.ts` by itself. */
export function ownRuntimePaths(): RuntimePaths {
  return Deno.build.standalone ? { helper: "self" } : {};
}
