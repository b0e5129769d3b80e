/** Executors of the noise form and of the relay before it, over real sockets. */

import assert from "node:assert/strict";
import { TokenTable } from "../../../src/transport/tokens/token_table.ts";
import { RawWebSocket } from "../../support/raw_websocket.ts";
import { Hall, HARNESS_KEY, KEY, nextFrame, nextMessage, okay, publicKey, send, stream, text, TOKENS } from "./hall.ts";

Deno.test("register, connect and validate speak the noise form, and only the key that was let in is valid", async () => {
  await using hall = await Hall.open();
  const { socket, answer } = await hall.noiseExecutor("box-1");
  using _ = socket;
  assert.equal(answer.environment_id, "box-1");
  assert.equal(answer.security_profile, "noise_hybrid_ik_v1");
  const found = okay(await hall.connect("box-1"));
  assert.deepEqual(Object.keys(found).sort(), [
    ...["environment_id", "executor_public_key", "executor_registration_id", "harness_key_authorization"],
    ...["security_profile", "url"],
  ]);
  assert.deepEqual(found.executor_public_key, KEY);
  assert.equal(found.executor_registration_id, answer.executor_registration_id);
  assert.ok(found.harness_key_authorization.length <= 4096, "the reference's executor takes no more");

  const validate = async (change: Record<string, unknown>, id = "box-1") => {
    const body = {
      executor_registration_id: answer.executor_registration_id,
      harness_public_key: HARNESS_KEY,
      harness_key_authorization: found.harness_key_authorization,
      ...change,
    };
    return okay(await hall.request("POST", `/cloud/environment/${id}/validate`, { token: TOKENS.executor, body }))
      .valid;
  };
  assert.equal(await validate({}), true);
  assert.equal(await validate({ harness_public_key: publicKey(3) }), false);
  assert.equal(await validate({ executor_registration_id: "other" }), false);
  assert.equal(await validate({ harness_key_authorization: found.harness_key_authorization.slice(0, -2) }), false);
  assert.equal(await validate({ harness_key_authorization: new URL(found.url).searchParams.get("ticket") }), false);
  assert.equal(await validate({}, "box-2"), false);
  // What the client's token has opened is over with the token.
  hall.admissions.replace(new TokenTable(hall.admissions.table.entries.filter(({ name }) => name !== "clients")));
  assert.equal(await validate({}), false);
});

Deno.test("frames go to the harness that owns their stream, and the id of another's stream is refused (duty 4)", async () => {
  await using hall = await Hall.open();
  const { socket: executor } = await hall.noiseExecutor("box-1");
  using _ = executor;
  using one = await hall.harness("box-1");
  using two = await hall.harness("box-1");
  await send(one, stream("s1").resume(), stream("s1").data(0, text("from one")));
  await send(two, stream("s2").data(0, text("from two")));
  const arrived = [await nextFrame(executor), await nextFrame(executor), await nextFrame(executor)];
  assert.deepEqual(arrived.map(({ streamId }) => streamId).sort(), ["s1", "s1", "s2"]);
  await send(two, stream("s1").data(1, text("stolen")));
  assert.deepEqual(await nextFrame(two), { streamId: "s1", body: { type: "reset", reason: "stream_id_in_use" } });

  await send(
    executor,
    stream("s2").data(0, text("to two")),
    stream("s1").data(0, text("to one")),
    stream("s3").resume(),
  );
  assert.equal((await nextFrame(one)).streamId, "s1");
  assert.equal((await nextFrame(two)).streamId, "s2");
  // A stream that was reset may be used by anybody.
  await send(executor, stream("s1").reset("over"));
  assert.deepEqual((await nextFrame(one)).body, { type: "reset", reason: "over" });
  await send(two, stream("s1").data(0, text("anew")));
  assert.equal((await nextFrame(executor)).streamId, "s1");
});

Deno.test("when a harness ends, the executor gets a reset for each of its streams, and for no other (duty 1)", async () => {
  await using hall = await Hall.open();
  const { socket: executor } = await hall.noiseExecutor("box-1");
  using _ = executor;
  const leaving = await hall.harness("box-1");
  using staying = await hall.harness("box-1");
  await send(leaving, stream("a").resume(), stream("b").resume());
  await send(staying, stream("c").resume());
  for (let i = 0; i < 3; i++) await nextFrame(executor);
  leaving.drop();
  const resets = [await nextFrame(executor), await nextFrame(executor)];
  assert.deepEqual(resets.sort((x, y) => x.streamId < y.streamId ? -1 : 1), [
    { streamId: "a", body: { type: "reset", reason: "harness_disconnected" } },
    { streamId: "b", body: { type: "reset", reason: "harness_disconnected" } },
  ]);
  await send(staying, stream("c").data(0, text("still here")));
  assert.equal((await nextFrame(executor)).body?.type, "data");
});

Deno.test("when the executor ends, each harness gets a reset for its streams and is dropped (duty 2)", async () => {
  await using hall = await Hall.open();
  const { socket: executor } = await hall.noiseExecutor("box-1");
  using one = await hall.harness("box-1");
  using two = await hall.harness("box-1");
  await send(one, stream("a").resume());
  await send(two, stream("b").resume());
  await nextFrame(executor);
  await nextFrame(executor);
  executor.drop();
  for (const [harness, streamId] of [[one, "a"], [two, "b"]] as const) {
    assert.deepEqual(await nextFrame(harness), { streamId, body: { type: "reset", reason: "executor_disconnected" } });
    assert.equal(await nextMessage(harness), null);
  }
});

Deno.test("connect is held while the executor is away, and answered when it comes (duty 3)", async () => {
  await using hall = await Hall.open();
  const held = hall.connect("box-1");
  const { socket, answer } = await hall.noiseExecutor("box-1");
  using _ = socket;
  assert.equal(okay(await held).executor_registration_id, answer.executor_registration_id);
});

Deno.test("a noise executor comes back to its URL, and an invalid URL is a 401 (duties 5 and 6)", async () => {
  await using hall = await Hall.open();
  const { socket, answer } = await hall.noiseExecutor("box-1");
  socket.drop();
  using back = await RawWebSocket.connect(answer.url);
  // The executor has given this one up, and answers no ping on it: another one takes its place.
  using again = await RawWebSocket.connect(answer.url);
  assert.equal(await nextMessage(back), null);
  await send(again, stream("x").resume());
  okay(await hall.registerNoise("box-1"));
  await assert.rejects(RawWebSocket.connect(answer.url), /401/);
  const ticket = new URL(answer.url).searchParams.get("ticket")!;
  const forged = ticket.replace(/.$/, (last) => last === "A" ? "B" : "A");
  for (const query of ["", "?ticket=", "?ticket=x.y", `?ticket=${forged}`]) {
    await assert.rejects(RawWebSocket.connect(`${hall.rendezvous.url}/rendezvous/executor/box-1${query}`), /401/);
  }
  await assert.rejects(
    RawWebSocket.connect(`${hall.rendezvous.url}/rendezvous/executor/box-2?ticket=${ticket}`),
    /401/,
  );
});

Deno.test("the URL of a noise executor is not enough to replace it while it lives", async () => {
  await using hall = await Hall.open();
  const { socket: executor, answer } = await hall.noiseExecutor("box-1");
  using _ = executor;
  using harness = await hall.harness("box-1");
  await send(harness, stream("a").resume());
  assert.deepEqual(await nextFrame(executor), { streamId: "a", body: { type: "resume", nextSeq: 0 } });
  const stolen = RawWebSocket.connect(answer.url);
  stolen.catch(() => {/* Told below. */});
  // It is asked for a sign of life, and gives one.
  assert.equal((await executor.readFrame())?.opcode, 0x9);
  await executor.sendFrame(0xa, new Uint8Array(0));
  await assert.rejects(stolen, /401/);
  await send(executor, stream("a").reset("still here"));
  assert.deepEqual(await nextFrame(harness), { streamId: "a", body: { type: "reset", reason: "still here" } });
  // One that shows its token is let in at once: it registers under the same key.
  const anew = okay(await hall.registerNoise("box-1"));
  using __ = await RawWebSocket.connect(anew.url);
  assert.equal(await nextMessage(executor), null);
});

Deno.test("the URL of a harness is valid once, for its executor, and not for executors themselves", async () => {
  await using hall = await Hall.open();
  const { socket } = await hall.noiseExecutor("box-1");
  using _ = socket;
  const { url } = okay(await hall.connect("box-1"));
  await assert.rejects(RawWebSocket.connect(url.replace("/harness/", "/executor/")), /401/);
  using __ = await RawWebSocket.connect(url);
  await assert.rejects(RawWebSocket.connect(url), /401/);
});

Deno.test("a harness that stops reading is dropped, and the others of its executor go on", async () => {
  await using hall = await Hall.open();
  const { socket: executor } = await hall.noiseExecutor("box-1");
  using _ = executor;
  using stuck = await hall.harness("box-1");
  using other = await hall.harness("box-1");
  await send(stuck, stream("stuck").resume());
  await send(other, stream("other").resume());
  await nextFrame(executor);
  await nextFrame(executor);
  const record = new Uint8Array(60 * 1024);
  // More than all buffers on the way hold together: the queue, and what two kernels take.
  let isReset = false;
  const flood = (async () => {
    for (let seq = 0; !isReset && seq < 2000; seq++) await send(executor, stream("stuck").data(seq, record));
  })();
  const reset = await nextFrame(executor);
  isReset = true;
  assert.deepEqual(reset, { streamId: "stuck", body: { type: "reset", reason: "harness_disconnected" } });
  await flood;
  await send(executor, stream("other").data(0, text("hello")));
  assert.equal((await nextFrame(other)).streamId, "other");
});

Deno.test("an executor that registers without a body is relayed to clients that say role=harness", async () => {
  await using hall = await Hall.open();
  for (const form of ["executor", "environment"]) {
    const id = `old-${form}`;
    const answer = okay(await hall.request("POST", `/cloud/${form}/${id}/register`, { token: TOKENS.executor }));
    assert.deepEqual(Object.keys(answer).sort(), [`${form}_id`, "url"]);
    using executor = await RawWebSocket.connect(answer.url);
    using client = await hall.client(id, TOKENS.client, "?role=harness");
    await send(client, stream("s").data(0, text("{}")));
    assert.equal((await nextFrame(executor)).streamId, "s");
    await assert.rejects(hall.client(id), /409/);
  }
});
