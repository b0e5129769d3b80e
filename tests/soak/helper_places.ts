/** Clients that keep confined watches and handles for good: everybody's sandboxed file requests go on. */

import assert from "node:assert/strict";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

const CLIENTS = 16;

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });
/** Lets little be read, so that it takes a helper. */
const sandboxOf = (directory: string) => ({
  permissions: {
    type: "managed",
    file_system: { type: "restricted", entries: [at("/usr", "read"), at(directory, "read")] },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
});

for (const what of ["watch", "handle"] as const) {
  Deno.test({
    name: `${CLIENTS} clients with a confined ${what} take no place of anybody's request${
      NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`
    }`,
    ignore: NO_SANDBOX !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        const path = `${directory}/file`;
        Deno.writeTextFileSync(path, "content");
        const sandbox = sandboxOf(directory);
        await using server = await TestServer.start();
        await using clients = new AsyncDisposableStack();
        for (let index = 0; index < CLIENTS; index++) {
          const client = clients.use(await server.connect());
          if (what === "handle") await client.call("fs/open", { handleId: "h", path, mode: "read", sandbox });
          else await client.call("fs/watch", { watchId: 1, path: directory, recursive: false, sandbox });
        }
        const other = clients.use(await server.connect());
        const { dataBase64 } = await other.call("fs/readFile", { path, sandbox });
        assert.equal(atob(dataBase64), "content");
      }),
  });
}
