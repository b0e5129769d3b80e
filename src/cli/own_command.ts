/** The command that starts this program again, compiled or from source. */

/** Program and first words; the mode and its flags follow. */
export function ownCommand(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const main = new URL(Deno.mainModule);
  return [Deno.execPath(), "run", "--quiet", "-P=serve", decodeURIComponent(main.pathname)];
}
