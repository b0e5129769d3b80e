/** The set-up of docs/rendezvous.md is done as it stands there, with a certificate of an authority made for it. */

import assert from "node:assert/strict";
import { makeAuthority } from "../support/certificates.ts";
import { areInstalled } from "../support/installed.ts";
import { inScratchDirectory, modeOf } from "../support/scratch_directory.ts";
import { serverCommand, ServerLog } from "../support/test_server.ts";
import { missingTls } from "../support/test_tls.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/rendezvous.md", import.meta.url));
const OBSTACLE = areInstalled(["openssl"], "the set-up of docs/rendezvous.md")
  ? await missingTls()
  : "openssl is not installed";

/** The block of shell commands that has these words in it. */
function block(words: string): string {
  const found = [...PAGE.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code]) => code!).find((code) => {
    return code.includes(words);
  });
  assert.ok(found !== undefined, `no block with ${words}`);
  return found;
}

/** Commands as the page has them, run by a shell in the directory. */
class Shell {
  readonly #directory: string;
  readonly #env: Record<string, string>;
  /** What the page calls `https://meet.example.com`. */
  url = "";

  constructor(directory: string, env: Record<string, string>) {
    this.#directory = directory;
    this.#env = env;
  }

  start(commands: string): { child: Deno.ChildProcess; log: ServerLog } {
    const child = this.#command(commands, "piped").spawn();
    return { child, log: new ServerLog(child.stderr) };
  }

  async run(commands: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await this.#command(commands, "piped").output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  #command(commands: string, stderr: "piped"): Deno.Command {
    // Whatever stays in the foreground takes the place of the shell: a signal to the child reaches it.
    const lines = commands.replaceAll("https://meet.example.com", this.url).trimEnd().split("\n");
    const last = lines.findLastIndex((line) => line.startsWith("exec-server "));
    if (last === lines.length - 1) lines[last] = `exec ${lines[last]}`;
    return new Deno.Command("bash", {
      args: ["-euc", lines.join("\n")],
      cwd: this.#directory,
      env: this.#env,
      stdin: "null",
      stdout: "piped",
      stderr,
    });
  }
}

Deno.test({
  name: `the set-up of docs/rendezvous.md works${OBSTACLE === null ? "" : ` (SKIPPED: ${OBSTACLE})`}`,
  ignore: OBSTACLE !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const { caFile, certFile, keyFile } = await makeAuthority(directory);
      await Deno.rename(certFile, `${directory}/cert.pem`);
      await Deno.rename(keyFile, `${directory}/key.pem`);
      await Deno.mkdir(`${directory}/bin`);
      const { program, args } = serverCommand();
      const words = [program, ...args].map((word) => `'${word}'`).join(" ");
      await Deno.writeTextFile(`${directory}/bin/exec-server`, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
      const shell = new Shell(directory, {
        PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
        HOME: directory,
        XDG_STATE_HOME: `${directory}/state`,
        SSL_CERT_FILE: caFile,
      });
      const rendezvous = shell.start(block("--roles executor").replace("wss://0.0.0.0:443", "wss://127.0.0.1:0"));
      const children = [rendezvous.child];
      try {
        const reader = rendezvous.child.stdout.pipeThrough(new TextDecoderStream()).getReader();
        const printed = (await reader.read()).value ?? await rendezvous.log.whole;
        shell.url = printed.trim().replace("127.0.0.1", "localhost");
        assert.match(shell.url, /^https:\/\/localhost:\d+$/);
        void reader.cancel();
        for (const file of ["executor.token", "alice.token", "tokens.json"]) {
          assert.equal(modeOf(`${directory}/${file}`) & 0o077, 0, `${file} is for its owner alone`);
        }

        const devbox = shell.start(block("--remote-token-file"));
        children.push(devbox.child);
        await devbox.log.contains("connected to the rendezvous", 1);
        const [list] = /exec-server executors --url \S+ --token-file \S+(?=`)/.exec(PAGE)!;
        const listed = await shell.run(list);
        assert.match(listed.stdout, /^box-1 +- .*noise/m, listed.stderr);
        const [exec] = /exec-server exec --url [^`\n]+/.exec(PAGE)!;
        const done = await shell.run(exec);
        assert.deepEqual([done.code, done.stdout], [0, `${Deno.hostname()}\n`], done.stderr);

        const revoked = await shell.run(
          block("token revoke").replace('"$(pidof -s exec-server)"', String(rendezvous.child.pid)),
        );
        assert.equal(revoked.code, 0, revoked.stderr);
        await rendezvous.log.contains("the tokens were read again", 1);
        const refused = await shell.run(list);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /401/);
      } finally {
        for (const child of children) {
          try {
            child.kill("SIGTERM");
          } catch {
            // Ended already, which the log tells.
          }
          if (!child.stdout.locked) await child.stdout.cancel();
          await child.status;
        }
        await Promise.all([rendezvous.log.whole]);
      }
    }),
});
