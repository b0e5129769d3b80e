import assert from "node:assert/strict";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { AT_FDCWD, closeFd, O_TMPFILE, O_WRONLY, openAt } from "../../src/os/files/file_calls.ts";
import { HELLO_DIGEST } from "../contract/file_system/harness.ts";
import { openFiles } from "../support/proc.ts";
import { ConnectionLostError } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

Deno.test("a server that is killed before an atomic write is done leaves the old file and nothing beside it", () =>
  inScratchDirectory(async (directory) => {
    const fd = openAt(AT_FDCWD, toByteString(directory), O_WRONLY | O_TMPFILE, 0o600);
    if (fd < 0) return console.log("SKIPPED: the temporary directory's filesystem has no files without names");
    closeFd(fd);
    const path = `${directory}/f`;
    await Deno.writeTextFile(path, "hello");
    // Who holds the lock holds up a conditional write: the new file is complete then, and waits to take its place.
    using held = await Deno.open(path, { read: true, write: true });
    await held.lock(true);

    await using server = await TestServer.start();
    const client = await server.connect();
    const params = { path, dataBase64: "bmV3", atomic: true, ifMatch: HELLO_DIGEST };
    const lost = assert.rejects(client.call("fs/writeFile", params), ConnectionLostError);
    const names = () => [...Deno.readDirSync(directory)].map(({ name }) => name);
    const isWriting = () => openFiles(server.pid).some((open) => /^\/#\d+ /.test(open.slice(directory.length)));
    await until(() => isWriting() || names().length > 1, () => "there is a new file");
    server.kill("SIGKILL");
    await lost;
    await server.status;
    assert.deepEqual(names(), ["f"]);
    assert.equal(await Deno.readTextFile(path), "hello");
  }));
