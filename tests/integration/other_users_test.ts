/** On loopback without authentication: the server's own user and root are served, and nobody else. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { asUser, publicServer, SOMEBODY, SOMEBODY_ELSE, upgradeAs } from "../support/user_commands.ts";

const REASON = Deno.uid() !== 0 ? "these tests are not root" : "setpriv and bash are not installed";
const isPossible = Deno.uid() === 0 && areInstalled(["setpriv", "bash"], "other users");

function asRoot(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: isPossible ? name : `${name} (SKIPPED: ${REASON})`, ignore: !isPossible, fn });
}

const UPGRADED = /^HTTP\/1\.1 101 /;
const REFUSED = /^HTTP\/1\.1 403 .*--ws-auth.*--allow-other-users$/s;

asRoot("a server of root serves root, and refuses others with what to do about it", async () => {
  for (const [listen, host] of [["ws://127.0.0.1:0", "127.0.0.1"], ["ws://[::1]:0", "::1"]] as const) {
    const server = await TestServer.start({ listen });
    {
      await using _server = server;
      assert.match(await upgradeAs(0, host, server.port), UPGRADED);
      assert.match(await upgradeAs(SOMEBODY, host, server.port), REFUSED);
      assert.match(await upgradeAs(65534, host, server.port), REFUSED);
      assert.match(await upgradeAs(SOMEBODY, host, server.port, "/elsewhere"), REFUSED);
      assert.match(await upgradeAs(SOMEBODY, host, server.port, "/readyz"), /^HTTP\/1\.1 200 /);
    }
    assert.match(await server.log, new RegExp(`request refused .*another user \\(uid ${SOMEBODY}\\)`));
  }
});

asRoot("an IPv4 client of an address in IPv6 form is known, too", async () => {
  await using server = await TestServer.start({ listen: "ws://[::ffff:127.0.0.1]:0" });
  assert.match(await upgradeAs(0, "127.0.0.1", server.port), UPGRADED);
  assert.match(await upgradeAs(SOMEBODY, "127.0.0.1", server.port), REFUSED);
});

asRoot("--allow-other-users serves them, and a token in the URL makes them equal", async () => {
  await using open = await TestServer.start({ args: ["--allow-other-users"] });
  assert.match(await upgradeAs(SOMEBODY, "127.0.0.1", open.port), UPGRADED);
  await using shut = await TestServer.start({ listen: null });
  const { search } = new URL(shut.url);
  assert.match(await upgradeAs(SOMEBODY, "127.0.0.1", shut.port), /^HTTP\/1\.1 401 /);
  assert.match(await upgradeAs(SOMEBODY, "127.0.0.1", shut.port, `/${search}`), UPGRADED);
});

asRoot("--insecure-no-auth on loopback does not let other users in", async () => {
  await using server = await TestServer.start({ listen: null, args: ["--insecure-no-auth"] });
  assert.match(await upgradeAs(SOMEBODY, "127.0.0.1", server.port), REFUSED);
  assert.match(await upgradeAs(0, "127.0.0.1", server.port), UPGRADED);
});

asRoot(
  "a server of an ordinary user, or of nobody, serves that user and root, and no other",
  () =>
    inScratchDirectory(async (directory) => {
      await Deno.chmod(directory, 0o755);
      const { words, env } = await publicServer(directory);
      for (const uid of [SOMEBODY, 65534]) {
        await using server = await TestServer.start({ command: asUser(uid, words), env, cwd: directory });
        assert.match(await upgradeAs(uid, "127.0.0.1", server.port), UPGRADED);
        assert.match(await upgradeAs(0, "127.0.0.1", server.port), UPGRADED);
        assert.match(await upgradeAs(SOMEBODY_ELSE, "127.0.0.1", server.port), REFUSED);
      }
    }),
);

asRoot("a peer that has closed before it is looked at is not taken for root", async () => {
  await using server = await TestServer.start();
  // Stopped, the server accepts when the peer has long sent its request and gone.
  server.kill("SIGSTOP");
  const script =
    `exec 3<>/dev/tcp/127.0.0.1/${server.port}; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3`;
  const [program, ...args] = asUser(SOMEBODY, ["bash", "-c", script]);
  assert.ok((await new Deno.Command(program!, { args }).output()).success);
  server.kill("SIGCONT");
  await server.logged("the peer has closed already");
});
