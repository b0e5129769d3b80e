/** The reference itself, where it is installed: `CODEX_BIN`, or below `CODEX_DIR`, or where `.ci/run` puts it. */

const VERSION = "codex-cli 0.166.0";

/** The path of codex 0.166; null, with the reason, where there is none. */
export async function findCodex(): Promise<{ path: string; missing: null } | { path: null; missing: string }> {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/root"}/.cache`;
  const scope = `${Deno.env.get("CODEX_DIR") ?? `${cache}/exec-server-ci/codex`}/node_modules/@openai`;
  const cpu = Deno.build.arch === "aarch64" ? ["arm64", "aarch64"] : ["x64", "x86_64"];
  const vendor = `${scope}/codex-linux-${cpu[0]}/vendor/${cpu[1]}-unknown-linux-musl`;
  for (const path of [Deno.env.get("CODEX_BIN") ?? "", `${vendor}/bin/codex`, `${vendor}/codex/codex`]) {
    const version = path === "" ? null : await versionOf(path);
    if (version === VERSION) return { path, missing: null };
    if (version !== null) return { path: null, missing: `${path} is ${version} and not ${VERSION}` };
  }
  return {
    path: null,
    missing: "codex 0.166.0 is not installed: npm i --prefix DIR @openai/codex@0.166.0, CODEX_DIR=DIR",
  };
}

async function versionOf(path: string): Promise<string | null> {
  try {
    const { stdout } = await new Deno.Command(path, { args: ["--version"], stdin: "null", stderr: "null" }).output();
    return new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
