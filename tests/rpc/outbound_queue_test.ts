import assert from "node:assert/strict";
import { OutboundQueue } from "../../src/rpc/outbound_queue.ts";

/** A transport whose sends complete when the test says so. */
function gatedTransport() {
  const sent: string[] = [];
  const gates: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const started: (() => void)[] = [];
  return {
    sent,
    send: (messages: readonly string[]) => {
      sent.push(...messages);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      gates.push({ resolve, reject });
      for (const wake of started.splice(0)) wake();
      return promise;
    },
    /** Resolves once a send is under way. */
    sending: async () => {
      if (gates.length === 0) await new Promise<void>((resolve) => started.push(resolve));
    },
    complete: () => gates.shift()!.resolve(),
    fail: () => gates.shift()!.reject(new Error("gone")),
  };
}

const LIMITS = {
  outputHighWaterBytes: 1000,
  outputLowWaterBytes: 100,
  replyHighWaterBytes: 1000,
  sendBatchBytes: 100_000,
};

const text = (length: number, fill = "x") => fill.repeat(length);

Deno.test("OutboundQueue sends in order, one batch at a time", async () => {
  const transport = gatedTransport();
  const queue = new OutboundQueue({ ...transport, onRoom: () => {}, onFailure: () => assert.fail(), limits: LIMITS });
  queue.pushReply("1");
  queue.pushOutput("2");
  await transport.sending();
  queue.pushReply("3");
  queue.pushReply("4");
  assert.deepEqual(transport.sent, ["1", "2"]);
  const drained = queue.drained();
  transport.complete();
  await transport.sending();
  assert.deepEqual(transport.sent, ["1", "2", "3", "4"]);
  transport.complete();
  await drained;
  assert.equal(queue.queuedBytes, 0);
});

Deno.test("OutboundQueue tells sources to pause at the high mark and to resume once at the low mark", async () => {
  const transport = gatedTransport();
  let rooms = 0;
  const queue = new OutboundQueue({
    ...transport,
    onRoom: () => rooms++,
    onFailure: () => assert.fail(),
    limits: LIMITS,
  });
  queue.pushOutput(text(600));
  assert.equal(queue.hasRoom, true);
  await transport.sending();
  queue.pushOutput(text(400));
  assert.equal(queue.hasRoom, false);
  transport.complete();
  await transport.sending();
  assert.equal(queue.hasRoom, false, "400 are still queued");
  assert.equal(rooms, 0);
  transport.complete();
  await queue.drained();
  assert.equal(queue.hasRoom, true);
  assert.equal(rooms, 1);
});

Deno.test("OutboundQueue takes replies whatever output is queued and reports their backlog", async () => {
  const transport = gatedTransport();
  const queue = new OutboundQueue({
    ...transport,
    onRoom: () => {},
    onFailure: () => {},
    limits: { ...LIMITS, replyHighWaterBytes: 50 },
  });
  queue.pushOutput(text(10_000_000));
  queue.pushReply(text(51, "r"));
  assert.equal(queue.isReplyBacklogged, true);
  let hasRoom = false;
  const room = queue.whenReplyRoom().then(() => hasRoom = true);
  await transport.sending();
  assert.equal(hasRoom, false);
  transport.complete();
  await transport.sending();
  transport.complete();
  await room;
  assert.equal(queue.isReplyBacklogged, false);
});

Deno.test("OutboundQueue reports a failing transport once and forgets what is queued", async () => {
  const transport = gatedTransport();
  const failures: unknown[] = [];
  const queue = new OutboundQueue({
    ...transport,
    onRoom: () => {},
    onFailure: (error) => failures.push(error),
    limits: LIMITS,
  });
  queue.pushReply("1");
  await transport.sending();
  queue.pushReply("2");
  const drained = queue.drained();
  transport.fail();
  await drained;
  queue.pushReply("3");
  await queue.drained();
  assert.equal(failures.length, 1);
  assert.deepEqual(transport.sent, ["1"]);
  assert.equal(queue.queuedBytes, 0);
});

Deno.test("OutboundQueue.close() wakes everyone who waits", async () => {
  const transport = gatedTransport();
  const queue = new OutboundQueue({
    ...transport,
    onRoom: () => {},
    onFailure: () => {},
    limits: { ...LIMITS, replyHighWaterBytes: 0 },
  });
  queue.pushReply("1");
  const waits = Promise.all([queue.drained(), queue.whenReplyRoom()]);
  queue.close();
  await waits;
});
