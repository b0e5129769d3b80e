/** Standard input of a server in remote mode: tokens that change, and an end that is the server's. */

import assert from "node:assert/strict";
import { runCli } from "../support/test_server.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { connectThrough } from "../support/remote_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TinyRendezvous } from "../support/tiny_rendezvous.ts";

Deno.test("standard input brings new tokens, and its end is the executor's", async () => {
  await inScratchDirectory(async (directory) => {
    await using rendezvous = new TinyRendezvous();
    const args = ["--remote", rendezvous.url, "--environment-id", "devbox", "--identity-file", `${directory}/identity`];
    await using executor = new RemoteChild({ args: [...args, "--executor-credential-stdin"], hasInput: true });
    const input = executor.input.getWriter();
    const line = (token: string) => {
      const expires_at = Math.floor(Date.now() / 1000) + 600;
      return new TextEncoder().encode(
        JSON.stringify({ version: 1, environment_id: "devbox", token, expires_at }) + "\n",
      );
    };
    await input.write(line("first-token"));
    await executor.connected();
    await input.write(line("second-token"));
    const shown = () =>
      rendezvous.calls.filter(({ path }) => !path.endsWith("/connect"))
        .map(({ headers }) => headers.get("authorization"));
    assert.deepEqual(shown(), ["Bearer first-token"]);
    // Nobody says when the line has been read: the registry is asked for each client that comes.
    while (shown().at(-1) !== "Bearer second-token") await (await connectThrough(rendezvous, "noise")).close();
    await input.close();
    const { code, stderr } = await executor.ended();
    assert.equal(code, 0);
    assert.ok(!stderr.includes("-token"));
  });
});

Deno.test("--exit-on-stdin-close ends the server with its input, and a refused token ends it with status 1", async () => {
  await using refusing = new TinyRendezvous({ answer: () => new Response("not you", { status: 401 }) });
  await using rendezvous = new TinyRendezvous();
  const args = (url: string) => ["--remote", url, "--executor-id", "devbox", "--exit-on-stdin-close"];
  await using quick = new RemoteChild({ args: args(rendezvous.url) });
  assert.equal((await quick.ended()).code, 0, "standard input is /dev/null");
  await using patient = new RemoteChild({ args: args(rendezvous.url), hasInput: true });
  await patient.connected();
  await patient.input.close();
  assert.equal((await patient.ended()).code, 0);
  await using refused = new RemoteChild({ args: args(refusing.url), hasInput: true });
  const { code, stderr } = await refused.ended();
  await refused.input.close();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: executor registry authentication error: executor registry authentication failed \(401 Unauthorized\): not you$/m,
  );
});

Deno.test("doctor shows the fingerprint that the executor connects with, and makes none", () =>
  inScratchDirectory(async (directory) => {
    const doctor = async () =>
      JSON.parse((await runCli(["doctor", "--json", "--identity-file", `${directory}/identity`])).stdout);
    assert.equal((await doctor()).identity.fingerprint, null);
    await using rendezvous = new TinyRendezvous();
    const args = ["--remote", rendezvous.url, "--environment-id", "devbox", "--identity-file", `${directory}/identity`];
    await using executor = new RemoteChild({ args });
    await executor.connected();
    const { fingerprint } = (await doctor()).identity;
    assert.match(fingerprint, /^SHA256:/);
    await executor.logged(`identity=${fingerprint}`);
  }));
