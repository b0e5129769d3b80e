/**
 * A client of an executor behind a rendezvous that stops reading for a while, in programs of their own: the others go on,
 * and it misses nothing. No clock is asked: what has to wait for the stuck client would wait until it is woken.
 */

import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

/** Far more than all buffers on the way hold together: the window, and what four sockets take. */
const STREAM_BYTES = 200 * 1024 * 1024;
const ECHOES = 1000;
const CLIENT = new URL("../fixtures/remote/counting_client.ts", import.meta.url).pathname;

for (const form of ["plain", "noise"] as const) {
  Deno.test(`${form}: while one client stops reading the others go on, and it gets every byte when it reads again`, async () => {
    await inScratchDirectory(async (directory) => {
      await using rendezvous = await TestRendezvous.start(directory);
      const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      await using executor = new RemoteChild({
        args: [
          ...["--remote", rendezvous.url, form === "plain" ? "--executor-id" : "--environment-id", "box"],
          ...(form === "plain" ? [] : ["--identity-file", `${directory}/identity`]),
        ],
        env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
      });
      await executor.connected();
      const address = form === "plain"
        ? `${rendezvous.websocketUrl}/connect/box`
        : { rendezvous: rendezvous.url, executor: "box" };
      await using box = await connect(address, { token });
      const echo = await box.spawn(["cat"], { stdin: "piped" });
      const output = echo.stdout[Symbol.asyncIterator]();
      const exchange = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await echo.write("x\n");
          await output.next();
        }
      };

      const stuck = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", "--no-check", CLIENT, JSON.stringify(address), String(STREAM_BYTES)],
        env: { TOKEN: token },
        stdin: "null",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const lines = stuck.stdout.pipeThrough(new TextDecoderStream()).getReader();
      assert.match((await lines.read()).value!, /^some\n/);
      stuck.kill("SIGSTOP");
      await exchange(ECHOES);
      stuck.kill("SIGCONT");
      await exchange(ECHOES);
      let rest = "";
      for (let { value, done } = await lines.read(); !done; { value, done } = await lines.read()) rest += value;
      assert.equal(rest.trim(), `${STREAM_BYTES} bytes, 0 losses`);
      assert.equal((await stuck.status).code, 0);
      await echo.closeStdin();
      await echo.wait();
    });
  });
}
