/**
 * The real codex on our rendezvous, both halves: as executor in the seed's form (0.130) and in the noise form (0.166),
 * and as client by a plain URL and through noise. Each time whole turns with a scripted model; the connection to the
 * executor is cut in between, or the rendezvous restarts; and Ctrl-C at a terminal.
 *
 * Needs codex 0.166 (`CODEX_DIR`), 0.130 (`CODEX130_DIR`) and the checks with the scripted model (`CHECKS`).
 */

import assert from "node:assert/strict";
import { makeAuthority } from "../support/certificates.ts";
import { areInstalled } from "../support/installed.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { Relay } from "../support/relay.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";
import { TestServer } from "../support/test_server.ts";
import { missingTls } from "../support/test_tls.ts";
import { codexTest, environmentOf, type Run, type Scene } from "./scene.ts";

const NO_130 = Deno.env.has("CODEX130_DIR") ? null : "CODEX130_DIR is not set";

function codex130(): string {
  const package_ = `${Deno.env.get("CODEX130_DIR")}/node_modules/@openai`;
  for (const { name } of Deno.readDirSync(package_)) {
    const vendor = `${package_}/${name}/vendor`;
    if (!exists(vendor)) continue;
    for (const { name: target } of Deno.readDirSync(vendor)) {
      const program = `${vendor}/${target}/codex/codex`;
      if (exists(program)) return program;
    }
  }
  throw new Error(`there is no codex below ${package_}`);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A codex that offers itself as executor, until it is disposed of. */
async function startExecutor(
  scene: Scene,
  program: string,
  { args, env }: { args: readonly string[]; env: Record<string, string> },
): Promise<AsyncDisposable> {
  const home = `${scene.directory}/${crypto.randomUUID()}`;
  await Deno.mkdir(`${home}/codex`, { recursive: true });
  // Codex 0.166 names directories by URLs. Codex 0.130 takes `file:///x` for a path below its own directory.
  await Deno.symlink("/", `${home}/file:`);
  const child = new Deno.Command(program, {
    args: ["exec-server", ...args],
    cwd: home,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: `${home}/codex`, RUST_LOG: "warn", ...env },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch {
        // Ended already.
      }
      await child.status;
    },
  };
}

/** Ctrl-C. If a cut lies between, the session is resumed: the process was started before it. */
async function interrupt(scene: Scene, run: Run): Promise<void> {
  const command = "trap 'echo caught-int; exit 42' INT; echo ready; while :; do sleep 0.2; done";
  const { first, second, everything } = await scene.run({ ...run, terminal: { command, typed: "\u0003" } });
  assert.match(first, /ready/, everything.slice(-2000));
  assert.match(second, /exited with code 42[^]*caught-int/, JSON.stringify([first, second]));
}

const harnessEnv = (url: string, id: string, token: string) => ({
  CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: url,
  CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: id,
  CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: token,
});

codexTest("codex 0.166 serves codex 0.166 through noise, also after a cut on either side", null, async (scene) => {
  await using rendezvous = await TestRendezvous.start(scene.directory);
  const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
  await using toExecutor = new Relay(rendezvous.port);
  await using toClient = new Relay(rendezvous.port);
  await using _ = await startExecutor(scene, scene.codex, {
    args: ["--remote", `http://127.0.0.1:${toExecutor.port}`, "--environment-id", "box-1"],
    env: { CODEX_API_KEY: executor },
  });
  await rendezvous.logged("executor connected");
  for (const cut of [toExecutor, toClient]) {
    const { first, second, everything } = await scene.run({
      env: harnessEnv(`http://127.0.0.1:${toClient.port}`, "box-1", client),
      between: () => rendezvous.cut(cut),
    });
    assert.match(first, /first-42/, everything.slice(-2000));
    assert.match(second, /second-43/);
    assert.ok(!everything.includes(client), "the token stays between codex and the rendezvous");
  }
  const env = harnessEnv(`http://127.0.0.1:${toClient.port}`, "box-1", client);
  await interrupt(scene, { env });
  await interrupt(scene, { env, between: () => rendezvous.cut(toClient) });
});

codexTest(
  "codex 0.130 serves a client with a token, whose session is resumed after a cut on either side",
  NO_130,
  async (scene) => {
    await using rendezvous = await TestRendezvous.start(scene.directory);
    const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
    await using toExecutor = new Relay(rendezvous.port);
    await using toClient = new Relay(rendezvous.port);
    await using _ = await startExecutor(scene, codex130(), {
      args: ["--remote", `http://127.0.0.1:${toExecutor.port}`, "--executor-id", "box-1"],
      env: { CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: executor },
    });
    const url = `ws://127.0.0.1:${toClient.port}/connect/box-1`;
    const open = async (params: Record<string, unknown>) => {
      const socket = await RawWebSocket.connectToForeign(url, { Authorization: `Bearer ${client}` });
      const { sessionId } = await ask(socket, "initialize", { clientName: "test", ...params });
      await send(socket, { method: "initialized" });
      return { socket, sessionId };
    };

    // The executor is held to have come: nobody waits for it here.
    let { socket, sessionId } = await open({});
    const script = "for i in 1 2 3; do read line; echo got $line; done";
    await ask(socket, "process/start", {
      ...{ processId: "p", argv: ["bash", "-c", script], cwd: "/tmp", env: { PATH: "/usr/bin:/bin" } },
      ...{ tty: false, pipeStdin: true, arg0: null },
    });
    let output = "";
    for (const [word, cut] of [["one", toExecutor], ["two", toClient], ["three", null]] as const) {
      await ask(socket, "process/write", { processId: "p", chunk: btoa(`${word}\n`) });
      while (!output.includes(`got ${word}`)) {
        const { chunks } = await ask(socket, "process/read", { processId: "p", afterSeq: null, waitMs: 1000 });
        output = chunks.map(({ chunk }: { chunk: string }) => atob(chunk)).join("");
      }
      if (cut === null) break;
      cut.cut();
      socket.drop();
      ({ socket } = await open({ resumeSessionId: sessionId }));
    }
    assert.equal(output, "got one\ngot two\ngot three\n");
    socket.drop();
    await rendezvous[Symbol.asyncDispose]();
    const log = await rendezvous.log;
    assert.ok(!log.includes(client) && !log.includes(executor));
  },
);

codexTest("codex 0.130 serves codex 0.166 by url, also after a cut on either side", NO_130, async (scene) => {
  await using rendezvous = await TestRendezvous.start(scene.directory);
  const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
  await using toExecutor = new Relay(rendezvous.port);
  await using toClient = new Relay(rendezvous.port);
  await using _ = await startExecutor(scene, codex130(), {
    args: ["--remote", `http://127.0.0.1:${toExecutor.port}`, "--executor-id", "box-1"],
    env: { CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: executor },
  });
  const environments = environmentOf(`ws://127.0.0.1:${toClient.port}/connect/box-1`, client);
  for (const cut of [toExecutor, toClient]) {
    const { first, second, everything } = await scene.run({ environments, between: () => rendezvous.cut(cut) });
    assert.match(first, /first-42/, everything.slice(-2000));
    assert.match(second, /second-43/, everything.slice(-2000));
    assert.ok(!everything.includes(client), "the token stays between codex and the rendezvous");
  }
  await interrupt(scene, { environments });
  await interrupt(scene, { environments, between: () => rendezvous.cut(toExecutor) });
});

/** One request and its answer, frame by frame: what an old codex answers is not as our own method table says. */
// deno-lint-ignore no-explicit-any
async function ask(socket: RawWebSocket, method: string, params: unknown): Promise<any> {
  const id = nextId++;
  await send(socket, { id, method, params });
  for (let frame = await socket.readFrame(); frame !== null; frame = await socket.readFrame()) {
    if (frame.opcode !== 0x1) continue;
    const message = JSON.parse(new TextDecoder().decode(frame.payload));
    if (message.id !== id) continue;
    if (message.error) throw new Error(`${method}: ${JSON.stringify(message.error)}`);
    return message.result;
  }
  throw new Error(`${method}: the connection was closed`);
}

async function send(socket: RawWebSocket, message: unknown): Promise<void> {
  await socket.sendFrame(0x1, new TextEncoder().encode(JSON.stringify(message)));
}

let nextId = 1;

codexTest("codex 0.166 forwards to a server of ours, through noise", null, async (scene) => {
  await using rendezvous = await TestRendezvous.start(scene.directory);
  const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
  await using server = await TestServer.start();
  await using toClient = new Relay(rendezvous.port);
  await using _ = await startExecutor(scene, scene.codex, {
    args: ["forward", "--connect", server.url, "--remote", rendezvous.url, "--environment-id", "box-1"],
    env: { CODEX_API_KEY: executor },
  });
  const env = harnessEnv(`http://127.0.0.1:${toClient.port}`, "box-1", client);
  const { first, second, everything } = await scene.run({ env });
  assert.match(first, /first-42/, everything.slice(-2000));
  assert.match(second, /second-43/);
  await interrupt(scene, { env, between: () => rendezvous.cut(toClient) });
});

codexTest("both halves of codex 0.166 come back by themselves when the rendezvous was killed", null, async (scene) => {
  const first = await TestRendezvous.start(scene.directory);
  const [executor, client] = [await first.token(["executor"]), await first.token(["client"])];
  const listen = `ws://127.0.0.1:${first.port}`;
  await using _ = await startExecutor(scene, scene.codex, {
    args: ["--remote", first.url, "--environment-id", "box-1"],
    env: { CODEX_API_KEY: executor },
  });
  let second: TestRendezvous | null = null;
  try {
    const outcome = await scene.run({
      env: harnessEnv(first.url, "box-1", client),
      // Back before codex wants it again: its harness does not wait for a registry that is away.
      between: async () => {
        first.kill("SIGKILL");
        await first.status;
        second = await TestRendezvous.start(scene.directory, { listen });
        await second.logged("executor connected");
      },
    });
    assert.match(outcome.first, /first-42/, outcome.everything.slice(-2000));
    assert.match(outcome.second, /second-43/);
  } finally {
    await first[Symbol.asyncDispose]();
    await (second as TestRendezvous | null)?.[Symbol.asyncDispose]();
  }
});

codexTest(
  "the set-up of docs/rendezvous.md over TLS: codex 0.166 with its token on standard input, and as client",
  areInstalled(["openssl"], "the rendezvous over TLS") ? await missingTls() : "openssl is not installed",
  async (scene) => {
    const { caFile, certFile, keyFile } = await makeAuthority(scene.directory);
    await using rendezvous = await TestRendezvous.start(scene.directory, {
      listen: "wss://127.0.0.1:0",
      args: ["--tls-cert", certFile, "--tls-key", keyFile],
    });
    const [executor, client] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
    const url = `https://localhost:${rendezvous.port}`;
    const home = `${scene.directory}/executor`;
    await Deno.mkdir(`${home}/codex`, { recursive: true });
    const child = new Deno.Command(scene.codex, {
      args: ["exec-server", "--remote", url, "--environment-id", "box-1", "--executor-credential-stdin"],
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: `${home}/codex`, SSL_CERT_FILE: caFile },
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const input = child.stdin.getWriter();
    try {
      const expires = Math.floor(Date.now() / 1000) + 3600;
      const credential = { version: 1, environment_id: "box-1", token: executor, expires_at: expires };
      await input.write(new TextEncoder().encode(`${JSON.stringify(credential)}\n`));
      await rendezvous.logged("executor connected");
      const env = { ...harnessEnv(url, "box-1", client), SSL_CERT_FILE: caFile };
      const { first, second, everything } = await scene.run({ env });
      assert.match(first, /first-42/, everything.slice(-2000));
      assert.match(second, /second-43/);
    } finally {
      // The end of its input ends it.
      await input.close();
      await child.status;
    }
  },
);
