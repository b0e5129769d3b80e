/**
 * The real codex as harness of our executor: whole turns through noise and by a plain URL on our own rendezvous, with cuts
 * of either side and a rendezvous that is killed; and over TLS on a small one.
 *
 * Needs codex (`CODEX_DIR`) and the directory of the checks that hold a scripted model (`CHECKS`).
 */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { makeAuthority } from "../support/certificates.ts";
import { Relay } from "../support/relay.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { formatTokenFile } from "../../src/transport/tokens/token_file.ts";
import { ServiceManager } from "../support/service_manager.ts";
import { addToken, TestRendezvous } from "../support/test_rendezvous.ts";
import { TinyRendezvous } from "../support/tiny_rendezvous.ts";
import { codexTest, environmentOf, type Scene } from "./scene.ts";

type Form = "noise" | "plain";

function executorOf(scene: Scene, form: Form, url: string, env: Record<string, string>): RemoteChild {
  const id = form === "noise"
    ? ["--environment-id", "devbox", "--identity-file", `${scene.directory}/identity`]
    : ["--executor-id", "devbox"];
  return new RemoteChild({ args: ["--remote", url, ...id], env });
}

/** How codex finds the executor. */
function harness(form: Form, url: string, token: string): { env: Record<string, string>; environments?: string } {
  if (form === "plain") {
    return { env: {}, environments: environmentOf(`${url.replace(/^http/, "ws")}/connect/devbox`, token) };
  }
  return {
    env: {
      CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: url,
      CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: "devbox",
      CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: token,
    },
  };
}

for (const form of ["noise", "plain"] as const) {
  codexTest(
    `codex runs commands on our executor (${form}), and goes on when either side is cut`,
    null,
    async (scene) => {
      await using rendezvous = await TestRendezvous.start(scene.directory);
      const [token, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
      await using toExecutor = new Relay(rendezvous.port);
      await using toClient = new Relay(rendezvous.port);
      const url = `http://127.0.0.1:${toExecutor.port}`;
      await using executor = executorOf(scene, form, url, { EXEC_SERVER_REMOTE_TOKEN: token });
      await executor.connected();
      for (const cut of [toExecutor, toClient]) {
        const { first, second, everything } = await scene.run({
          ...harness(form, `http://127.0.0.1:${toClient.port}`, client),
          between: () => rendezvous.cut(cut),
        });
        assert.match(first, /first-42/, everything.slice(-2000));
        assert.match(second, /second-43/, everything.slice(-2000));
        assert.ok(!everything.includes(client), "the token stays between codex and the rendezvous");
      }
      executor.kill("SIGTERM");
      const { code, stdout, stderr } = await executor.ended();
      assert.deepEqual([code, stdout], [0, ""]);
      assert.equal(stderr.split("session resumed").length - 1, 2, stderr);
      assert.ok(!stderr.includes(token) && !stderr.includes(client));
    },
  );

  codexTest(`Ctrl-C of codex reaches a terminal on our executor (${form}), also after a cut`, null, async (scene) => {
    await using rendezvous = await TestRendezvous.start(scene.directory);
    const [token, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
    await using toExecutor = new Relay(rendezvous.port);
    const url = `http://127.0.0.1:${toExecutor.port}`;
    await using executor = executorOf(scene, form, url, { EXEC_SERVER_REMOTE_TOKEN: token });
    await executor.connected();
    for (const between of [() => {}, () => rendezvous.cut(toExecutor)]) {
      const { first, second, everything } = await scene.run({
        ...harness(form, rendezvous.url, client),
        between,
        terminal: {
          command: "trap 'echo caught-int; exit 42' INT; echo ready; while :; do sleep 0.2; done",
          typed: "\u0003",
        },
      });
      assert.match(first, /ready/, everything.slice(-2000));
      assert.match(second, /exited with code 42[^]*caught-int/, JSON.stringify([first, second]));
    }
  });

  codexTest(`codex comes back to our executor (${form}) when the rendezvous was killed`, null, async (scene) => {
    const first = await TestRendezvous.start(scene.directory);
    const [token, client] = [await first.token(["executor"]), await first.token(["client"])];
    const listen = `ws://127.0.0.1:${first.port}`;
    await using executor = executorOf(scene, form, first.url, { EXEC_SERVER_REMOTE_TOKEN: token });
    await executor.connected();
    let second: TestRendezvous | null = null;
    try {
      const outcome = await scene.run({
        ...harness(form, first.url, client),
        // Back before codex wants it again: its harness of the noise form does not wait for a registry that is away.
        between: async () => {
          first.kill("SIGKILL");
          await first.status;
          second = await TestRendezvous.start(scene.directory, { listen });
          await second.logged("executor connected");
        },
      });
      assert.match(outcome.first, /first-42/, outcome.everything.slice(-2000));
      assert.match(outcome.second, /second-43/, outcome.everything.slice(-2000));
      // The noise form's harness has given its session up by then, and opens another one.
      if (form === "plain") await executor.logged("session resumed");
    } finally {
      await first[Symbol.asyncDispose]();
      await (second as TestRendezvous | null)?.[Symbol.asyncDispose]();
    }
  });
}

codexTest(
  "codex resumes its session through noise after a kill of the rendezvous, if a service manager holds its socket",
  areInstalled(["perl"], "a socket that a service manager holds") ? null : "perl is not installed",
  async (scene) => {
    const tokens = `${scene.directory}/tokens.json`;
    await Deno.writeTextFile(tokens, formatTokenFile([]), { mode: 0o600 });
    const [token, client] = [await addToken(tokens, ["executor"]), await addToken(tokens, ["client"])];
    await using manager = await ServiceManager.open(["--tokens", tokens, "--listen", "ws://127.0.0.1:PORT"]);
    await manager.start();
    await using executor = executorOf(scene, "noise", manager.url, { EXEC_SERVER_REMOTE_TOKEN: token });
    await executor.connected();
    const { first, second, everything } = await scene.run({
      ...harness("noise", manager.url, client),
      // Codex asks for its session while nobody answers.
      between: async () => {
        await manager.kill();
        setTimeout(() => void manager.start(), 1000);
      },
      terminal: {
        command: "trap 'echo caught-int; exit 42' INT; echo ready; while :; do sleep 0.2; done",
        typed: "\u0003",
      },
    });
    assert.match(first, /ready/, everything.slice(-2000));
    assert.match(second, /exited with code 42[^]*caught-int/, JSON.stringify([first, second]));
  },
);

codexTest(
  "codex reaches our executor by noise over TLS with an authority of our own",
  areInstalled(["openssl"], "noise over TLS") ? null : "openssl is not installed",
  async (scene) => {
    const { caFile, certFile, keyFile } = await makeAuthority(scene.directory);
    const tls = { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
    await using rendezvous = new TinyRendezvous({ tls, hostname: "localhost" });
    await using executor = executorOf(scene, "noise", rendezvous.url, { SSL_CERT_FILE: caFile });
    await executor.connected();
    const { env } = harness("noise", rendezvous.url, "a-token");
    const { first, everything } = await scene.run({ env: { ...env, SSL_CERT_FILE: caFile } });
    assert.match(first, /first-42/, everything.slice(-2000));
  },
);
