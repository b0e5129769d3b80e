/** The words by which this program starts itself again: compiled, or from its source. */

/** Program and first words; the mode and its flags follow. */
export function ownCommand(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const main = new URL(Deno.mainModule);
  return [Deno.execPath(), "run", "--quiet", "-P=serve", decodeURIComponent(main.pathname)];
}
