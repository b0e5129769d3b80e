/** Attacks on the end of a session by what forks faster than anybody can look, on a real server. */

import assert from "node:assert/strict";
import { joinChildCgroup, leaveChildCgroup } from "../../src/os/children/child_cgroup.ts";
import { ForkStorm } from "../support/fork_storm.ts";
import { areInstalled } from "../support/installed.ts";
import type { Client } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { IS_ROOT } from "./scene.ts";

const USER = IS_ROOT ? "root" : "unprivileged";

async function whyNot(): Promise<string | null> {
  if (!areInstalled(["perl"], "storms of forks")) return "no perl";
  const group = await joinChildCgroup();
  await leaveChildCgroup();
  return group === null ? "no control groups can be made here" : null;
}

const REASON = await whyNot();

/** None at all, and one that has no process namespace to end. */
const SANDBOXES = {
  "no sandbox": null,
  "a sandbox without network": {
    permissions: { type: "external", network: "restricted" },
    windowsSandboxLevel: "disabled",
  },
};

/** Has a server run a storm, and waits until it rages. */
async function unleash(client: Client, directory: string, sandbox: unknown): Promise<ForkStorm> {
  const storm = await ForkStorm.make(directory);
  const { argv } = storm;
  const env = { PATH: "/usr/bin:/bin" };
  await client.call("process/start", { processId: "storm", argv, cwd: "/", env, tty: false, sandbox } as never);
  await storm.begun;
  return storm;
}

function test(name: string, fn: (directory: string) => Promise<void>): void {
  Deno.test({
    name: REASON === null ? `${USER}, ${name}` : `${USER}, ${name} (SKIPPED: ${REASON})`,
    ignore: REASON !== null,
    fn: () => inScratchDirectory(fn),
  });
}

for (const [name, sandbox] of Object.entries(SANDBOXES)) {
  test(`${name}: a storm of forks does not outlive its session`, async (directory) => {
    await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "0"] });
    const other = await server.connect();
    const client = await server.connect();
    const storm = await unleash(client, directory, sandbox);
    await client.close();
    await storm.ended();
    // The other session has seen nothing of it.
    assert.ok(await other.call("environment/info", {} as never));
    await other.close();
  });
}

test("no sandbox: a storm of forks does not outlive its server", async (directory) => {
  await using server = await TestServer.start();
  const client = await server.connect();
  const storm = await unleash(client, directory, null);
  Deno.kill(server.pid, "SIGKILL");
  await server.status;
  await client.close().catch(() => {}); // Its server is gone.
  // The guard asks first, and kills a second later.
  await storm.ended();
});
