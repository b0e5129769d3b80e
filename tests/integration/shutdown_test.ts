/** Told to end, a server ends: whatever its clients have left behind. */

import assert from "node:assert/strict";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { listProcesses, type ProcessEntry } from "../support/proc.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });

Deno.test({
  name: `a server ends that still waits for confined helpers to close files${
    NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`
  }`,
  ignore: NO_SANDBOX !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const path = `${directory}/file`;
      await Deno.writeTextFile(path, "content");
      const sandbox = {
        permissions: {
          type: "managed",
          file_system: { type: "restricted", entries: [at("/usr", "read"), at(directory, "read")] },
          network: "restricted",
        },
        windowsSandboxLevel: "disabled",
      };
      await using server = await TestServer.start();
      const clients = await Promise.all([1, 2, 3, 4].map(() => server.connect()));
      for (const client of clients) await client.call("fs/open", { handleId: "h", path, mode: "read", sandbox });
      // They take no request any more, and so never answer that the file is closed.
      const helpers = descendantsOf(server.pid).filter(({ commandLine }) => commandLine.includes("fs-helper"));
      assert.ok(helpers.length >= clients.length, JSON.stringify(helpers));
      for (const { pid } of helpers) Deno.kill(pid, "SIGSTOP");
      for (const client of clients) await client.close();
      server.kill("SIGTERM");
      assert.equal((await server.status).code, 0);
      assert.doesNotMatch(await server.log, /gave up waiting for a clean end/);
    }),
});

function descendantsOf(pid: number): ProcessEntry[] {
  const all = listProcesses();
  const below = (parent: number): ProcessEntry[] =>
    all.filter(({ ppid }) => ppid === parent).flatMap((child) => [child, ...below(child.pid)]);
  return below(pid);
}
