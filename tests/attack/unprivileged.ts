/**
 * The same attacks by a user without any rights, where the tests run as root: in a copy of the project that everybody can
 * read, with a cache of its own.
 */

import assert from "node:assert/strict";
import { BACKENDS, ONLY_ROOT } from "./scene.ts";

/** The last one attacks nothing, but what it tests needs the server to have rights over what it has confined. */
const SUITES = [
  ...["files", "processes", "kernel", "helpers", "server", "landlock_policies"].map((name) =>
    `tests/attack/${name}.ts`
  ),
  "tests/process/network_denials_test.ts",
];
const NOBODY = 65534;
const PROJECT = new URL("../..", import.meta.url).pathname;

async function run(program: string, args: readonly string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], ...options }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, text);
  return text;
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
      const env = {
        PATH: "/usr/bin:/bin",
        HOME: directory,
        TMPDIR: `${directory}/tmp`,
        DENO_DIR: `${directory}/cache`,
        NO_COLOR: "1",
      };
      const text = await run(
        "setpriv",
        [
          `--reuid=${NOBODY}`,
          `--regid=${NOBODY}`,
          "--clear-groups",
          `${directory}/deno`,
          "test",
          "--no-check",
          "--cached-only",
          "--allow-all",
          ...SUITES,
        ],
        { cwd: directory, env, clearEnv: true },
      );
      for (const backend of BACKENDS) assert.match(text, new RegExp(`unprivileged, ${backend}: .* ok`));
      // What this machine cannot do is skipped here as it is for root; nothing else is.
      const skipped = text.split("\n").filter((line) => line.includes("SKIPPED") && !line.includes(ONLY_ROOT));
      assert.deepEqual(skipped, []);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
