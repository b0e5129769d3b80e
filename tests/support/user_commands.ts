/** Running things as another user of this machine. Needs root. */

import { serverCommand } from "./test_server.ts";

/** Users that own nothing here. They need no entry anywhere. */
export const SOMEBODY = 54_321;
export const SOMEBODY_ELSE = 54_322;

const PROJECT = new URL("../..", import.meta.url).pathname;

/** A command line that runs as this user, in no group of anybody's. */
export function asUser(uid: number, words: readonly string[]): string[] {
  return ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", ...words];
}

/**
 * The server under test where every user can run it: a copy in a directory, with what it needs. Its home and its
 * temporary files are there, too.
 */
export async function publicServer(directory: string): Promise<{ words: string[]; env: Record<string, string> }> {
  const { program, args } = serverCommand();
  await Deno.copyFile(await Deno.realPath(program), `${directory}/program`);
  await Deno.chmod(`${directory}/program`, 0o755);
  await Deno.mkdir(`${directory}/tmp`);
  await Deno.chmod(`${directory}/tmp`, 0o1777);
  const env = { HOME: `${directory}/tmp`, TMPDIR: `${directory}/tmp`, PATH: "/usr/bin:/bin" };
  if (args.length === 0) return { words: [`${directory}/program`], env };

  const info = JSON.parse(await output(Deno.execPath(), ["info", "--json"])) as { npmCache: string };
  const parts = ["src", "sandbox", "main.ts", "deno.json", "deno.lock"].map((name) => PROJECT + name);
  await output("cp", ["-r", ...parts, directory]);
  await Deno.mkdir(`${directory}/cache`);
  await output("cp", ["-r", info.npmCache, `${directory}/cache/npm`]);
  await output("chmod", ["-R", "a+rwX", directory]);
  const [run, ...words] = args.map((word) => word.replace(PROJECT, `${directory}/`));
  return {
    words: [`${directory}/program`, run!, "--cached-only", `--config=${directory}/deno.json`, ...words],
    env: { ...env, DENO_DIR: `${directory}/cache` },
  };
}

async function output(program: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** What a server answers a user who asks for a websocket: the status line, and the rest unless it is an upgrade. */
export async function upgradeAs(uid: number, host: string, port: number, path = "/"): Promise<string> {
  const head = [
    `GET ${path} HTTP/1.1`,
    "Host: localhost",
    ...["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="],
    ...["", ""],
  ].join("\\r\\n");
  const script = `exec 3<>/dev/tcp/${host}/${port} && printf '${head}' >&3 && IFS= read -r line <&3 && echo "$line"
    case $line in *" 101 "*) ;; *) cat <&3 ;; esac`;
  const [program, ...args] = asUser(uid, ["bash", "-c", script]);
  return await output(program!, args);
}
