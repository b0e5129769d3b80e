/** Programs of `tests/fixtures`, run as processes of their own: for what must not happen to the tests' own process. */

/** They look into `/proc`, which Deno opens to nothing less than all. The others have the server's permissions. */
const NEED_ALL_PERMISSIONS = ["guard_scenario", "killed_server_scenario", "spawn_many"];

export function fixtureCommand(name: string, args: readonly string[] = []): string[] {
  const path = new URL(`../fixtures/${name}.ts`, import.meta.url).pathname;
  const permissions = NEED_ALL_PERMISSIONS.includes(name) ? "--allow-all" : "-P=serve";
  return [Deno.execPath(), "run", "--quiet", "--no-check", permissions, path, ...args];
}

/** Runs a command line to its end and returns its output. Throws if it fails. */
export async function outputOf(argv: readonly string[]): Promise<string> {
  const { success, code, stdout, stderr } = await new Deno.Command(argv[0]!, { args: argv.slice(1), stdin: "null" })
    .output();
  if (!success) throw new Error(`${argv.join(" ")} exited with ${code}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** A string as one word of a shell command. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
