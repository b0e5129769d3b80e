/**
 * A machine to reach by ssh: Debian's sshd on a high port of loopback, with keys made for this test and a home of its own,
 * and an `ssh` that knows it by the name `devbox`. Nobody's `~/.ssh` is read or written.
 */

import { ownServers } from "../support/command_home.ts";

export class SshHost implements AsyncDisposable {
  /** Put in front of PATH: its `ssh` reads this host's configuration alone. */
  readonly bin: string;
  /** The home of whoever logs in. */
  readonly home: string;
  readonly #directory: string;
  readonly #sshd: Deno.ChildProcess;

  private constructor(directory: string, sshd: Deno.ChildProcess) {
    this.#directory = directory;
    this.#sshd = sshd;
    this.bin = `${directory}/bin`;
    this.home = `${directory}/home`;
  }

  /** Why there is none on this machine; null: there is. */
  static async missing(): Promise<string | null> {
    for (const program of ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"]) {
      if (!await Deno.stat(program).then(() => true, () => false)) return `${program} is not installed`;
    }
    return null;
  }

  /** `path` is the PATH of whoever logs in. */
  static async start({ path }: { readonly path: string }): Promise<SshHost> {
    const directory = await Deno.makeTempDir({ prefix: "exec-server-ssh-" });
    for (const name of ["bin", "home"]) await Deno.mkdir(`${directory}/${name}`);
    for (const name of ["host_key", "user_key"]) {
      await run("/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", `${directory}/${name}`]);
    }
    await Deno.copyFile(`${directory}/user_key.pub`, `${directory}/authorized_keys`);
    await Deno.mkdir("/run/sshd", { recursive: true }).catch(() => {});
    const port = freePort();
    await Deno.writeTextFile(
      `${directory}/sshd_config`,
      [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${directory}/host_key`,
        `AuthorizedKeysFile ${directory}/authorized_keys`,
        `PidFile none`,
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "PermitRootLogin yes",
        "LogLevel VERBOSE",
        `SetEnv HOME=${directory}/home PATH=${path} XDG_STATE_HOME=${directory}/home/.local/state`,
        "",
      ].join("\n"),
    );
    await Deno.writeTextFile(
      `${directory}/ssh_config`,
      [
        "Host devbox",
        "  HostName 127.0.0.1",
        `  Port ${port}`,
        `  IdentityFile ${directory}/user_key`,
        "  IdentitiesOnly yes",
        `  UserKnownHostsFile ${directory}/known_hosts`,
        "  StrictHostKeyChecking accept-new",
        "",
      ].join("\n"),
    );
    await Deno.writeTextFile(
      `${directory}/bin/ssh`,
      `#!/bin/sh\nexec /usr/bin/ssh -F ${directory}/ssh_config "$@"\n`,
      { mode: 0o755 },
    );
    const sshd = new Deno.Command("/usr/sbin/sshd", {
      args: ["-D", "-e", "-f", `${directory}/sshd_config`],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    await untilSays(sshd.stderr, "Server listening on");
    return new SshHost(directory, sshd);
  }

  /** The ssh programs that lead here. */
  async clients(): Promise<number[]> {
    const pids: number[] = [];
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const words = (await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "")).split("\0");
      if (words[0] === "/usr/bin/ssh" && words.includes(`${this.#directory}/ssh_config`)) pids.push(Number(name));
    }
    return pids;
  }

  /** The servers that commands have started here. */
  async endServers(): Promise<void> {
    for (const pid of await ownServers(`${this.home}/.local/state/exec-server`)) Deno.kill(pid, "SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sshd.kill("SIGTERM");
    await this.#sshd.status;
    await Deno.remove(this.#directory, { recursive: true });
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr)}`);
}

/** Reads on afterwards, so that sshd never waits. */
async function untilSays(stream: ReadableStream<Uint8Array<ArrayBuffer>>, text: string): Promise<void> {
  let said = "";
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  while (!said.includes(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`sshd ended: ${said}`);
    said += value;
  }
  (async () => {
    while (!(await reader.read()).done);
  })();
}
