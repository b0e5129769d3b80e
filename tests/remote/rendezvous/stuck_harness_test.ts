/**
 * A harness that stops reading, over real sockets. Time stands still for the rendezvous: whatever waited for a time limit
 * would wait for ever.
 */

import assert from "node:assert/strict";
import type { Clock } from "../../../src/clock.ts";
import { decodeRelayFrame } from "../../../src/remote/relay/relay_frame.ts";
import { ACK_BYTES, MAX_QUEUED_BYTES, STREAM_WINDOW_BYTES } from "../../../src/remote/rendezvous/limits.ts";
import type { RawWebSocket } from "../../support/raw_websocket.ts";
import { Hall, nextFrame, nextMessage, send, stream, text } from "./hall.ts";

const STANDING_CLOCK: Clock = { now: () => 0, setTimer: () => () => {} };
const RECORD = new Uint8Array(60 * 1024);

interface Stage extends Disposable {
  readonly hall: Hall;
  readonly executor: RawWebSocket;
  readonly stuck: RawWebSocket;
  readonly other: RawWebSocket;
}

/** An executor with two harnesses, which have a stream each. */
async function setUp(hall: Hall, about: object): Promise<Stage> {
  const { socket: executor, answer } = await hall.noiseExecutor("box-1", about);
  assert.equal(answer.streamWindowBytes, "streamAcks" in about ? STREAM_WINDOW_BYTES : undefined);
  const [stuck, other] = [await hall.harness("box-1"), await hall.harness("box-1")];
  await send(stuck, stream("stuck").resume());
  await send(other, stream("other").resume());
  await nextFrame(executor);
  await nextFrame(executor);
  return { hall, executor, stuck, other, [Symbol.dispose]: () => [executor, stuck, other].forEach((s) => s.drop()) };
}

/** Something for the other harness arrives there, although nobody reads at the stuck one. */
async function otherIsReached({ executor, other }: Stage, seq: number): Promise<void> {
  await send(executor, stream("other").data(seq, text(`for the other ${seq}`)));
  const { body } = await nextFrame(other);
  assert.ok(body?.type === "data" && body.seq === seq);
}

Deno.test("an executor that is told what has left waits for a stuck harness by itself, and no other harness notices", async () => {
  await using hall = await Hall.open({ clock: STANDING_CLOCK });
  using stage = await setUp(hall, { streamAcks: true });
  const { executor, stuck } = stage;
  let [sent, acknowledged] = [0, 0];
  let wake = Promise.withResolvers<void>();
  const seen = (async () => {
    for (;;) {
      const message = await nextMessage(executor).catch(() => null);
      if (message === null) return;
      const { body } = decodeRelayFrame(message);
      assert.ok(body?.type === "ack", JSON.stringify(body));
      assert.ok(body.seq < sent && body.seq + 1 > acknowledged, "each says more, and nothing that was not sent");
      acknowledged = body.seq + 1;
      wake.resolve();
      wake = Promise.withResolvers();
    }
  })();
  // Sends whatever the window allows: what the two kernels take, and then a window.
  const isFull = () => (sent - acknowledged + 1) * RECORD.length > STREAM_WINDOW_BYTES;
  for (let round = 0, rest = 100; rest > 0; round++) {
    if (isFull()) rest--;
    while (!isFull()) await send(executor, stream("stuck").data(sent++, RECORD));
    await otherIsReached(stage, round);
  }
  // It was neither dropped nor reset: what was kept for it is still there, and the executor is told as it leaves.
  for (let seq = 0; seq < sent; seq++) {
    const { body } = await nextFrame(stuck);
    assert.ok(body?.type === "data" && body.seq === seq);
  }
  while ((sent - acknowledged) * RECORD.length >= ACK_BYTES) await wake.promise;
  await otherIsReached(stage, 1_000_000);
  stage[Symbol.dispose]();
  await seen;
});

Deno.test("an executor that sends more than the window loses that stream, and no other", async () => {
  await using hall = await Hall.open({ clock: STANDING_CLOCK });
  using stage = await setUp(hall, { streamAcks: true });
  const { executor } = stage;
  let isReset = false;
  const flood = (async () => {
    for (let seq = 0; !isReset; seq++) await send(executor, stream("stuck").data(seq, RECORD));
  })();
  for (let frame = await nextFrame(executor); !isReset; frame = isReset ? frame : await nextFrame(executor)) {
    if (frame.body?.type === "ack") continue;
    assert.deepEqual(frame, { streamId: "stuck", body: { type: "reset", reason: "stream_window_exceeded" } });
    isReset = true;
  }
  await flood;
  await otherIsReached(stage, 0);
});

Deno.test("a harness cannot acknowledge for the rendezvous", async () => {
  await using hall = await Hall.open({ clock: STANDING_CLOCK });
  using stage = await setUp(hall, { streamAcks: true });
  await send(stage.other, stream("other").ack(5), stream("other").data(0, text("behind it")));
  assert.equal((await nextFrame(stage.executor)).body?.type, "data");
});

Deno.test("from an executor that cannot be told, more is read until it is known whether the harness is stuck", async () => {
  await using hall = await Hall.open({ clock: STANDING_CLOCK });
  using stage = await setUp(hall, {});
  // Four times the queue, and more than the kernels could take besides.
  const records = 4 * MAX_QUEUED_BYTES / RECORD.length;
  for (let seq = 0; seq < records; seq++) await send(stage.executor, stream("stuck").data(seq, RECORD));
  await otherIsReached(stage, 0);
});
