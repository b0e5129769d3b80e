/** `runRemoteExecutor`: a program of one's own that is reached through a rendezvous. */

import assert from "node:assert/strict";
import { runRemoteExecutor } from "../../src/server/mod.ts";
import { filePins } from "../../src/client/mod.ts";
import { connectBox } from "../support/checked_box.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

Deno.test("a program that embeds an executor is reached in both forms, known by its key, and ends when it is told to", () =>
  inScratchDirectory(async (directory) => {
    await using rendezvous = await TestRendezvous.start(directory);
    const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
    const pins = filePins(`${directory}/known`);
    let asked = 0;
    for (const transport of ["noise", "noise", "plain"] as const) {
      const server = await runRemoteExecutor({
        url: rendezvous.url,
        id: "mine",
        transport,
        identityFile: `${directory}/identity`,
        token: () => {
          asked++;
          return Promise.resolve(executorToken);
        },
      });
      const address = transport === "noise"
        ? { rendezvous: rendezvous.url, executor: "mine", pins }
        : `${rendezvous.websocketUrl}/connect/mine`;
      const box = await connectBox(address, { token });
      assert.equal((await box.run(["echo", transport])).stdoutText, `${transport}\n`);
      await box.close();
      server.shutDown();
      await server.finished;
    }
    assert.ok(asked >= 3, `${asked} times`);
  }));

Deno.test("an embedded executor whose token is refused has finished, in the reference's words", () =>
  inScratchDirectory(async (directory) => {
    await using rendezvous = await TestRendezvous.start(directory);
    const server = await runRemoteExecutor({ url: rendezvous.url, id: "mine", token: "wrong" });
    await assert.rejects(server.finished, {
      name: "RegistryError",
      message: /^environment registry authentication error: .*401 Unauthorized/,
    });
    await assert.rejects(runRemoteExecutor({ url: "http://example.com", id: "mine", token: "t" }), /must be https/);
  }));
