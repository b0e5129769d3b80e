/**
 * The same attacks by a user without any rights, where the tests run as root: in a copy of the project that everybody can
 * read, with a cache of its own.
 */

import assert from "node:assert/strict";
import { joinChildCgroup, leaveChildCgroup } from "../../src/os/children/child_cgroup.ts";
import { until } from "../support/until.ts";
import { GIVEN_PROCFS, IN_OWN_MOUNTS } from "../support/foreign_procfs.ts";
import { BACKENDS, ONLY_ROOT } from "./scene.ts";

/** Where there is a procfs in another place. */
const WITH_PROCFS = ["kernel_mounts.ts"];
/** In a control group that is the user's own, as a login's service manager delegates one. */
const IN_OWN_GROUP = ["storms.ts", "fork_storms.ts"];

/** What lies beside this file, but for itself and what holds no tests. */
const ATTACKS = Array.from(Deno.readDirSync(new URL(".", import.meta.url)), ({ name }) => name)
  .filter((name) =>
    name.endsWith(".ts") && !["unprivileged.ts", "scene.ts", "reads.ts", ...WITH_PROCFS, ...IN_OWN_GROUP].includes(name)
  )
  .sort();

const pathsOf = (names: readonly string[]) => names.map((name) => `tests/attack/${name}`);

/** Attack nothing, but need the server to have rights over what it has confined. */
const WATCHED = [
  "command_ends",
  "escalated_programs",
  "escalated_signals",
  "orphaned_jobs",
  "passing_obstacles",
  "patched_bash",
  "patched_programs",
  "standby",
  "undecodable_words",
  "supervised_shells",
];
/** Skipped also where root runs the tests, unless one is named. */
const NO_PATCHED_BASH = "CODEX_BASH_PATH names no patched Bash";

/** Races are long proofs. The last ones are no attacks, and need the same rights. */
const SUITES = [
  ...pathsOf(ATTACKS),
  "tests/prove/execs.ts",
  "tests/prove/strict_execs.ts",
  "tests/process/posix/network_denials_test.ts",
  "tests/process/supervised/strict_exec_test.ts",
  ...WATCHED.map((name) => `tests/mcp/${name}_test.ts`),
];
const NOBODY = 65534;
const PROJECT = new URL("../..", import.meta.url).pathname;

async function run(program: string, args: readonly string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], ...options }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, text);
  return text;
}

/** Hands on how to run a command in a group that is nobody's. Does nothing where there are no groups to be made. */
async function inOwnGroup(work: (enter: readonly string[]) => Promise<string>): Promise<string> {
  const home = (await joinChildCgroup())?.home;
  await leaveChildCgroup();
  if (home === undefined) return "";
  const group = `${home}/attack-${crypto.randomUUID()}`;
  await Deno.mkdir(group);
  try {
    for (const name of ["", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"]) {
      await Deno.chown(`${group}${name}`, NOBODY, NOBODY);
    }
    return await work(["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group]);
  } finally {
    // The guard of a server that was killed has yet to look for what it left.
    await until(() => isRemoved(group), () => `${group} is in use`);
  }
}

function isRemoved(directory: string): boolean {
  try {
    Deno.removeSync(directory);
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: Deno.uid() === 0
    ? "nobody: every attack fails"
    : "nobody: every attack fails (SKIPPED: these tests are not root)",
  ignore: Deno.uid() !== 0,
  async fn() {
    const directory = await Deno.makeTempDir({ prefix: "attack-" });
    try {
      const cache = (await run(Deno.execPath(), ["info", "--json"])).match(/"npmCache": "([^"]+)"/)?.[1];
      assert.ok(cache !== undefined);
      await run("cp", [
        "-r",
        ...["src", "sandbox", "tests", "main.ts", "deno.json", "deno.lock"].map((name) => PROJECT + name),
        directory,
      ]);
      await Deno.mkdir(`${directory}/cache`);
      await run("cp", ["-r", cache, `${directory}/cache/npm`]);
      await Deno.copyFile(await Deno.realPath(Deno.execPath()), `${directory}/deno`);
      await Deno.mkdir(`${directory}/tmp`);
      await run("chown", ["-R", `${NOBODY}:${NOBODY}`, directory]);
      const procfs = `${directory}/procfs`;
      await Deno.mkdir(procfs);
      const env = {
        PATH: "/usr/bin:/bin",
        HOME: directory,
        TMPDIR: `${directory}/tmp`,
        DENO_DIR: `${directory}/cache`,
        NO_COLOR: "1",
      };
      const test = [
        "setpriv",
        `--reuid=${NOBODY}`,
        `--regid=${NOBODY}`,
        "--clear-groups",
        `${directory}/deno`,
        "test",
        "--no-check",
        "--cached-only",
        "--allow-all",
      ];
      const runAs = async ([program, ...args]: readonly string[], more: Record<string, string> = {}) =>
        await run(program!, args, { cwd: directory, env: { ...env, ...more }, clearEnv: true });
      const mount = [...IN_OWN_MOUNTS, "sh", "-c", 'mount -t proc proc "$0" && exec "$@"', procfs];
      const text = await runAs([...test, ...SUITES]) +
        await runAs([...mount, ...test, ...pathsOf(WITH_PROCFS)], { [GIVEN_PROCFS]: procfs }) +
        await inOwnGroup((enter) => runAs([...enter, ...test, ...pathsOf(IN_OWN_GROUP)]));
      for (const backend of BACKENDS) assert.match(text, new RegExp(`unprivileged, ${backend}: .* ok`));
      // What this machine cannot do is skipped here as it is for root; nothing else is.
      const skipped = text.split("\n").filter((line) =>
        line.includes("SKIPPED") && !line.includes(ONLY_ROOT) && !line.includes(NO_PATCHED_BASH)
      );
      assert.deepEqual(skipped, []);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
