/**
 * The commands through `ssh://`, to an sshd of this machine: needs the compiled program, `EXEC_SERVER_BINARY`.
 *
 *     deno test --allow-all tests/commands/ssh.ts
 */

import assert from "node:assert/strict";
import { CommandHome, ownServers } from "../support/command_home.ts";
import { SshHost } from "./ssh_host.ts";

const binary = Deno.env.get("EXEC_SERVER_BINARY");
const missing = binary === undefined ? "EXEC_SERVER_BINARY names no compiled program" : await SshHost.missing();
const ignore = missing !== null;
const named = (name: string) => ignore ? `${name} (skipped: ${missing})` : name;

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

async function endServers(host: SshHost): Promise<void> {
  for (const pid of await ownServers(`${host.home}/.local/state/exec-server`)) Deno.kill(pid, "SIGTERM");
}

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
    assert.match(without.stderr, /there is no exec-server on that machine; --install puts this one there/);
    try {
      const first = await home.run([...exec, "--install", "sh", "-c", "pwd; exit 4"], { env });
      assert.deepEqual([first.code, first.stdout], [4, `${host.home}\n`], first.stderr);
      assert.match(first.stderr, /putting this program on devbox/);
      const there = await Deno.readFile(`${host.home}/.local/bin/exec-server`);
      assert.equal(there.length, (await Deno.stat(binary!)).size);
      const again = await home.run([...exec, "--install", "echo", "hi"], { env });
      assert.deepEqual([again.code, again.stdout, again.stderr], [0, "hi\n", ""]);
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      const echoed = await home.run([...exec, "-i", "cat"], { env, input: bytes });
      assert.deepEqual(echoed.bytes, bytes);
      assert.deepEqual(await home.servers(), [], "nothing was started here");
    } finally {
      await endServers(host);
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
      await endServers(host);
    }
  },
});
