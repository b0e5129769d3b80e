/** Processes beyond their session: who sees them, who reaches them, and by which name. */

import assert from "node:assert/strict";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

const START = { argv: ["sh", "-c", "echo up; exec sleep 1000"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
const CAT = { argv: ["cat"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false, pipeStdin: true };
const UID = { optionalFields: ["processUid"] };

async function list(client: Client, scope: "session" | "server" | null = null) {
  return (await client.call("process/list", scope === null ? null : { scope })).processes;
}

async function uidOf(client: Client, processId: string): Promise<string> {
  return (await list(client, "session")).find((entry) => entry.processId === processId)!.uid;
}

/** Waits until so many processes of other sessions are listed. */
async function othersListed(client: Client, count: number) {
  for (;;) {
    const others = (await list(client, "server")).filter(({ own, kept }) => !own && kept);
    if (others.length === count) return others;
  }
}

function refusal(message: RegExp) {
  return (error: unknown) => {
    assert(error instanceof RpcError, String(error));
    assert.equal(error.code, -32600);
    assert.match(error.message, message);
    return true;
  };
}

Deno.test("a process that asks for it outlives its session, is read and ended by others, and ends with the server", async () => {
  const server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const first = await server.connect();
  const events = first.follow("dev");
  await first.call("process/start", { ...START, processId: "dev", keepOnSessionEnd: true });
  await first.call("process/start", { ...START, processId: "other", keepOnSessionEnd: true });
  await first.call("process/start", { ...START, processId: "gone" });
  await events.next();
  assert.deepEqual((await list(first)).map(({ processId, kept, own }) => [processId, kept, own]), [
    ["dev", false, true],
    ["other", false, true],
    ["gone", false, true],
  ]);
  await first.close();

  const second = await server.connect();
  const [dev, other] = await othersListed(second, 2);
  assert.deepEqual(
    [dev, other].map((entry) => [entry!.processId, entry!.kept, entry!.keepOnSessionEnd, entry!.exited]),
    [["dev", true, true, false], ["other", true, true, false]],
  );
  assert.deepEqual((await list(second)).map(({ uid }) => uid), [dev!.uid, other!.uid], "they belong to nobody now");
  assert.deepEqual(await list(second, "session"), []);
  const { chunks } = await second.call("process/read", { uid: dev!.uid });
  assert.equal(atob(chunks[0]!.chunk), "up\n");
  assert.deepEqual(await second.call("process/terminate", { uid: dev!.uid }), { running: true });
  assert.equal((await second.call("process/wait", { uid: dev!.uid })).exitCode, 137);
  await second.close();

  server.kill("SIGTERM");
  await server.status;
  assert.throws(() => Deno.kill(other!.pid!, "SIGCONT"), Deno.errors.NotFound);
  await server[Symbol.asyncDispose]();
});

Deno.test("a kept process is listed for every session from its start, others are for nobody else", async () => {
  await using server = await TestServer.start();
  await using one = await server.connect(UID);
  await using two = await server.connect();
  const { uid } = await one.call("process/start", { ...START, processId: "dev", keepOnSessionEnd: true });
  const { uid: secret } = await one.call("process/start", { ...START, processId: "private" });
  assert.match(uid!, /^[0-9a-hjkmnp-tv-z]{12}$/);
  assert.notEqual(uid, secret);
  const [entry, ...rest] = await list(two, "server");
  assert.deepEqual(
    [entry?.uid, entry?.processId, entry?.own, entry?.kept, entry?.keepOnSessionEnd],
    [uid, "dev", false, false, true],
  );
  assert.deepEqual([rest, await list(two), await list(two, "session")], [[], [], []]);
  assert.deepEqual((await list(one, "server")).map(({ uid }) => uid), [uid, secret]);
  await assert.rejects(
    two.call("process/read", { uid: secret! }),
    refusal(new RegExp(`^unknown process uid ${secret}$`)),
  );
  assert.deepEqual(await two.call("process/terminate", { uid: secret! }), { running: false });
  assert.equal((await one.call("process/read", { processId: "private" })).exited, false);
});

Deno.test("an id that is unknown in its session does not reach a kept process of another session", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const first = await server.connect();
  await first.call("process/start", { ...CAT, processId: "1", keepOnSessionEnd: true });
  await first.close();
  await using second = await server.connect();
  const [kept] = await othersListed(second, 1);
  const typed = { processId: "1", chunk: btoa("late\n") };
  assert.deepEqual(await second.call("process/write", typed), { status: "unknownProcess" });
  assert.deepEqual(await second.call("process/closeStdin", { processId: "1" }), { status: "unknownProcess" });
  assert.deepEqual(await second.call("process/terminate", { processId: "1" }), { running: false });
  await second.call("process/signal", { processId: "1", signal: "term" });
  const unknown = refusal(/^unknown process id 1$/);
  await assert.rejects(second.call("process/read", { processId: "1" }), unknown);
  await assert.rejects(second.call("process/wait", { processId: "1" }), unknown);
  await assert.rejects(second.call("process/snapshot", { processId: "1" }), unknown);

  // By its name it is reached, and it has got none of that.
  const { uid } = kept!;
  await second.call("process/write", { uid, chunk: btoa("meant\n") });
  assert.deepEqual(await second.call("process/closeStdin", { uid }), { status: "accepted" });
  assert.equal((await second.call("process/wait", { uid })).exitCode, 0);
  assert.equal(atob((await second.call("process/snapshot", { uid })).stdout), "meant\n");
});

Deno.test("writes by id and by uid to one process keep the order of their requests", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect();
  // Reads nothing before it is told to, so that the first writes fill its pipe and the next ones wait.
  const argv = ["sh", "-c", "echo ready; kill -STOP $$; exec cat"];
  const events = client.follow("p");
  await client.call("process/start", { ...CAT, argv, processId: "p" });
  await events.next();
  const uid = await uidOf(client, "p");
  const size = 256 * 1024;
  const letters = "abcdefghijklmnop".split("");
  const writes = letters.map((letter, index) => {
    const chunk = btoa(letter.repeat(size));
    // One of many: by a line of its own it would overtake those before it.
    return client.call("process/write", index === 9 ? { uid, chunk } : { processId: "p", chunk });
  });
  const end = client.call("process/closeStdin", { uid });
  await client.call("process/signal", { uid, signal: "cont" });
  for (const write of writes) assert.deepEqual(await write, { status: "accepted" });
  assert.deepEqual(await end, { status: "accepted" });
  let output = "";
  for await (const { method, params } of events) if (method === "process/output") output += atob(params.chunk);
  assert.equal(output, letters.map((letter) => letter.repeat(size)).join(""));
});

Deno.test("what a kept process wrote before its session ended stays readable", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const first = await server.connect(UID);
  const build = { ...START, argv: ["sh", "-c", "echo built; exit 3"], processId: "build" };
  const { uid } = await first.call("process/start", { ...build, keepOnSessionEnd: true });
  await first.call("process/wait", { processId: "build" });
  await first.close();
  await using second = await server.connect();
  await othersListed(second, 1);
  const { chunks, exitCode, closed } = await second.call("process/read", { uid: uid! });
  assert.deepEqual([atob(chunks[0]!.chunk), exitCode, closed], ["built\n", 3, true]);
});

Deno.test("without sharing a session reaches only its own processes, by either name", async () => {
  const args = ["--detached-session-ttl-ms", "1", "--no-shared-processes"];
  const server = await TestServer.start({ args });
  const first = await server.connect(UID);
  const { uid } = await first.call("process/start", { ...START, processId: "dev", keepOnSessionEnd: true });
  const pid = (await list(first))[0]!.pid!;
  assert.equal((await first.call("process/read", { uid: uid! })).exited, false);
  const second = await server.connect();
  assert.deepEqual(await list(second, "server"), []);
  await assert.rejects(second.call("process/read", { uid: uid! }), refusal(/^unknown process uid/));
  await first.call("session/end", null);
  assert.deepEqual(await list(second, "server"), []);
  assert.deepEqual(await second.call("process/terminate", { uid: uid! }), { running: false });
  Deno.kill(pid, "SIGCONT");
  await second.close();
  await server[Symbol.asyncDispose]();
  assert.throws(() => Deno.kill(pid, "SIGCONT"), Deno.errors.NotFound);
});

Deno.test("the server's flag makes keeping the default, and a start may still say no", async () => {
  const args = ["--detached-session-ttl-ms", "1", "--keep-processes-on-session-end"];
  await using server = await TestServer.start({ args });
  const first = await server.connect();
  await first.call("process/start", { ...START, processId: "kept" });
  await first.call("process/start", { ...START, processId: "gone", keepOnSessionEnd: false });
  await first.close();
  await using second = await server.connect();
  assert.deepEqual((await othersListed(second, 1)).map(({ processId }) => processId), ["kept"]);
});

Deno.test("the answer to a start is the reference's unless the uid was asked for", async () => {
  await using server = await TestServer.start();
  await using plain = await server.connect();
  await using asking = await server.connect(UID);
  const start = { ...START, processId: "p" };
  assert.deepEqual(await plain.call("process/start", start), { processId: "p", sandboxType: "none" });
  const { uid, ...others } = await asking.call("process/start", start);
  assert.deepEqual(others, { processId: "p", sandboxType: "none" });
  assert.equal(uid, await uidOf(asking, "p"));
  const { capabilities } = plain.environmentInfo;
  assert.deepEqual([capabilities.processUid, capabilities.sessionEnd], [true, true]);
});

Deno.test("session/end ends the processes of its session, spares kept ones, and closes the connection behind its answer", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect({ optionalFields: ["processUid", "processEndReason"] });
  await using other = await server.connect();
  const { uid } = await client.call("process/start", { ...START, processId: "kept", keepOnSessionEnd: true });
  const events = client.follow("p");
  await client.call("process/start", { ...START, processId: "p" });
  const wait = client.call("process/wait", { processId: "p" });
  const { sessionId } = client;
  assert.deepEqual(await client.call("session/end", null), {});
  assert.deepEqual([(await wait).exitCode, (await wait).endReason], [137, "sessionEnded"]);
  let last = "";
  for await (const { method } of events) last = method;
  assert.equal(last, "process/closed", "the client is told of the ends");
  await client.closed;
  await assert.rejects(server.connect({ resumeSessionId: sessionId }), refusal(/^unknown session id/));
  assert.deepEqual((await list(other)).map((entry) => [entry.uid, entry.kept]), [[uid, true]]);
});
