/**
 * The real codex on a machine that is reached by ssh, as docs/codex.md shows it: `program = "exec-server"`, `args =
 * ["dial", "ssh://devbox"]`. The machine is this one, behind an sshd of its own on a port of loopback.
 *
 * Needs codex (`CODEX_DIR`), the directory of the checks that hold a scripted model (`CHECKS`), and the compiled program
 * (`EXEC_SERVER_BINARY`).
 */

import assert from "node:assert/strict";
import { SshHost } from "../commands/ssh_host.ts";
import { ownServers } from "../support/command_home.ts";
import { codexTest } from "./scene.ts";

const binary = Deno.env.get("EXEC_SERVER_BINARY");
const missing = binary === undefined ? "EXEC_SERVER_BINARY names no compiled program" : await SshHost.missing();

codexTest("codex runs its commands through exec-server dial ssh://devbox", missing, async (scene) => {
  const programs = binary!.replace(/\/[^/]*$/, "");
  await using host = await SshHost.start({ path: `${programs}:/usr/bin:/bin` });
  const page = await Deno.readTextFile(new URL("../../docs/codex.md", import.meta.url));
  const environments = Array.from(page.matchAll(/```toml\n(.*?)```/gs), ([, toml]) => toml!)
    .find((toml) => toml.includes('args = ["dial", "ssh://devbox"]'));
  assert.ok(environments !== undefined, "docs/codex.md shows how codex dials");
  try {
    const { first, second, everything } = await scene.run({
      environments,
      env: { PATH: `${host.bin}:${programs}:/usr/bin:/bin` },
    });
    assert.match(first, /first-42/, everything.slice(-2000));
    assert.match(second, /second-43/);
    // They ran there: the server behind ssh was started for them.
    assert.equal((await ownServers(`${host.home}/.local/state/exec-server`)).length, 1);
  } finally {
    for (const pid of await ownServers(`${host.home}/.local/state/exec-server`)) Deno.kill(pid, "SIGTERM");
  }
});
