/**
 * Programs from source that get a home of their own. The runtime would look for its cache there, find none, and
 * translate and store every file of the program once more: a second of processor time for each start.
 */

/** The same variables, with the place of this runtime's cache if they would lead away from it. */
export function withRuntimeCache(env: Readonly<Record<string, string>>): Record<string, string> {
  const leadsAway = env.HOME !== undefined || env.XDG_CACHE_HOME !== undefined;
  // A compiled program has no such cache.
  return !leadsAway || Deno.env.get("EXEC_SERVER_BINARY") ? { ...env } : { DENO_DIR: runtimeCache(), ...env };
}

export function runtimeCache(): string {
  const caches = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  return Deno.env.get("DENO_DIR") ?? `${caches}/deno`;
}
