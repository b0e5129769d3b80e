/** `deno task test` itself, on small trees of files. */

import assert from "node:assert/strict";
import { childrenOf } from "../support/proc.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

const RUNNER = `${ROOT}tests/run.ts`;

/** Runs the task's own words, in a directory of its own. */
async function runTests(
  directory: string,
  args: readonly string[],
  runner = RUNNER,
): Promise<{ code: number; text: string }> {
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  const words = (tasks.test as string).split(" ").slice(1);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...words.map((word) => word === "tests/run.ts" ? runner : word), ...args],
    cwd: directory,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, text: text(stdout) + text(stderr) };
}

/** Two files with a test each, and a configuration. */
async function layTests(directory: string, config: Record<string, unknown> = {}): Promise<void> {
  const { permissions } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  await Deno.writeTextFile(`${directory}/deno.json`, JSON.stringify({ permissions, ...config }));
  await Deno.mkdir(`${directory}/tests`);
  await Deno.writeTextFile(`${directory}/tests/one_test.ts`, `Deno.test("window resize", () => {});\n`);
  await Deno.writeTextFile(
    `${directory}/tests/two_test.ts`,
    `Deno.test("makes a directory", () => Deno.removeSync(Deno.makeTempDirSync()));\n`,
  );
}

Deno.test("the tests run although the runtime prints warnings beside its answers", () =>
  inScratchDirectory(async (directory) => {
    // On a machine with empty caches it reports downloads. A wrong line of an import map is reported offline, too.
    await layTests(directory, { imports: { "": "./nothing.ts" } });
    const probe = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "tests/one_test.ts"],
      cwd: directory,
    }).output();
    assert.ok(probe.stderr.length > 0, "nothing beside the answer: the test proves nothing");

    const { code, text } = await runTests(directory, []);
    assert.equal(code, 0, text);
    assert.match(text, /\nok \| 2 passed \| 0 failed \| 0 ignored/);
  }));

/** The runner, after a line for each program that it starts. */
const WATCHED_RUNNER = `
const { Command } = Deno;
Deno.Command = class extends Command {
  constructor(program, options) {
    super(program, options);
    console.error("STARTED " + JSON.stringify(options.args));
  }
};
await import(${JSON.stringify(RUNNER)});
`;

Deno.test("the runtime is asked once what all of the files import", () =>
  inScratchDirectory(async (directory) => {
    await layTests(directory);
    await Deno.writeTextFile(`${directory}/tests/three_test.ts`, `Deno.test("x", () => {});\n`);
    await Deno.writeTextFile(`${directory}/watched.js`, WATCHED_RUNNER);
    const { code, text } = await runTests(directory, ["tests"], `${directory}/watched.js`);
    assert.equal(code, 0, text);
    assert.match(text, /\nok \| 3 passed/);
    const started = [...text.matchAll(/^STARTED (.*)$/gm)].map(([, args]) => JSON.parse(args!) as string[]);
    assert.ok(started.some(([word]) => word === "test"), "nothing was seen to start: the test proves nothing");
    const questions = started.filter(([word]) => word === "info");
    assert.equal(questions.length, 1, text);
    for (const name of ["one", "two", "three"]) assert.match(questions[0]!.at(-1)!, new RegExp(`${name}_test\\.ts`));
  }));

Deno.test("a filter may be a word of its own, and one that matches nothing fails and says so", () =>
  inScratchDirectory(async (directory) => {
    await layTests(directory);
    const found = await runTests(directory, ["--filter", "resize"]);
    assert.equal(found.code, 0, found.text);
    assert.match(found.text, /\nok \| 1 passed/);

    const none = await runTests(directory, ["tests", "--filter", "resise"]);
    assert.equal(none.code, 1);
    assert.match(none.text, /FAILED: no test has a name that matches "resise"/);
  }));

Deno.test("a wrong path, a folder without tests and a missing value are named, and nothing runs", () =>
  inScratchDirectory(async (directory) => {
    await layTests(directory);
    await Deno.mkdir(`${directory}/empty`);
    for (
      const [args, message] of [
        [["tests/on_test.ts"], 'test: no such file or folder: "tests/on_test.ts"\n'],
        [["tests", "empty"], 'test: no file below "empty" ends in _test.ts\n'],
        [["--filter"], "test: --filter needs a value\n"],
      ] as const
    ) {
      assert.deepEqual(await runTests(directory, args), { code: 2, text: message });
    }
  }));

Deno.test("a test that does more than its file's imports tell of fails for want of permissions", () =>
  inScratchDirectory(async (directory) => {
    await layTests(directory);
    const path = `${directory}/tests/sly_test.ts`;
    await Deno.writeTextFile(
      path,
      `const { makeTempDirSync } = Deno;\nDeno.test("x", () => void makeTempDirSync());\n`,
    );
    const { code, text } = await runTests(directory, [path]);
    assert.equal(code, 1);
    assert.match(text, /NotCapable[^]*FAILED: .* \(-P=unit\): too few permissions, tests\/runner\/needs\.ts/);
  }));

Deno.test("tasks with folders of their own run every file in them", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  for (const name of ["attack", "fuzz", "soak"]) {
    assert.match(tasks[name], new RegExp(`^deno task test --one-at-a-time tests/${name}/\\*\\.ts$`));
    assert.ok([...Deno.readDirSync(`${ROOT}tests/${name}`)].every(({ isFile }) => isFile), `tests/${name} has folders`);
  }
});

Deno.test("everything that starts the server from source names the server's set of permissions", () => {
  const { tasks, permissions } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  assert.deepEqual(Object.values(permissions.serve), Array(7).fill(true));
  assert.deepEqual(permissions.program, { ...permissions.serve, import: true });
  for (const [task, set] of [["serve", "serve"], ["compile", "program"]]) {
    assert.match(tasks[task!], new RegExp(` -P=${set} `));
    assert.doesNotMatch(tasks[task!], /--allow|-A\b/);
  }
  const templates = Deno.readTextFileSync(`${ROOT}.ci/run`).match(/\{deno\}.*main\.ts/g) ?? [];
  assert.ok(templates.length >= 3);
  for (const template of templates) assert.match(template, /^\{deno\} run --quiet -P=serve /);
});

/** Programs of `.ci/run` that stand where a server is wanted, and start the servers themselves. */
const IN_FRONT_OF_SERVERS = ["tests/realclient/through_rendezvous.ts"];

Deno.test("what .ci/run starts for a server is the server with its set of permissions, or starts it so", async () => {
  const text = Deno.readTextFileSync(`${ROOT}.ci/run`);
  const commands = Array.from(text.matchAll(/--(?:server|stdio) (['"])(.*?)\1/g), ([, , command]) => command!);
  const programs = commands.flatMap((command) => /^\{deno\} .*?\{root\}\/(\S+\.ts)/.exec(command)?.[1] ?? []);
  assert.equal(programs.length, commands.filter((command) => command.includes("{deno}")).length);
  assert.deepEqual(new Set(programs), new Set(["main.ts", ...IN_FRONT_OF_SERVERS]));
  for (const program of IN_FRONT_OF_SERVERS) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "-A", `${ROOT}${program}`, "0"],
      env: { EXEC_SERVER_BINARY: "" },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = child.stdout.getReader();
    try {
      assert.equal((await reader.read()).done, false, `${program} has ended`);
      const servers = childrenOf(child.pid).filter(({ commandLine }) => /\/main\.ts\b/.test(commandLine));
      assert.ok(servers.length > 0, `${program} has started no server`);
      for (const { commandLine } of servers) {
        assert.match(commandLine, / -P=serve /);
        assert.doesNotMatch(commandLine, / (-A|--allow-\S+) /);
      }
    } finally {
      child.kill("SIGTERM");
      await reader.cancel();
      assert.equal((await child.status).success, true);
    }
  }
});

Deno.test("tests that start the server from source give it no more than its set of permissions", () => {
  // A list of arguments that runs the program itself, or a module of the test's own as a server.
  const starts = (text: string) =>
    (text.match(/\[[^[\]]*\]/g) ?? []).filter((list) => /\bmain\.ts[`"]/.test(list) || /^\[\s*"serve"/.test(list));
  const own = new URL(import.meta.url).pathname;
  const lists = sourceFilesBelow(`${ROOT}tests`).filter((path) => path !== own)
    .flatMap((path) => starts(Deno.readTextFileSync(path)).map((list) => ({ path, list })));
  assert.ok(lists.length >= 3, `${lists.length} lists`);
  for (const { path, list } of lists) assert.doesNotMatch(list, /"(-A|--allow-all)"/, path);
});

Deno.test("files run one at a time run in order, each with what it needs, and are summed up", () =>
  inScratchDirectory(async (directory) => {
    await layTests(directory);
    await Deno.writeTextFile(`${directory}/tests/scene.ts`, "export const nothing = 1;\n");
    const files = ["tests/two_test.ts", "tests/one_test.ts", "tests/scene.ts"];
    const { code, text } = await runTests(directory, ["--one-at-a-time", ...files]);
    assert.equal(code, 0, text);
    assert.match(text, /window resize[^]*ok \| 1 passed[^]*makes a directory[^]*ok \| 1 passed/);
    assert.match(text, /\nok \| 2 passed \| 0 failed \| 0 ignored/);
  }));

function sourceFilesBelow(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? sourceFilesBelow(path) : name.endsWith(".ts") ? [path] : [];
  });
}
