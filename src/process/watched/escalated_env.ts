/**
 * The environment of a program that leaves the sandbox: the caller's, without what would let the caller decide what the
 * program does besides its arguments.
 *
 * A variable that names code, a library, a configuration or another program to run is a second command line, which no
 * rule sees. The list is published in `sandbox/README.md`. What programs are found and whose configuration is read
 * (`PATH`, `HOME`, `XDG_*`) is the server's. What tells of the sandbox does not hold for a program that has left it.
 */

/** Names, and beginnings (`LD_*`) and ends (`*PAGER`) of names. */
export const WITHHELD_VARIABLES: readonly string[] = [
  "LD_*",
  "BASH_ENV",
  "BASH_FUNC_*",
  "BASHOPTS",
  "SHELLOPTS",
  "BASH_EXEC_WRAPPER",
  "CODEX_ESCALATE_SOCKET",
  "CODEX_SANDBOX_NETWORK_DISABLED",
  "CDPATH",
  "EDITOR",
  "ENV",
  "EXEC_SERVER_*",
  "EXEC_WRAPPER",
  "GCONV_PATH",
  "GIT_*",
  "GLIBC_TUNABLES",
  "IFS",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "_JAVA_OPTIONS",
  "LESSCLOSE",
  "LESSOPEN",
  "LOCPATH",
  "NODE_OPTIONS",
  "NODE_PATH",
  "*PAGER",
  "PERL5*",
  "PERLLIB",
  "PROMPT_COMMAND",
  "PS4",
  "PYTHON*",
  "RUBY*",
  "SSH_ASKPASS",
  "SSH_ASKPASS_REQUIRE",
  "VISUAL",
  "ZDOTDIR",
];

/** Beginnings of names in any case: npm makes no difference there. */
export const WITHHELD_IN_ANY_CASE: readonly string[] = ["npm_config_*"];

/** The server's own, or absent where the server has none. */
const SERVER_VARIABLES: readonly string[] = ["PATH", "HOME", "XDG_*"];

const encoder = new TextEncoder();

export function escalatedEnvironment(
  caller: readonly Uint8Array<ArrayBuffer>[],
  server: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer>[] {
  const kept = caller.filter((entry) => {
    const name = nameOf(entry);
    return name !== null && !isWithheld(name) && !isAmong(name, SERVER_VARIABLES);
  });
  const own = Object.entries(server)
    .filter(([name]) => isAmong(name, SERVER_VARIABLES) && !isWithheld(name))
    .map(([name, value]) => encoder.encode(`${name}=${value}`));
  return [...own, ...kept];
}

/** Null for an entry without a name: programs differ in what they make of it. */
function nameOf(entry: Uint8Array): string | null {
  const end = entry.indexOf("=".charCodeAt(0));
  if (end <= 0) return null;
  return new TextDecoder().decode(entry.subarray(0, end));
}

function isWithheld(name: string): boolean {
  return isAmong(name, WITHHELD_VARIABLES) || isAmong(name.toLowerCase(), WITHHELD_IN_ANY_CASE);
}

function isAmong(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern.endsWith("*")) return name.startsWith(pattern.slice(0, -1));
    if (pattern.startsWith("*")) return name.endsWith(pattern.slice(1));
    return name === pattern;
  });
}
