/** ps, logs, kill, cp, cat, ls, rm, ports, tunnel and info, as people type them, against a real server. */

import assert from "node:assert/strict";
import { CommandHome } from "../support/command_home.ts";
import { TestServer } from "../support/test_server.ts";

type Run = (...words: string[]) => ReturnType<CommandHome["run"]>;

/** Far longer than anything waited for takes on a busy machine. */
const LIMIT_MS = 60_000;

/** Types a command again until it says this. */
async function becomes(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!await holds()) assert.ok(performance.now() < deadline, `not within ${LIMIT_MS} ms: ${holds}`);
}

/** A home, and a server whose user lives in it. */
async function onServer(body: (run: Run, home: CommandHome, url: string) => Promise<void>): Promise<void> {
  await using home = await CommandHome.make();
  await using server = await TestServer.start({ args: ["--allow-tunnel"], env: { HOME: home.path } });
  await body((...words) => home.run(words, { env: { EXEC_SERVER_URL: server.url } }), home, server.url);
}

Deno.test("a process that was left running is listed, read, and ended by name", () =>
  onServer(async (run) => {
    const script = "echo one; echo two; printf three; exec sleep 1000";
    const { stdout: id } = await run("exec", "--detach", "--name", "job", "sh", "-c", script);
    const { stdout: plain } = await run("exec", "--detach", "--name", "pipes", "sh", "-c", "echo one; echo two >&2");
    const list = JSON.parse((await run("ps", "-a", "--json")).stdout);
    const job = list.find(({ name }: { name: string }) => name === "job");
    assert.equal(job.id, id.trim());
    assert.deepEqual(job.argv, ["sh", "-c", script]);
    assert.match((await run("ps")).stdout, /^ID +NAME .*\n[0-9a-z]{12} +job .* running /s);

    await becomes(async () => (await run("logs", "job")).stdout.endsWith("three"));
    assert.equal((await run("logs", "job")).stdout, "one\ntwo\nthree");
    assert.equal((await run("logs", "--tail", "2", "job")).stdout, "two\nthree");
    const followed = await run("logs", "-f", plain.trim());
    assert.deepEqual([followed.stdout, followed.stderr], ["one\n", "two\n"]);
    const lines = (await run("logs", "--json", "--since", "1", plain.trim().slice(0, 8))).stdout.trim().split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(lines.at(-1), { type: "end", closed: true, exitCode: 0, nextSeq: lines.at(-1).nextSeq });
    assert.ok(lines.every(({ type, seq }) => type === "end" || seq > 1));

    assert.equal((await run("kill", "-s", "NOPE", "job")).code, 125);
    assert.equal((await run("kill", "-s", "HUP", "job")).code, 0);
    await becomes(async () => JSON.parse((await run("ps", "--json")).stdout).length === 0);
    const again = await run("kill", "job");
    assert.deepEqual([again.code, again.stderr], [125, 'exec-server: cannot send a signal to "job": it has ended\n']);
    const missing = await run("logs", "nobody");
    assert.deepEqual([missing.code, missing.stdout], [125, ""]);
    assert.match(missing.stderr, /there is no process "nobody": exec-server ps -a lists them/);

    await run("exec", "--detach", "--name", "tree", "sh", "-c", "trap '' TERM; sleep 1000 & wait; wait");
    assert.equal((await run("kill", "--tree", "tree")).code, 0);
    await becomes(async () => JSON.parse((await run("ps", "--json")).stdout).length === 0);
  }));

Deno.test("output that is not retained any more is reported", () =>
  onServer(async (run) => {
    await run(
      "exec",
      "--detach",
      "--name",
      "long",
      "sh",
      "-c",
      "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end",
    );
    const { stdout, stderr } = await run("logs", "-f", "long");
    assert.match(stdout, /x\nend\n$/);
    assert.match(stderr, /^exec-server: \d+ bytes after number 0 are no longer kept\n/);
  }));

Deno.test("cp, ls, cat and rm work on files as people expect", () =>
  onServer(async (run, home) => {
    const at = (name: string) => `${home.path}/${name}`;
    await Deno.mkdir(at("tree/sub"), { recursive: true });
    await Deno.writeTextFile(at("tree/sub/run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    await Deno.writeTextFile(at("tree/.hidden"), "h");
    await Deno.writeTextFile(at("tree/junk.log"), "j");
    await Deno.symlink("sub/run.sh", at("tree/link"));
    await Deno.utime(at("tree/sub/run.sh"), 1, 1_000_000_000);

    const there = await run("cp", "--json", "--ignore", "*.log", "tree", ":there");
    assert.deepEqual([there.code, there.stderr], [0, ""]);
    assert.deepEqual(JSON.parse(there.stdout), {
      files: 2,
      bytes: 11,
      directories: 2,
      links: 1,
      skipped: [],
      failures: [],
    });
    assert.equal((await run("cp", ":there/sub", ":there/link", "tree/")).code, 0);
    assert.equal(await Deno.readTextFile(at("tree/link")), "#!/bin/sh\n");
    const info = await Deno.stat(at("there/sub/run.sh"));
    assert.deepEqual([info.mode! & 0o777, info.mtime!.getTime()], [0o755, 1_000_000_000_000]);

    assert.equal((await run("ls", "there")).stdout, "link\nsub\n");
    assert.equal((await run("ls", "-a", "there")).stdout, ".hidden\nlink\nsub\n");
    assert.match((await run("ls", "-l", "there")).stdout, /^lrwxrwxrwx .* link -> sub\/run\.sh\ndrwx/);
    const [{ directory, entries }] = JSON.parse((await run("ls", "--json", "there/sub")).stdout);
    assert.equal(directory, at("there/sub"));
    assert.deepEqual([entries[0].name, entries[0].kind, entries[0].mode], ["run.sh", "file", 0o755]);

    assert.equal((await run("cat", "there/sub/run.sh", at("there/.hidden"))).stdout, "#!/bin/sh\nh");
    const part = await run("cat", "there/none", "there/.hidden");
    assert.deepEqual([part.code, part.stdout], [1, "h"]);
    assert.match(part.stderr, /^exec-server: there\/none: No such file/);

    assert.match((await run("rm", "there")).stderr, /is a directory: use -r/);
    assert.equal((await run("rm", "/")).code, 1);
    assert.equal((await run("rm", "there/none")).code, 1);
    assert.equal((await run("rm", "-f", "there/none")).code, 0);
    assert.equal((await run("rm", "-r", "there")).code, 0);
    assert.equal(await Deno.stat(at("there")).then(() => true, () => false), false);

    const none = await run("cp", "nothing", ":x");
    assert.equal(none.code, 1);
    assert.match(none.stderr, /nothing/);
    assert.equal((await run("cp", "tree", "other")).code, 125);
  }));

const IS_COMPILED = Deno.env.has("EXEC_SERVER_BINARY");

Deno.test({
  name: "cp takes files of the kernel, and goes where paths of the kernel lead" +
    (IS_COMPILED ? "" : " (SKIPPED: only the compiled program may open them)"),
  ignore: !IS_COMPILED,
  fn: () =>
    onServer(async (run, home) => {
      for (const words of [["/proc/self/status", ":status"], [":status", "/proc/self/cwd/again"]]) {
        const { code, stderr } = await run("cp", ...words);
        assert.deepEqual([code, stderr], [0, ""]);
      }
      const text = await Deno.readTextFile(`${home.path}/again`);
      assert.match(text, /^Name:/);
      assert.equal(await Deno.readTextFile(`${home.path}/status`), text);
    }),
});

Deno.test("cp that is interrupted leaves no part behind and says by which signal", () =>
  onServer(async (run, home, url) => {
    using file = await Deno.open(`${home.path}/large`, { write: true, create: true });
    // Sparse, and long enough to be met in the middle.
    await file.truncate(4 * 1024 ** 3);
    const parts = async (directory: string) =>
      (await Array.fromAsync(Deno.readDir(directory))).filter(({ name }) => name.endsWith(".part"));
    for (const [signal, code] of [["SIGHUP", 129], ["SIGINT", 130], ["SIGTERM", 143]] as const) {
      const directory = await Deno.makeTempDir({ dir: home.path });
      const [program, ...args] = home.words(["cp", "large", `:${directory}/`]);
      const env = { ...home.env, EXEC_SERVER_URL: url };
      const copying = new Deno.Command(program, { args, cwd: home.path, clearEnv: true, env, stderr: "null" }).spawn();
      await becomes(async () => (await parts(directory)).length > 0);
      copying.kill(signal);
      assert.deepEqual([(await copying.status).code, await parts(directory)], [code, []]);
    }
    assert.equal((await run("exec", "true")).code, 0);
  }));

Deno.test("a web server is found by ports and read through a tunnel", () =>
  onServer(async (run, home, url) => {
    const page = await Deno.makeTempDir({ dir: home.path });
    await Deno.writeTextFile(`${page}/index.html`, "hello from the box");
    await run(
      "exec",
      "--detach",
      "--name",
      "web",
      "-C",
      page,
      "python3",
      "-um",
      "http.server",
      "0",
      "--bind",
      "127.0.0.1",
    );
    type Found = { port: number; name: string }[];
    let found: Found = [];
    await becomes(async () => (found = JSON.parse((await run("ports", "--json")).stdout)).length === 1);
    assert.equal(found[0]!.name, "web");
    assert.match((await run("ports")).stdout, new RegExp(`^PORT .*\n${found[0]!.port} +127\\.0\\.0\\.1 .* web `, "s"));

    const [program, ...args] = home.words(["tunnel", "--json", `0:${found[0]!.port}`]);
    const tunnel = new Deno.Command(program, {
      args,
      clearEnv: true,
      env: { ...home.env, EXEC_SERVER_URL: url },
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = tunnel.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { local, remote } = JSON.parse((await reader.read()).value!);
    assert.equal(remote, found[0]!.port);
    const pages = await Promise.all(Array.from({ length: 8 }, () => fetch(`http://${local}/`).then((r) => r.text())));
    assert.deepEqual(new Set(pages), new Set(["hello from the box"]));
    tunnel.kill("SIGTERM");
    assert.equal((await tunnel.status).code, 0);
    await reader.cancel();
    await run("kill", "--tree", "web");
  }));

Deno.test("info describes the server; wrong words are named", () =>
  onServer(async (run, home, url) => {
    const report = JSON.parse((await run("info", "--json")).stdout);
    assert.equal(report.home, home.path);
    assert.match(report.serverVersion, /exec-server/);
    assert.ok(report.capabilities.includes("fsList"));
    assert.match((await run("info")).stdout, /^place +ws:.*\nthis program /);
    for (const command of ["ps", "logs", "kill", "cp", "cat", "ls", "rm", "ports", "tunnel", "info"]) {
      const help = await run(command, "--help");
      assert.equal(help.code, 0);
      assert.ok((help.stdout.match(new RegExp(`^  exec-server ${command}\\b`, "gm")) ?? []).length >= 2, help.stdout);
      const wrong = await run(command, "--nonsense");
      assert.deepEqual([wrong.code, wrong.stdout], [125, ""]);
    }
    const reached = JSON.parse((await run("doctor", "--url", url, "--json")).stdout);
    assert.deepEqual([reached.abilities.netConnect, reached.abilities.fsList], [true, true]);
    assert.match((await run("doctor", "--url", url)).stdout, /^ {2}ok {2}reached ws:.* it answers in /);
    assert.equal((await run("doctor", "--url", "ws://127.0.0.1:1")).code, 255);
    const nowhere = await run("ps", "--url", "ws://127.0.0.1:1");
    assert.equal(nowhere.code, 255);
  }));
