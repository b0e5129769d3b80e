/** Which programs this machine has: tests that need a missing one are skipped, and say so. */

/** Whether all of these are there. Says aloud which are not, and what is skipped for it. */
export function areInstalled(programs: readonly string[], skipped: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  const missing = programs.filter((program) => !folders.some((folder) => isFile(`${folder}/${program}`)));
  if (missing.length > 0) console.warn(`SKIPPED, not installed here: ${missing.join(", ")} (${skipped})`);
  return missing.length === 0;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
