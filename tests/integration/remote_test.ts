/** A server in remote mode behind a rendezvous, in both forms: what users are promised. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { makeAuthority } from "../support/certificates.ts";
import { REMOTE_TOKEN, RemoteChild } from "../support/remote_child.ts";
import { connectThrough, type Form } from "../support/remote_client.ts";
import type { Client } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { type Direction, TinyRendezvous, type TinyRendezvousOptions } from "../support/tiny_rendezvous.ts";
import { decodeRelayFrame } from "../../src/remote/relay/relay_frame.ts";

const HAS_OPENSSL = areInstalled(["openssl"], "remote mode over TLS");

interface SceneOptions extends TinyRendezvousOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

interface Stage {
  readonly rendezvous: TinyRendezvous;
  readonly executor: RemoteChild;
  readonly directory: string;
}

function remoteArgs(form: Form, url: string, directory: string): string[] {
  return form === "plain"
    ? ["--remote", url, "--executor-id", "devbox"]
    : ["--remote", url, "--environment-id", "devbox", "--identity-file", `${directory}/identity`];
}

function onStage(form: Form, options: SceneOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
  return inScratchDirectory(async (directory) => {
    const { args = [], env = {}, ...settings } = options;
    await using rendezvous = new TinyRendezvous(settings);
    await using executor = new RemoteChild({ args: [...remoteArgs(form, rendezvous.url, directory), ...args], env });
    await executor.connected();
    await act({ rendezvous, executor, directory });
  });
}

const START = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };

async function run(client: Client, argv: string[], processId: string = crypto.randomUUID()): Promise<string> {
  await client.call("process/start", { ...START, processId, argv });
  return await outputOf(client, processId);
}

/** All output of a process, read by long polls. */
async function outputOf(client: Client, processId: string, from = 0): Promise<string> {
  let text = "";
  for (let afterSeq = from;;) {
    const answer = await client.call("process/read", { processId, afterSeq, waitMs: 60_000 });
    for (const { chunk } of answer.chunks) text += new TextDecoder().decode(Uint8Array.fromBase64(chunk));
    afterSeq = answer.nextSeq - 1;
    if (answer.closed) return text;
  }
}

for (const form of ["noise", "plain"] as const) {
  Deno.test(`a session survives the loss of the executor's websocket, and of the client's (${form})`, () =>
    onStage(form, {}, async ({ rendezvous, executor }) => {
      let client = await connectThrough(rendezvous, form);
      const { sessionId } = client;
      await client.call("process/start", {
        ...START,
        processId: "p",
        argv: ["sh", "-c", "read x; echo got $x"],
        pipeStdin: true,
      });
      const cuts: [side: string, cut: () => void | Promise<void>][] = [
        // In the plain form the executor's websocket is the client's.
        ["executor", () => form === "plain" ? client.close() : rendezvous.cutExecutor()],
        ["client", () => client.close()],
      ];
      for (const [side, cut] of cuts) {
        const connections = rendezvous.executorConnections;
        await cut();
        if (side === "executor") await rendezvous.until(() => rendezvous.executorConnections > connections);
        client = await resume(() => connectThrough(rendezvous, form, { resumeSessionId: sessionId }));
        assert.equal(client.sessionId, sessionId);
      }
      await client.call("process/write", { processId: "p", chunk: btoa("it\n") });
      assert.equal(await outputOf(client, "p"), "got it\n");
      await client.close();
      executor.kill("SIGTERM");
      const { code, stdout, stderr } = await executor.ended();
      assert.deepEqual([code, stdout], [0, ""]);
      assert.ok(!stderr.includes(REMOTE_TOKEN) && !stderr.includes("/harness"), "no credential is logged");
    }));

  Deno.test(`no child has the token, and the process list shows none (${form})`, () =>
    onStage(
      form,
      { env: { CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: REMOTE_TOKEN } },
      async ({ rendezvous, executor }) => {
        const client = await connectThrough(rendezvous, form);
        const env = { ...START.env, EXEC_SERVER_REMOTE_TOKEN: "of the request" };
        await client.call("process/start", { ...START, env, processId: "env", argv: ["env"] });
        const seen = await outputOf(client, "env");
        assert.ok(!seen.includes(REMOTE_TOKEN));
        // Everything the server has, and not even names that hint at a secret left out.
        const none = { exclude: [], set: {}, includeOnly: [] };
        const envPolicy = { inherit: "all", ignoreDefaultExcludes: true, ...none } as const;
        await client.call("process/start", { ...START, envPolicy, processId: "all", argv: ["env"] });
        const all = await outputOf(client, "all");
        assert.match(all, /^HOME=/m);
        assert.ok(!all.includes(REMOTE_TOKEN) && !/BEARER_TOKEN|REMOTE_TOKEN/.test(all));
        assert.ok(!(await Deno.readTextFile(`/proc/${executor.pid}/cmdline`)).includes(REMOTE_TOKEN));
        await client.close();
      },
    ));
}

Deno.test("several clients work at once through one noise websocket, each with a session of its own", () =>
  onStage("noise", {}, async ({ rendezvous }) => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connectThrough(rendezvous, "noise")));
    assert.equal(rendezvous.executorConnections, 1);
    assert.equal(new Set(clients.map(({ sessionId }) => sessionId)).size, 8);
    const texts = await Promise.all(
      clients.map((client, index) => run(client, ["echo", `number ${index}`], "same-id")),
    );
    assert.deepEqual(texts, clients.map((_, index) => `number ${index}\n`));
    // The end of one is the end of one.
    await clients[0]!.close();
    assert.equal(await run(clients[1]!, ["echo", "still here"]), "still here\n");
    await Promise.all(clients.map((client) => client.close()));
  }));

Deno.test("large messages pass in both directions, and a large file arrives whole (noise)", () =>
  onStage("noise", {}, async ({ rendezvous, directory }) => {
    const client = await connectThrough(rendezvous, "noise");
    const content = new Uint8Array(20_000_000).map((_, index) => (index * 2654435761) >>> 24);
    const path = `${directory}/large`;
    await client.call("fs/writeFile", { path, dataBase64: content.toBase64() });
    const { dataBase64 } = await client.call("fs/readFile", { path });
    assert.equal(dataBase64, content.toBase64());
    await client.close();
  }));

Deno.test("a frame that is tampered with ends its stream alone; repeated and reordered frames change nothing", async () => {
  const wrong = new Set<string>();
  const tricks: Record<string, NonNullable<TinyRendezvousOptions["pass"]>> = {
    tampered: (frame, _direction, handOn) => {
      const { streamId, body } = decodeRelayFrame(frame);
      if (body?.type === "data" && wrong.has(streamId)) frame[frame.length - 1]! ^= 1;
      handOn(frame);
    },
    repeated: (frame, _direction, handOn) => {
      handOn(frame);
      if (decodeRelayFrame(frame).body?.type === "data") handOn(frame.slice());
    },
    reordered: swappedPairs(),
  };
  let trick = "";
  const pass: TinyRendezvousOptions["pass"] = (...frame) => tricks[trick]!(...frame);
  await onStage("noise", { pass }, async ({ rendezvous, executor }) => {
    const expected = Array.from({ length: 20000 }, (_, n) => `${n + 1}\n`).join("");
    for (trick of ["repeated", "reordered", "tampered"]) {
      const client = await connectThrough(rendezvous, "noise");
      assert.equal(await run(client, ["seq", "20000"]), expected, trick);
      if (trick !== "tampered") {
        await client.close();
        await rendezvous.until(() => rendezvous.streams.length === 0);
        continue;
      }
      const streams = new Set(rendezvous.streams);
      const bystander = await connectThrough(rendezvous, "noise");
      for (const id of streams) wrong.add(id);
      await assert.rejects(client.call("environment/status", null));
      await executor.logged("disconnected", 3);
      assert.equal(await run(bystander, ["echo", "unharmed"]), "unharmed\n");
      await bystander.close();
    }
  });
});

Deno.test("a harness that the registry does not know is refused, and the next one is served", async () => {
  let isValid = false;
  await onStage("noise", {
    answer: ({ path }) => path.endsWith("/validate") ? Response.json({ valid: isValid }) : null,
  }, async ({ rendezvous, executor }) => {
    await assert.rejects(connectThrough(rendezvous, "noise"), /noise_relay_protocol_error/);
    await executor.logged("harness refused");
    isValid = true;
    await (await connectThrough(rendezvous, "noise")).close();
    const { json, headers } = rendezvous.calls.findLast(({ path }) => path.endsWith("/validate"))!;
    assert.equal(json.harness_key_authorization, "auth-1");
    assert.equal(json.executor_registration_id, "reg-1");
    assert.match(headers.get("x-codex-noise-stream-id")!, /^[0-9a-f-]{36}$/);
    assert.equal(headers.get("authorization"), `Bearer ${REMOTE_TOKEN}`);
  });
});

Deno.test({
  name: `100 MB of output pass over TLS with an authority of our own${HAS_OPENSSL ? "" : " (SKIPPED: no openssl)"}`,
  ignore: !HAS_OPENSSL,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const { caFile, certFile, keyFile } = await makeAuthority(directory);
      const tls = { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
      // Only the executor speaks TLS here: its rendezvous is the one that is tested.
      await using rendezvous = new TinyRendezvous({ tls, hostname: "localhost" });
      await using executor = new RemoteChild({
        args: remoteArgs("noise", rendezvous.url, directory),
        env: { SSL_CERT_FILE: caFile },
      });
      await executor.connected();
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "-A", `--cert=${caFile}`, CLIENT.pathname, rendezvous.url],
        stdin: "null",
      }).output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      assert.equal(new TextDecoder().decode(stdout), "104857600\n");
    }),
});

const CLIENT = new URL("../fixtures/noise/stream_client.ts", import.meta.url);

/** Hands on the second of two data frames of a direction first; one that stays alone leaves after a moment. */
function swappedPairs(): NonNullable<TinyRendezvousOptions["pass"]> {
  const held = { toExecutor: null, toHarness: null } as Record<Direction, (() => void) | null>;
  return (frame, direction, handOn) => {
    if (decodeRelayFrame(frame).body?.type !== "data") return handOn(frame);
    const first = held[direction];
    if (first !== null) {
      handOn(frame);
      return first();
    }
    const release = held[direction] = () => {
      if (held[direction] !== release) return;
      held[direction] = null;
      handOn(frame);
    };
    setTimeout(release, 5);
  };
}

/** The server may not have noticed the loss yet. */
async function resume(connect: () => Promise<Client>): Promise<Client> {
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if ((error as { code?: number }).code !== -32010) throw error;
    }
  }
}
