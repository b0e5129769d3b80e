/** What can still be read of processes that have closed, and for how long. */

import assert from "node:assert/strict";
import { Gate } from "../support/gate.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";

const START = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
const EVICTED = /^unknown process id \w+: it had closed and was evicted, because this server retains at most /;

async function run(client: Client, processId: string, script: string): Promise<void> {
  await client.call("process/start", { ...START, processId, argv: ["sh", "-c", script] });
  await client.call("process/wait", { processId });
}

async function messageOfRead(client: Client, processId: string): Promise<string | null> {
  try {
    await client.call("process/read", { processId });
    return null;
  } catch (error) {
    assert(error instanceof RpcError && error.code === -32600, String(error));
    return error.message;
  }
}

Deno.test("a build that ends while its client is away is there when the client comes back, however late", async () => {
  const directory = await Deno.makeTempDir();
  const gate = await Gate.make(directory, "gate");
  const args = ["--closed-process-retention-ms", "1000", "--detached-session-ttl-ms", "600000"];
  await using server = await TestServer.start({ args });
  const away = await server.connect();
  await away.call("process/start", {
    ...START,
    processId: "build",
    argv: ["sh", "-c", `read go < ${gate.path}; echo built`],
  });
  await run(away, "before", "echo before");
  const { sessionId } = away;
  await away.close();
  await gate.open();

  // The time of somebody who stays goes by meanwhile.
  await using present = await server.connect();
  for (const processId of ["1", "2"]) {
    await run(present, processId, "true");
    while (await messageOfRead(present, processId) === null);
    assert.equal(await messageOfRead(present, processId), `unknown process id ${processId}`);
  }

  await using back = await server.connect({ resumeSessionId: sessionId });
  const { chunks, closed } = await back.call("process/read", { processId: "build" });
  assert.deepEqual([atob(chunks[0]!.chunk), closed], ["built\n", true]);
  // And now that its client is there, it goes in its time.
  while (await messageOfRead(back, "build") === null);
  assert.equal(await messageOfRead(back, "build"), "unknown process id build");
  await Deno.remove(directory, { recursive: true });
});

/** The frames of a connection whose peer has vanished go unread and unanswered, pings included. */
Deno.test("a build that ends after its client has vanished without a word is there when the client comes back", async () => {
  const directory = await Deno.makeTempDir();
  const gate = await Gate.make(directory, "gate");
  await using server = await TestServer.start({ args: ["--closed-process-retention-ms", "1000"] });
  using vanished = await RawWebSocket.connect(server.url);
  const { sessionId } = await vanished.handshake();
  const argv = ["sh", "-c", `read go < ${gate.path}; echo built`];
  const params = { ...START, processId: "build", argv, keepOnSessionEnd: true };
  await vanished.sendText(JSON.stringify({ id: 1, method: "process/start", params }));
  await vanished.readUntil(({ id }) => id === 1);
  await gate.open();

  await using present = await server.connect();
  for (;;) {
    const [build] = (await present.call("process/list", { scope: "server" })).processes;
    if (build!.closed) break;
  }
  for (const processId of ["1", "2"]) {
    await run(present, processId, "true");
    while (await messageOfRead(present, processId) === null);
  }

  await using back = await server.connect({ resumeSessionId: sessionId, takeover: true });
  const { chunks } = await back.call("process/read", { processId: "build" });
  assert.equal(atob(chunks[0]!.chunk), "built\n");
  while (await messageOfRead(back, "build") === null);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("closed processes are bounded in number over all sessions, and a late reader is told why", async () => {
  const server = await TestServer.start({ args: ["--max-closed-processes", "3"] });
  const one = await server.connect();
  const two = await server.connect({ optionalFields: ["processUid"] });
  await run(one, "p1", "echo first");
  const { uid } = await two.call("process/start", { ...START, processId: "p2", argv: ["true"] });
  await two.call("process/wait", { processId: "p2" });
  for (const processId of ["p3", "p4", "p5"]) await run(two, processId, "true");
  assert.match(await messageOfRead(one, "p1") ?? "", /^unknown process id p1: .* at most 3 closed processes$/);
  assert.match(await messageOfRead(two, "p2") ?? "", EVICTED);
  await assert.rejects(
    two.call("process/read", { uid: uid! }),
    /unknown process uid \w+: it had closed and was evicted/,
  );
  for (const processId of ["p3", "p4", "p5"]) assert.equal(await messageOfRead(two, processId), null);
  assert.deepEqual(await one.call("process/terminate", { processId: "p1" }), { running: false });
  await run(one, "p1", "echo again");
  assert.equal(await messageOfRead(one, "p1"), null);
  await one.close();
  await two.close();
  await server[Symbol.asyncDispose]();
  const told = (await server.log).match(/closed processes evicted early .*evicted=\d+/g)?.map((line) => line.slice(-1));
  assert.deepEqual(told, ["1", "2"], "the first at once, the others at the end");
});

Deno.test("closed processes are bounded in bytes: the oldest go, the last one stays", async () => {
  const args = ["--max-closed-process-bytes", "4194304"];
  await using server = await TestServer.start({ args });
  await using client = await server.connect();
  for (let count = 1; count <= 6; count++) await run(client, `p${count}`, "head -c 3000000 /dev/zero");
  assert.match(await messageOfRead(client, "p1") ?? "", /at most 4194304 bytes of closed processes$/);
  assert.equal(await messageOfRead(client, "p5"), null);
  assert.equal(await messageOfRead(client, "p6"), null);
  const { processes } = await client.call("process/list", null);
  assert.deepEqual(
    processes.map(({ processId }) => processId),
    ["p5", "p6"],
    "each holds its last MiB and half of that",
  );
});

/** Texts of the longest that the kernel takes, and of a length that only a message bounds. */
Deno.test("a reader whose cursor was evicted learns what it has missed, if it asked", async () => {
  await using server = await TestServer.start({ args: ["--retained-output-bytes-per-process", "65536"] });
  await using client = await server.connect({ optionalFields: ["outputGap"] });
  await using plain = await server.connect();
  const sizes: number[] = [];
  client.onNotification(({ method, params }) => {
    if (method === "process/output") sizes[params.seq] = atob(params.chunk).length;
  });
  const total = 1_000_000;
  for (const one of [client, plain]) {
    await run(one, "p", `head -c 1000 /dev/zero; sleep 0.1; head -c ${total} /dev/zero`);
  }
  const read = (afterSeq: number) => client.call("process/read", { processId: "p", afterSeq });
  const all = await read(0);
  const retained = all.chunks.reduce((sum, { chunk }) => sum + atob(chunk).length, 0);
  assert.equal(all.firstSeq, all.chunks[0]!.seq);
  assert.equal(all.droppedBytes, total + 1000 - retained);
  assert(all.droppedBytes > 0);
  for (const afterSeq of [1, 2, all.firstSeq! - 2, all.firstSeq! - 1, all.nextSeq - 1]) {
    const missed: number = sizes.slice(afterSeq + 1, all.firstSeq!).reduce((sum, bytes) => sum + (bytes ?? 0), 0);
    const { firstSeq, droppedBytes } = await read(afterSeq);
    assert.deepEqual([firstSeq, droppedBytes], [all.firstSeq, missed], `after ${afterSeq}`);
  }
  const members = Object.keys(await plain.call("process/read", { processId: "p" })).sort();
  assert.deepEqual(members, ["chunks", "closed", "exitCode", "exited", "failure", "nextSeq", "sandboxDenied"]);
  assert.equal(client.environmentInfo.capabilities.outputGap, true);
});
