/**
 * The real codex at our door: over TLS with a bearer token and an authority of our own making, and by the URL that a
 * server prints. Each time the connection is cut in between, so that it comes back by itself.
 *
 * Needs codex (`CODEX_DIR`) and the directory of the checks that hold a scripted model (`CHECKS`).
 */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { TestServer } from "../support/test_server.ts";
import { missingTls } from "../support/test_tls.ts";
import { makeAuthority } from "../support/certificates.ts";
import { Relay } from "../support/relay.ts";
import { codexTest, environmentOf } from "./scene.ts";

const TOKEN = "a-token-that-codex-must-show-nowhere";

const NO_TLS = areInstalled(["openssl"], "codex over TLS") ? await missingTls() : "openssl is not installed";

codexTest(
  "codex connects over wss with auth_bearer_token and our own authority, also after a cut",
  NO_TLS,
  async (scene) => {
    const { caFile, certFile, keyFile } = await makeAuthority(scene.directory);
    await Deno.writeTextFile(`${scene.directory}/token`, TOKEN, { mode: 0o600 });
    await using server = await TestServer.start({
      listen: "wss://127.0.0.1:0",
      args: [
        ...["--tls-cert", certFile, "--tls-key", keyFile],
        ...["--ws-auth", "capability-token", "--ws-token-file", `${scene.directory}/token`],
      ],
    });
    await using relay = new Relay(server.port);
    const url = `wss://localhost:${relay.port}`;
    const { first, second, everything } = await scene.run({
      environments: environmentOf(url, TOKEN),
      env: { SSL_CERT_FILE: caFile },
      between: () => server.cut(relay),
    });
    assert.match(first, /first-42/, everything.slice(-2000));
    assert.match(second, /second-43/);
    assert.ok(relay.connections > 1, "the connection was cut, and made again");
    assert.ok(!everything.includes(TOKEN), "the token stays between codex and the server");

    const wrong = await scene.run({
      environments: environmentOf(url, "not-the-token"),
      env: { SSL_CERT_FILE: caFile },
    });
    assert.doesNotMatch(wrong.first, /first-42/);
    const untrusted = await scene.run({ environments: environmentOf(url, TOKEN) });
    assert.doesNotMatch(untrusted.first, /first-42/);
    assert.ok(!untrusted.everything.includes(TOKEN));
  },
);

codexTest(
  "codex connects by the printed URL, also after a cut, and its token is shown nowhere",
  null,
  async (scene) => {
    await using server = await TestServer.start({ listen: null });
    await using relay = new Relay(server.port);
    const { search, searchParams } = new URL(server.url);
    const url = `ws://127.0.0.1:${relay.port}/`;
    const { first, second, everything } = await scene.run({
      env: { CODEX_EXEC_SERVER_URL: url + search },
      between: () => server.cut(relay),
    });
    assert.match(first, /first-42/, everything.slice(-2000));
    assert.match(second, /second-43/);
    assert.ok(relay.connections > 1, "the connection was cut, and made again");
    assert.ok(!everything.includes(searchParams.get("token")!), "the token stays between codex and the server");
    const without = await scene.run({ env: { CODEX_EXEC_SERVER_URL: url } });
    assert.doesNotMatch(without.first, /first-42/);
  },
);
