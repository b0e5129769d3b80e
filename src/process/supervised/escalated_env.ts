/**
 * The environment of a program that leaves the sandbox: the caller's, without what would let the caller decide what the
 * program does besides its arguments.
 *
 * A variable that names code, a library, a configuration or another program to run is a second command line, which no
 * rule sees. The lists are published in `sandbox/README.md`. What programs are found and whose configuration is read
 * is the server's. What tells of the sandbox does not hold for a program that has left it. No list can have the
 * variables of all programs: these are of shells, interpreters and libraries, and of programs that rules often let out.
 */

/** Names, and beginnings (`LD_*`) and ends (`*PAGER`) of names. */
export const WITHHELD_VARIABLES: readonly string[] = [
  "LD_*",
  "BASH_ENV",
  "BASH_FUNC_*",
  "BASHOPTS",
  "SHELLOPTS",
  "BASH_EXEC_WRAPPER",
  "BROWSER",
  "CODEX_ESCALATE_SOCKET",
  "CODEX_SANDBOX_NETWORK_DISABLED",
  "CDPATH",
  "CVS_RSH",
  "DOTNET_STARTUP_HOOKS",
  "*EDITOR",
  "ENV",
  "EXEC_SERVER_*",
  "EXEC_WRAPPER",
  "GCONV_PATH",
  "GIT_*",
  "GLIBC_TUNABLES",
  "GNUMAKEFLAGS",
  "IFS",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "_JAVA_OPTIONS",
  "LESSCLOSE",
  "LESSOPEN",
  "LOCPATH",
  "LUA_*",
  "MAKEFILES",
  "MAKEFLAGS",
  "NODE_OPTIONS",
  "NODE_PATH",
  "*PAGER",
  "PERL5*",
  "PERLLIB",
  "PHPRC",
  "PHP_INI_SCAN_DIR",
  "PROMPT_COMMAND",
  "PS4",
  "PYTHON*",
  "RSYNC_CONNECT_PROG",
  "RSYNC_RSH",
  "RUBY*",
  "SSH_ASKPASS",
  "SSH_ASKPASS_REQUIRE",
  "SSH_PKCS11_HELPER",
  "SSH_SK_*",
  "SUDO_ASKPASS",
  "SVN_SSH",
  "TAR_OPTIONS",
  "VISUAL",
  "ZDOTDIR",
];

/** Beginnings of names in any case: npm makes no difference there. */
export const WITHHELD_IN_ANY_CASE: readonly string[] = ["npm_config_*"];

/**
 * The server's own, or absent where the server has none: where programs and configurations are found. A configuration
 * of OpenSSL, Kerberos or SASL names libraries to load; one of curl or wget, files to write; the others name commands.
 */
export const SERVER_VARIABLES: readonly string[] = [
  "PATH",
  "HOME",
  "XDG_*",
  "APT_CONFIG",
  "AWS_CONFIG_FILE",
  "AWS_SHARED_CREDENTIALS_FILE",
  "BUNDLE_*",
  "CLOUDSDK_*",
  "CURL_HOME",
  "DOCKER_*",
  "GEM_*",
  "GNUPGHOME",
  "GSS_MECH_CONFIG",
  "HGRCPATH",
  "KRB5_*",
  "KUBECONFIG",
  "OPENSSL_*",
  "PIP_*",
  "PSQLRC",
  "SASL_*",
  "SSLKEYLOGFILE",
  "SYSTEM_WGETRC",
  "WGETRC",
];

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
