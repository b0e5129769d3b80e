/**
 * Attacks by reading under policies that let everything be read. The server may read for a client by itself then, and must
 * find no more than a confined helper would: each attack is tried both ways, and gets the same answer.
 */

import assert from "node:assert/strict";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { write } from "../contract/file_system/harness.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { READ_ALL, READS, readsRefused, WRITE_ALL } from "./reads.ts";
import { attack, IS_ROOT, ONLY_ROOT, REFUSED } from "./scene.ts";

attack("root's sandbox reads no file of another user's that only root could read", async (scene) => {
  const path = `${scene.ws}/theirs`;
  await Deno.writeTextFile(path, "theirs");
  await Deno.chmod(path, 0o600);
  await Deno.chown(path, 12345, 12345);
  await readsRefused(scene, path);
}, { unless: !IS_ROOT && ONLY_ROOT });

attack("root's sandbox sees nothing in a directory of another user's that only root could enter", async (scene) => {
  await Deno.mkdir(`${scene.ws}/home`);
  const path = `${scene.ws}/home/file`;
  await Deno.writeTextFile(path, "theirs");
  await Deno.chmod(`${scene.ws}/home`, 0o700);
  await Deno.chown(`${scene.ws}/home`, 12345, 12345);
  await readsRefused(scene, path);
  const look = (files: FileSystem) => files.getMetadata({ path, followSymlinks: true, fields: [] });
  assert.equal((await look(scene.direct)).isFile, true);
  for (const files of [await scene.files(READ_ALL), await scene.filesByHelper(READ_ALL)]) {
    await assert.rejects(look(files), { message: REFUSED });
  }
}, { unless: !IS_ROOT && ONLY_ROOT });

Deno.test({
  name: "root: a watch does not tell what happens in a directory of another user's that only root could enter" +
    (IS_ROOT ? "" : ` (SKIPPED: ${ONLY_ROOT})`),
  ignore: !IS_ROOT,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const theirs = `${directory}/theirs`;
      await Deno.mkdir(theirs, { mode: 0o700 });
      await Deno.chown(theirs, 12345, 12345);
      await using server = await TestServer.start();
      const client = await server.connect();
      const watch = (watchId: number, sandbox: object | null) =>
        client.call("fs/watch", { watchId, path: theirs, recursive: false, debounceMs: 1, sandbox } as never);
      try {
        await watch(1, null);
        await assert.rejects(watch(2, managed([ROOT_READ])), /Permission denied/);
      } finally {
        await client.close();
      }
    }),
});

attack("the server and a helper both read what everybody may read", async (scene) => {
  for (const path of [`${scene.ws}/in.txt`, `${scene.out}/o.txt`, "/etc/passwd"]) {
    for (const [name, attempt] of Object.entries(READS)) {
      const expected = await attempt(scene.direct, path);
      for (const policy of [READ_ALL, WRITE_ALL]) {
        assert.deepEqual(await attempt(await scene.files(policy), path), expected, `${policy}: ${name}`);
        assert.deepEqual(await attempt(await scene.filesByHelper(policy), path), expected, `${policy}: ${name}`);
      }
    }
  }
});

attack("the server's environment and memory are not read", async (scene) => {
  await readsRefused(scene, `/proc/${Deno.pid}/environ`, ["readFile", "open"]);
  await readsRefused(scene, `/proc/${Deno.pid}/auxv`, ["readFile"]);
});

attack("where no files are confined, files are written and the kernel's settings are not", async (scene) => {
  const setting = `/proc/${Deno.pid}/coredump_filter`;
  const current = () => Deno.readTextFileSync(`/proc/${Deno.pid}/coredump_filter`);
  const before = current();
  const files = await scene.files(WRITE_ALL);
  const attempt = (path: string) => write(files, path, "0x33");
  await assert.rejects(attempt(setting), { message: REFUSED });
  assert.equal(current(), before);
  await attempt(`${scene.ws}/new`);
  assert.equal(Deno.readTextFileSync(`${scene.ws}/new`), "0x33");
});

const USER = IS_ROOT ? "root" : "unprivileged";
const INVALID_REQUEST = -32600;

function managed(entries: readonly object[]): object {
  const permissions = { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" };
  return { permissions, windowsSandboxLevel: "disabled" };
}

const ROOT_READ = { path: { type: "special", value: { kind: "root" } }, access: "read" };

/** Every request that only reads, and what it is refused with. */
async function expectNothingRead(client: Client, path: string, sandbox: object, reason: RegExp): Promise<void> {
  const uri = `file://${path}`;
  const requests: Readonly<Record<string, object>> = {
    "fs/readFile": { path: uri },
    "fs/open": { path: uri, handleId: "h", mode: "read" },
    "fs/getMetadata": { path: uri },
    "fs/canonicalize": { path: uri },
    "fs/readDirectory": { path: `file://${path.slice(0, path.lastIndexOf("/"))}` },
    "fs/watch": { watchId: 1, path: uri, recursive: false },
  };
  for (const [method, params] of Object.entries(requests)) {
    const outcome = await client.call(method as never, { ...params, sandbox } as never).then(
      () => "answered",
      (error) => error,
    );
    assert.ok(outcome instanceof RpcError, `${method}: ${outcome}`);
    assert.deepEqual([outcome.code, reason.test(outcome.message)], [INVALID_REQUEST, true], outcome.message);
  }
}

Deno.test(`${USER}: a server that refuses sandboxes does not read files for sandboxed requests`, () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "text");
    await using server = await TestServer.start({ args: ["--sandbox", "refuse"] });
    const client = await server.connect();
    try {
      await expectNothingRead(client, `${directory}/file`, managed([ROOT_READ]), /--sandbox refuse/);
      const ROOT_WRITE = { ...ROOT_READ, access: "write" };
      await expectNothingRead(client, `${directory}/file`, managed([ROOT_WRITE]), /--sandbox refuse/);
    } finally {
      await client.close();
    }
  }));

Deno.test(`${USER}, landlock: nothing is read under a policy that it cannot express`, () =>
  inScratchDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "text");
    await using server = await TestServer.start({ args: ["--sandbox", "landlock"] });
    const client = await server.connect();
    const writable = { path: { type: "path", path: `file://${directory}` }, access: "write" };
    try {
      await expectNothingRead(client, `${directory}/file`, managed([ROOT_READ, writable]), /Landlock cannot express/);
    } finally {
      await client.close();
    }
  }));
