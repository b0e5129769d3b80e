/** Streams whose rendezvous acknowledges what it has passed on: each waits by itself. */

import assert from "node:assert/strict";
import type { Clock } from "../../../src/clock.ts";
import type { NoiseLink } from "../../../src/remote/noise/noise_link.ts";
import { RelayFrameEncoder } from "../../../src/remote/relay/relay_frame.ts";
import { firstMessage, MemoryRelay } from "./memory_relay.ts";

const WINDOW_BYTES = 512 * 1024;
/** What a stream sends at once: eight records and their tags. */
const BATCH_BYTES = 8 * (60 * 1024 + 16);

/** The messages of a link, one at a time. */
function messagesOf(link: NoiseLink): { next(): Promise<string | null> } {
  const waiting: ((message: string | null) => void)[] = [];
  const arrived: (string | null)[] = [];
  link.receive((message) => {
    const taker = waiting.shift();
    if (taker === undefined) arrived.push(message);
    else taker(message);
  });
  return {
    next: () =>
      arrived.length > 0 ? Promise.resolve(arrived.shift()!) : new Promise((resolve) => waiting.push(resolve)),
  };
}

Deno.test("a stream whose harness does not read waits within its window, and goes on when it is told to", async () => {
  const relay = new MemoryRelay(undefined, WINDOW_BYTES);
  const [slow, quick] = [await relay.open("slow"), await relay.open("quick")];
  const quickly = messagesOf(quick);
  const message = "x".repeat(3_000_000);
  const sending = relay.served[0]!.send([message]);
  const received = firstMessage(slow);
  const frames = () => relay.dataFrames.filter(({ streamId }) => streamId === "slow");
  let [taken, takenFrames] = [0, 0];
  const onItsWay = () => frames().slice(takenFrames).reduce((sum, { bytes }) => sum + bytes, 0);
  while (taken < message.length) {
    // As much as fits comes, and no more, however long nobody says anything.
    await relay.until(() => onItsWay() + BATCH_BYTES > WINDOW_BYTES || taken + onItsWay() > message.length);
    await relay.served[1]!.send([`after ${taken}`]);
    assert.equal(await quickly.next(), `after ${taken}`);
    assert.ok(onItsWay() <= WINDOW_BYTES, `${onItsWay()} bytes were on their way`);
    taken += onItsWay();
    takenFrames = frames().length;
    await relay.socket.send([new RelayFrameEncoder("slow").ack(frames().at(-1)!.seq)]);
  }
  await sending;
  assert.equal(await received, message);
  await relay.end();
});

Deno.test("data that waits for a window ends with its stream: at once if it is lost, after a moment if it is closed", async () => {
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    setTimer: (_, act) => {
      timers.push(act);
      return () => {};
    },
  };
  const relay = new MemoryRelay(undefined, WINDOW_BYTES, clock);
  await relay.open("lost");
  await relay.open("closed");
  const message = "x".repeat(3_000_000);
  const sending = relay.served.map((link) => link.send([message]));
  await relay.socket.send([new RelayFrameEncoder("lost").reset("bye")]);
  await assert.rejects(sending[0]!, /connection is closed/);
  const isEnded = assert.rejects(sending[1]!, /connection is closed/);
  relay.served[1]!.close({ cause: "done", reason: "bye" });
  assert.equal(timers.length, 1);
  timers[0]!();
  await isEnded;
  assert.deepEqual(await relay.next("closed"), { type: "reset", reason: "bye" });
  await relay.end();
});
