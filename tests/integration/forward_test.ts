/** `exec-server forward`: another server, offered to the clients of a rendezvous. */

import assert from "node:assert/strict";
import { RemoteChild } from "../support/remote_child.ts";
import { connectThrough } from "../support/remote_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli, TestServer } from "../support/test_server.ts";
import { TinyRendezvous } from "../support/tiny_rendezvous.ts";

function forwarder(directory: string, rendezvous: TinyRendezvous, destination: string): RemoteChild {
  return new RemoteChild({
    args: [
      ...["forward", "--connect", destination, "--remote", rendezvous.url, "--environment-id", "devbox"],
      ...["--identity-file", `${directory}/identity`],
    ],
    env: { HTTP_PROXY: "" },
  });
}

Deno.test("clients reach a server behind a forwarder, each by a connection of its own, and large messages pass", () =>
  inScratchDirectory(async (directory) => {
    await using rendezvous = new TinyRendezvous();
    for (const listen of ["ws://127.0.0.1:0", `unix:${directory}/socket`]) {
      await using server = await TestServer.start({ listen });
      await using child = forwarder(directory, rendezvous, server.url);
      await child.connected();
      const clients = await Promise.all([1, 2].map(() => connectThrough(rendezvous, "noise")));
      await server.logged("connected connection=2");
      child.kill("SIGHUP");
      await child.logged("there is nothing to read again");
      const content = new Uint8Array(5_000_000).map((_, index) => index * 7).toBase64();
      for (const [index, client] of clients.entries()) {
        const path = `${directory}/file-${index}`;
        await client.call("fs/writeFile", { path, dataBase64: content });
        assert.equal((await client.call("fs/readFile", { path })).dataBase64, content);
      }
      await clients[0]!.close();
      await server.logged("disconnected");
      assert.deepEqual(await clients[1]!.call("environment/status", null), { status: "ready" });
      // The end of the destination is the end of the stream.
      server.kill("SIGKILL");
      await assert.rejects(clients[1]!.call("environment/status", null));
      await assert.rejects(connectThrough(rendezvous, "noise"));
      child.kill("SIGTERM");
      assert.equal((await child.ended()).code, 0);
    }
  }));

Deno.test("a destination that is not a websocket is refused with status 1, in the reference's words", async () => {
  const words = ["forward", "--remote", "http://127.0.0.1:9", "--environment-id", "e"];
  const { code, stderr } = await runCli([...words, "--connect", "http://x"], { EXEC_SERVER_REMOTE_TOKEN: "t" });
  assert.deepEqual([code, stderr], [1, "Error: forward destination must be a ws:// or wss:// URL\n"]);
  assert.equal((await runCli(words)).code, 2);
});
