/** Executor and client reach a rendezvous whose name only the proxy knows, and whose certificate only a file vouches for. */

import assert from "node:assert/strict";
import { makeAuthority } from "../support/certificates.ts";
import { CommandHome } from "../support/command_home.ts";
import { areInstalled } from "../support/installed.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";
import { missingTls } from "../support/test_tls.ts";
import { tunnelProxy } from "../support/tunnel_proxy.ts";

const HOST = "meet.test";
const OBSTACLE = areInstalled(["openssl"], "a rendezvous behind a proxy")
  ? await missingTls()
  : "openssl is not installed";

for (const form of ["noise", "plain"] as const) {
  const name = `HTTPS_PROXY and SSL_CERT_FILE hold for every call and websocket, and NO_PROXY for its hosts (${form})`;
  Deno.test({
    name: OBSTACLE === null ? name : `${name} (SKIPPED: ${OBSTACLE})`,
    ignore: OBSTACLE !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        const { caFile, certFile, keyFile } = await makeAuthority(directory, [HOST]);
        await using rendezvous = await TestRendezvous.start(directory, {
          listen: "wss://127.0.0.1:0",
          args: ["--tls-cert", certFile, "--tls-key", keyFile],
        });
        const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
        const proxy = tunnelProxy({ [HOST]: "127.0.0.1" });
        const url = `https://${HOST}:${rendezvous.port}`;
        const id = form === "noise"
          ? ["--environment-id", "box-1", "--identity-file", `${directory}/identity`]
          : ["--executor-id", "box-1"];
        const env = { DENO_NO_UPDATE_CHECK: "1", SSL_CERT_FILE: caFile, HTTPS_PROXY: proxy.url, NO_PROXY: "localhost" };
        {
          await using child = new RemoteChild({
            args: ["--remote", url, ...id],
            env: { ...env, EXEC_SERVER_REMOTE_TOKEN: executor },
          });
          await child.connected();
          await using home = await CommandHome.make();
          const variables = { ...env, EXEC_SERVER_TOKEN: client };
          if (form === "noise") {
            const ran = await home.run(["exec", "--url", url, "--executor", "box-1", "--", "echo", "through"], {
              env: variables,
            });
            assert.deepEqual([ran.code, ran.stdout], [0, "through\n"], ran.stderr);
          }
          const listed = await home.run(["executors", "--url", url, "--json"], { env: variables });
          assert.equal(JSON.parse(listed.stdout)[0].id, "box-1", listed.stderr);
          // The runtime asks for things of its own when the server is run from source.
          const tunnels = proxy.asked.filter((line) => line === `CONNECT ${HOST}:${rendezvous.port} HTTP/1.1`).length;
          // Registration and websocket, and the list; in the noise form also the client's call and websocket, and its
          // validation.
          assert.ok(tunnels >= (form === "noise" ? 6 : 3), String(tunnels));
          const near = await home.run(
            ["executors", "--url", `https://localhost:${rendezvous.port}`, "--json"],
            { env: variables },
          );
          assert.equal(JSON.parse(near.stdout)[0].id, "box-1", near.stderr);
          assert.equal(proxy.asked.filter((line) => line.includes("localhost")).length, 0);
        }
        await rendezvous[Symbol.asyncDispose]();
        await proxy.close();
      }),
  });
}
