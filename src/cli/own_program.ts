/** How this program starts itself as a helper. Programs that embed the server do it in another way. */

import type { RuntimePaths } from "../server/runtime_paths.ts";

/** The compiled program is its own helper. From source, the server finds `main.ts` by itself. */
export function ownRuntimePaths(): RuntimePaths {
  return Deno.build.standalone ? { helper: "self" } : {};
}
