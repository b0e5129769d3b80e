/**
 * The black-box suite for `shell` servers (`CHECKS`/mcp/suite.mjs) on ours: with the stock shell, with a patched Bash
 * where one is installed (`CODEX097_DIR`), and, where this is root and the server is compiled, both as an ordinary user.
 */

import { serverCommand } from "../support/test_server.ts";

const NOBODY = "65534";

interface Run {
  readonly name: string;
  /** The server's own words. */
  readonly server: readonly string[];
  /** As an ordinary user, in this directory of its own. */
  readonly directory?: string;
  /** Only the cases whose names have this in them. */
  readonly only?: string;
  /** Instead of our own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const checks = Deno.env.get("CHECKS");
if (checks === undefined) {
  console.error("CHECKS is not set: the directory that holds mcp/suite.mjs");
  Deno.exit(2);
}
const suite = `${Deno.realPathSync(checks)}/mcp/suite.mjs`;
const isRoot = Deno.uid() === 0;
const { program, args } = serverCommand();
const server = [program, ...args, "mcp"];
const counts = { passed: 0, failed: 0 };

await judge({ name: "with the stock shell", server });
const bash = await patchedBash();
await judgePatched({ name: "with a patched Bash", server, bash });
if (!isRoot) console.log("SKIPPED: as another user, with either Bash (this is an ordinary one)");
else if (args.length > 0) console.log("SKIPPED: as an ordinary user, with either Bash (the server is not compiled)");
else await asOrdinaryUser();
console.log(`${counts.passed} passed, ${counts.failed} failed`);
Deno.exit(counts.failed === 0 ? 0 : 1);

async function judgePatched({ bash, ...run }: Run & { readonly bash: string | null }): Promise<void> {
  if (bash === null) return console.log(`SKIPPED: ${run.name} (CODEX097_DIR names none that runs here)`);
  const patched = { ...run, server: [...run.server, "--bash", bash] };
  // That Bash loses an entry of a program's environment now and then; which one depends on the others. So its runs
  // get environments that are the same everywhere.
  const few = pick("PATH", "HOME", "DENO_DIR");
  await judge({ ...patched, env: { ...few, LOGNAME: "root" } });
  const only = "environment";
  await judge({ ...patched, name: `${run.name}, ${only}`, only, env: { ...few, TERM: "xterm" } });
}

async function judge({ name, server, directory, only, env }: Run): Promise<void> {
  console.log(`--- ${name}`);
  const deno = directory === undefined ? Deno.execPath() : `${directory}/deno`;
  const path = directory === undefined ? suite : `${directory}/checks/mcp/suite.mjs`;
  const words = [deno, "run", "--quiet", "--allow-all", path, ...(only ? ["--only", only] : []), "--", ...server];
  const command = directory === undefined
    ? words
    : ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", ...words];
  const { stdout } = await new Deno.Command(command[0]!, {
    args: command.slice(1),
    env: { ...env, ...(directory === undefined ? {} : { HOME: directory, DENO_DIR: `${directory}/cache` }) },
    clearEnv: env !== undefined,
    ...(directory === undefined ? {} : { cwd: directory }),
    stderr: "inherit",
  }).output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  const passed = lines.filter((line) => line.startsWith("PASS ")).length;
  const failed = lines.filter((line) => line.startsWith("FAIL ")).length;
  lines.forEach((line, index) => {
    if (line.startsWith("FAIL ")) console.log(`${line}\n${lines[index + 1]}`);
  });
  counts.passed += passed;
  // A suite that does not run at all has failed.
  counts.failed += passed + failed === 0 ? 1 : failed;
}

function pick(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, Deno.env.get(name)]).filter(([, value]) => value !== undefined));
}

/** One of the builds of the npm package that runs on this system. */
async function patchedBash(): Promise<string | null> {
  const root = Deno.env.get("CODEX097_DIR");
  if (root === undefined) return null;
  const cpu = Deno.build.arch === "aarch64" ? "aarch64" : "x86_64";
  const builds = `${root}/node_modules/@openai/codex-shell-tool-mcp/vendor/${cpu}-unknown-linux-musl/bash`;
  try {
    // In an order of its own: that of a directory differs between machines.
    for (const name of Array.from(Deno.readDirSync(builds), ({ name }) => name).sort()) {
      const path = `${builds}/${name}/bash`;
      const { success } = await new Deno.Command(path, { args: ["-c", ":"], stderr: "null" }).output();
      if (success) return path;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return null;
}

/** With copies of all that it needs: what is root's may be in places that others cannot read. */
async function asOrdinaryUser(): Promise<void> {
  const directory = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "mcp-suite-" });
  try {
    await Deno.copyFile(Deno.execPath(), `${directory}/deno`);
    await Deno.copyFile(program, `${directory}/exec-server`);
    if (bash !== null) await Deno.copyFile(bash, `${directory}/bash`);
    const copy = ["-r", Deno.realPathSync(checks!), `${directory}/checks`];
    await new Deno.Command("cp", { args: copy }).output();
    await new Deno.Command("chown", { args: ["-R", `${NOBODY}:${NOBODY}`, directory] }).output();
    const run = { name: "as an ordinary user", server: [`${directory}/exec-server`, "mcp"], directory };
    await judge(run);
    await judgePatched({ ...run, name: `${run.name}, with a patched Bash`, bash: bash && `${directory}/bash` });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
