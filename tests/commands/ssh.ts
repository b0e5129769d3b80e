/**
 * The commands through `ssh://`, to an sshd of this machine: needs the compiled program, `EXEC_SERVER_BINARY`.
 *
 *     deno task test --one-at-a-time tests/commands/ssh.ts
 */

import assert from "node:assert/strict";
import { CommandHome } from "../support/command_home.ts";
import { SshHost } from "./ssh_host.ts";

const binary = Deno.env.get("EXEC_SERVER_BINARY");
const missing = binary === undefined ? "EXEC_SERVER_BINARY names no compiled program" : await SshHost.missing();
const ignore = missing !== null;
const named = (name: string) => ignore ? `${name} (skipped: ${missing})` : name;

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

Deno.test({
  name: named("--install puts this program on a host without it, and exec runs there; again nothing is sent"),
  ignore,
  async fn() {
    await using home = await CommandHome.make();
    await using host = await SshHost.start({ path: SYSTEM_PATH });
    const env = { PATH: `${host.bin}:${Deno.env.get("PATH")}` };
    const exec = ["exec", "--url", "ssh://devbox"];
    const without = await home.run([...exec, "true"], { env });
    assert.equal(without.code, 255);
    assert.match(without.stderr, /there is no exec-server on that machine; --install copies this one there/);
    try {
      const first = await home.run([...exec, "--install", "sh", "-c", "pwd; exit 4"], { env });
      assert.deepEqual([first.code, first.stdout], [4, `${host.home}\n`], first.stderr);
      assert.match(first.stderr, /copying this program to devbox/);
      const there = await Deno.readFile(`${host.home}/.local/bin/exec-server`);
      assert.equal(there.length, (await Deno.stat(binary!)).size);
      const again = await home.run([...exec, "--install", "echo", "hi"], { env });
      assert.deepEqual([again.code, again.stdout, again.stderr], [0, "hi\n", ""]);
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      const echoed = await home.run([...exec, "-i", "cat"], { env, input: bytes });
      assert.deepEqual(echoed.bytes, bytes);
      assert.deepEqual(await home.servers(), [], "nothing was started here");
    } finally {
      await host.endServers();
    }
  },
});

Deno.test({
  name: named("a process that was left running is found again through another ssh connection"),
  ignore,
  async fn() {
    await using home = await CommandHome.make();
    await using host = await SshHost.start({ path: `${binary!.replace(/\/[^/]*$/, "")}:${SYSTEM_PATH}` });
    const env = { PATH: `${host.bin}:${Deno.env.get("PATH")}`, EXEC_SERVER_URL: "ssh://devbox" };
    try {
      const script = "echo begun; read x; echo got:$x; exit 3";
      const left = await home.run(["exec", "--detach", "-t", "--name", "job", "--", "sh", "-c", script], { env });
      assert.equal(left.code, 0, left.stderr);
      const attached = await home.run(["attach", "job"], { env, input: "hello\n" });
      assert.equal(attached.code, 3, attached.stderr);
      assert.match(attached.stdout, /begun[\s\S]*got:hello/);
      const dialled = await home.run(["dial", "ssh://devbox"], {
        env,
        input: '{"id":1,"method":"initialize","params":{"clientName":"t"}}\n',
      });
      assert.equal(JSON.parse(dialled.stdout.trim()).id, 1, dialled.stderr);
    } finally {
      await host.endServers();
    }
  },
});

/** Far longer than anything waited for takes on a busy machine. */
const LIMIT_MS = 60_000;

/** A host that has the program, and its commands. */
async function onHost(
  body: (
    run: (...words: string[]) => ReturnType<CommandHome["run"]>,
    home: CommandHome,
    host: SshHost,
  ) => Promise<void>,
): Promise<void> {
  await using home = await CommandHome.make();
  await using host = await SshHost.start({ path: `${binary!.replace(/\/[^/]*$/, "")}:${SYSTEM_PATH}` });
  const env = environment(host);
  try {
    await body((...words) => home.run(words, { env }), home, host);
  } finally {
    await host.endServers();
  }
}

function environment(host: SshHost): Record<string, string> {
  return { PATH: `${host.bin}:${Deno.env.get("PATH")}`, EXEC_SERVER_URL: "ssh://devbox" };
}

async function becomes(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!await holds()) assert.ok(performance.now() < deadline, `not within ${LIMIT_MS} ms: ${holds}`);
}

function ok({ code, stderr }: { code: number; stderr: string }): void {
  assert.deepEqual([code, stderr], [0, ""]);
}

Deno.test({
  name: named("files are copied, listed, printed and removed on another machine, and paths are relative to home there"),
  ignore,
  fn: () =>
    onHost(async (run, home, host) => {
      await Deno.mkdir(`${home.path}/tree/sub`, { recursive: true });
      await Deno.writeFile(`${home.path}/tree/sub/bytes`, crypto.getRandomValues(new Uint8Array(60_000)));
      await Deno.writeTextFile(`${home.path}/tree/run.sh`, "#!/bin/sh\n", { mode: 0o755 });
      await Deno.symlink("run.sh", `${home.path}/tree/link`);
      ok(await run("cp", "tree", ":there"));
      ok(await run("cp", ":there", "back"));
      for (const place of [`${host.home}/there`, `${home.path}/back`]) {
        assert.deepEqual(
          await Deno.readFile(`${place}/sub/bytes`),
          await Deno.readFile(`${home.path}/tree/sub/bytes`),
        );
        assert.equal((await Deno.stat(`${place}/run.sh`)).mode! & 0o777, 0o755);
        assert.equal(await Deno.readLink(`${place}/link`), "run.sh");
      }
      assert.equal((await run("ls", "there")).stdout, "link\nrun.sh\nsub\n");
      assert.equal((await run("cat", "~/there/run.sh")).stdout, "#!/bin/sh\n");
      assert.deepEqual((await run("cat", "there/sub/bytes")).bytes, await Deno.readFile(`${home.path}/tree/sub/bytes`));
      ok(await run("rm", "-r", "there"));
      assert.equal((await run("ls", "there")).code, 1);
      assert.equal(JSON.parse((await run("info", "--json")).stdout).home, host.home);
    }),
});

Deno.test({
  name: named("processes on another machine are listed, read, signalled, and their ports led to"),
  ignore,
  fn: () =>
    onHost(async (run, home, host) => {
      await Deno.writeTextFile(`${host.home}/index.html`, "hello from there");
      const serve = ["python3", "-um", "http.server", "0", "--bind", "127.0.0.1"];
      ok(await run("exec", "--detach", "--name", "web", ...serve));
      assert.deepEqual(JSON.parse((await run("ps", "--json")).stdout).map(({ name }: { name: string }) => name), [
        "web",
      ]);
      let found: { port: number; name: string }[] = [];
      await becomes(async () => (found = JSON.parse((await run("ports", "--json")).stdout)).length === 1);
      const { port } = found[0]!;

      const [program, ...args] = home.words(["tunnel", "--json", `0:${port}`]);
      const env = { ...home.env, ...environment(host) };
      const tunnel = new Deno.Command(program, { args, clearEnv: true, env, stdout: "piped" }).spawn();
      const reader = tunnel.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const { local } = JSON.parse((await reader.read()).value!);
      assert.equal(await (await fetch(`http://${local}/`)).text(), "hello from there");
      tunnel.kill("SIGINT");
      assert.equal((await tunnel.status).code, 0);
      await reader.cancel();

      await becomes(async () => (await run("logs", "--tail", "1", "web")).stderr.includes("GET /"));
      ok(await run("kill", "web"));
      const ended = await run("logs", "-f", "--json", "web");
      const { exitCode } = JSON.parse(ended.stdout.trim().split("\n").at(-1)!);
      assert.equal(exitCode, 143);
      assert.deepEqual(JSON.parse((await run("ps", "--json")).stdout), []);
    }),
});

Deno.test({
  name: named("cp goes on when ssh is killed in the middle"),
  ignore,
  fn: () =>
    onHost(async (run, home, host) => {
      // Sparse: quick to make, and as long to copy as any other.
      const bytes = 64 * 1024 * 1024;
      using file = await Deno.open(`${home.path}/large`, { write: true, create: true });
      await file.truncate(bytes);
      await file.seek(bytes - 4, Deno.SeekMode.Start);
      await file.write(new TextEncoder().encode("end\n"));
      const copying = run("cp", "large", ":large");
      await becomes(async () => {
        for await (const { name } of Deno.readDir(host.home)) if (name.endsWith(".part")) return true;
        return false;
      });
      for (const pid of await host.clients()) Deno.kill(pid, "SIGKILL");
      ok(await copying);
      assert.deepEqual(await Deno.readFile(`${host.home}/large`), await Deno.readFile(`${home.path}/large`));
    }),
});
