import assert from "node:assert/strict";
import { listProcesses } from "../../src/os/children/procfs.ts";
import type { FsChangedNotification } from "../../src/protocol/fs.ts";
import type { Client } from "../support/rpc_client.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

function confinedTest(name: string, body: (server: TestServer, directory: string) => Promise<void>): void {
  Deno.test({
    name: NO_SANDBOX === null ? name : `${name} (SKIPPED: ${NO_SANDBOX})`,
    ignore: NO_SANDBOX !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        await using server = await TestServer.start();
        await body(server, directory);
      }),
  });
}

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });
const matching = (pattern: string) => ({ path: { type: "glob_pattern", pattern }, access: "deny" });

function sandboxOf(entries: readonly object[]) {
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" },
    windowsSandboxLevel: "disabled",
  };
}

/** Everything told, as `kind name`, and a way to wait for one of them. */
function record(client: Client, directory: string) {
  const told = new Set<string>();
  let wake = () => {};
  client.onNotification(({ method, params }) => {
    if (method !== "fs/changed") return;
    for (const { kind, path } of (params as FsChangedNotification).changes) {
      told.add(`${kind} ${path.slice(`file://${directory}/`.length)}`);
    }
    wake();
  });
  const seen = async (text: string): Promise<void> => {
    while (!told.has(text)) await new Promise<void>((resolve) => wake = resolve);
  };
  return { told, seen };
}

confinedTest(
  "fs/watch under a sandbox object reports only what the object allows to be read",
  async (server, directory) => {
    const client = await server.connect();
    const { told, seen } = record(client, directory);
    const sandbox = sandboxOf([at(directory, "read"), matching(`${directory}/**/*.env`)]);
    await client.call("fs/watch", { watchId: 1, path: directory, recursive: true, debounceMs: 1, sandbox });
    await Deno.writeTextFile(`${directory}/later.env`, "SECRET=1");
    await Deno.writeTextFile(`${directory}/plain`, "");
    await seen("created plain");
    assert.deepEqual([...told].filter((text) => text.includes(".env")), []);
    const elsewhere = client.call("fs/watch", {
      watchId: 2,
      path: "/var",
      recursive: false,
      debounceMs: null,
      sandbox,
    });
    await assert.rejects(elsewhere, /No such file or directory/);
    await client.call("fs/unwatch", { watchId: 1 });
  },
);

confinedTest(
  "a denied pattern that matches nothing yet is enforced where everything else may be read",
  async (server, directory) => {
    const client = await server.connect();
    const { told, seen } = record(client, directory);
    const sandbox = sandboxOf([at("/", "read"), matching(`${directory}/**/*.env`)]);
    await client.call("fs/watch", { watchId: 1, path: directory, recursive: false, debounceMs: 1, sandbox });
    await Deno.writeTextFile(`${directory}/later.env`, "SECRET=1");
    await Deno.writeTextFile(`${directory}/plain`, "");
    await seen("created plain");
    assert.deepEqual([...told].filter((text) => text.includes(".env")), []);
  },
);

const NEEDS_HELPER = Deno.uid() === 0 ? "root's watch is a helper's, who has no more rights than the user" : null;

confinedTest(`if everything may be read, a watch needs a helper only as root`, async (server, directory) => {
  const client = await server.connect();
  const { seen } = record(client, directory);
  const sandbox = sandboxOf([at("/", "read"), at(directory, "write")]);
  await client.call("fs/watch", { watchId: 1, path: directory, recursive: false, debounceMs: 1, sandbox });
  await Deno.writeTextFile(`${directory}/plain`, "");
  await seen("created plain");
  assert.equal(helpersOf(server).length, NEEDS_HELPER === null ? 0 : 1, NEEDS_HELPER ?? "a helper was started");
});

confinedTest("the helper of a watch ends with its connection", async (server, directory) => {
  const client = await server.connect();
  const sandbox = sandboxOf([at(directory, "read")]);
  await client.call("fs/watch", { watchId: 1, path: directory, recursive: false, debounceMs: 1, sandbox });
  assert.notDeepEqual(helpersOf(server), []);
  await client.close();
  await until(() => helpersOf(server).length === 0, () => `helpers ${helpersOf(server)}`);
});

Deno.test("a malformed sandbox object is refused by fs/watch, too", async () => {
  await using server = await TestServer.start();
  const client = await server.connect();
  const call = client.call("fs/watch", { watchId: 1, path: "/tmp", recursive: false, debounceMs: null, sandbox: {} });
  await assert.rejects(call, /permissions/);
});

/** Pids of the server's children that are wrappers of helpers. */
function helpersOf(server: TestServer): number[] {
  return listProcesses().filter(({ pid, ppid, state }) => {
    if (ppid !== server.pid || state === "Z") return false;
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("fs-helper");
    } catch {
      return false; // Gone meanwhile.
    }
  }).map(({ pid }) => pid);
}
