/** The executor's side of a relay against harnesses that keep the rules, break them, and overdo it. */

import assert from "node:assert/strict";
import { type RelayBody, RelayFrameEncoder } from "../../../src/remote/relay/relay_frame.ts";
import { firstMessage, MemoryRelay } from "./memory_relay.ts";

const RESET: RelayBody = { type: "reset", reason: "noise_relay_protocol_error" };

Deno.test("streams carry messages both ways and end one by one", async () => {
  const relay = new MemoryRelay();
  const [one, two] = [await relay.open("one"), await relay.open("any text ü")];
  await one.send(["to one"]);
  await two.send(["to two"]);
  assert.equal(await firstMessage(relay.served[0]!), "to one");
  assert.equal(await firstMessage(relay.served[1]!), "to two");
  await relay.served[0]!.send(["back"]);
  assert.equal(await firstMessage(one), "back");
  relay.served[0]!.close({ cause: "done", reason: "bye" });
  assert.deepEqual(await relay.next("one"), { type: "reset", reason: "bye" });
  const ending = relay.served[1]!.flushed;
  await relay.end();
  await ending;
});

Deno.test("a stream whose rules are broken is reset, without effect on others", async () => {
  const relay = new MemoryRelay();
  const bystander = await relay.open("bystander");
  const send = (streamId: string, make: (frames: RelayFrameEncoder) => Uint8Array<ArrayBuffer>) =>
    relay.socket.send([make(new RelayFrameEncoder(streamId))]);
  await send("unknown", (frames) => frames.data(0, new Uint8Array(50)));
  assert.deepEqual(await relay.next("unknown"), RESET);
  await send("short", (frames) => frames.handshake(new Uint8Array(10)));
  assert.deepEqual(await relay.next("short"), RESET);
  await send("wrong", (frames) => frames.handshake(new Uint8Array(3570)));
  assert.deepEqual(await relay.next("wrong"), RESET);
  // A handshake on a stream in use is refused, and the first one goes on.
  await relay.knock("bystander");
  assert.deepEqual(await relay.next("bystander"), RESET);
  await relay.open("tampered");
  await send("tampered", (frames) => frames.data(0, new Uint8Array(50)));
  assert.deepEqual(await relay.next("tampered"), RESET);
  await relay.open("far ahead");
  await send("far ahead", (frames) => frames.data(100, new Uint8Array(50)));
  assert.deepEqual(await relay.next("far ahead"), RESET);
  // What nobody understands is passed over.
  await relay.raw.send([
    { isText: true, bytes: new TextEncoder().encode("{}") },
    { isText: false, bytes: Uint8Array.of(255, 255) },
    { isText: false, bytes: Uint8Array.of(8, 2) },
    { isText: false, bytes: Uint8Array.of(8, 1, 18, 1, 65, 74, 0) },
  ]);
  await bystander.send(["still here"]);
  assert.equal(await firstMessage(relay.served[0]!), "still here");
  await relay.end();
});

Deno.test("nobody is let in before the registry has said yes, and data before that ends the handshake", async () => {
  for (const answer of [() => Promise.resolve(false), () => Promise.reject(new Error("away"))]) {
    const relay = new MemoryRelay(answer);
    await relay.knock("s");
    assert.deepEqual(await relay.next("s"), RESET);
    assert.equal(relay.served.length, 0);
    await relay.end();
  }
  const gate = Promise.withResolvers<boolean>();
  const relay = new MemoryRelay(() => gate.promise);
  await relay.knock("s");
  await relay.socket.send([new RelayFrameEncoder("s").data(0, new Uint8Array(40))]);
  assert.deepEqual(await relay.next("s"), RESET);
  gate.resolve(true);
  await relay.end();
  assert.equal(relay.served.length, 0);
});

Deno.test("128 streams are served and 32 handshakes wait; the next one is reset", async () => {
  const waiting = Promise.withResolvers<boolean>();
  const stuck = new MemoryRelay(() => waiting.promise);
  for (let count = 0; count < 32; count++) await stuck.knock(`s${count}`);
  await stuck.knock("one too many");
  assert.deepEqual(await stuck.next("one too many"), RESET);
  waiting.resolve(true);
  for (let count = 0; count < 32; count++) assert.equal((await stuck.next(`s${count}`)).type, "handshake");
  await stuck.end();

  const relay = new MemoryRelay();
  for (let count = 0; count < 128; count++) await relay.open(`s${count}`);
  await relay.knock("one too many");
  assert.deepEqual(await relay.next("one too many"), RESET);
  // One that leaves makes room.
  await relay.socket.send([new RelayFrameEncoder("s5").reset("bye")]);
  await relay.open("the next one");
  await relay.end();
});

Deno.test("a stream whose receiver is too slow is reset beyond its bound, and the others are served meanwhile", async () => {
  const relay = new MemoryRelay();
  const [slow, quick] = [await relay.open("slow"), await relay.open("quick")];
  const taken: (string | null)[] = [];
  const slowEnd = relay.served[0]!.receive((message) => {
    taken.push(message);
    return new Promise<void>(() => {/* Never takes another one. */});
  });
  const message = "x".repeat(1_000_000);
  let mostHeld = 0;
  for (let count = 0; count < 30; count++) {
    await slow.send([message]);
    mostHeld = Math.max(mostHeld, relay.served[0]!.heldBytes);
  }
  assert.deepEqual(await relay.next("slow"), { type: "reset", reason: "stream_queue_full" });
  assert.equal((await slowEnd).type, "violation");
  assert.equal(relay.served[0]!.heldBytes, 0);
  assert.equal(taken.length, 1);
  // The queue, a message that is being gathered, and the records that are being opened.
  assert.ok(mostHeld < 20_000_000, `${mostHeld} bytes were held`);
  await quick.send(["served"]);
  assert.equal(await firstMessage(relay.served[1]!), "served");
  await relay.end();
});

Deno.test("a message longer than the bound arrives whole when it is alone", async () => {
  const relay = new MemoryRelay();
  const link = await relay.open("s");
  const message = "y".repeat(40_000_000);
  await link.send([message]);
  assert.equal(await firstMessage(relay.served[0]!), message);
  await relay.end();
});

Deno.test("messages from before the end of a stream are still delivered, however long opening them takes", async () => {
  const relay = new MemoryRelay();
  const link = await relay.open("s");
  const message = "z".repeat(3_000_000);
  await link.send([message, "and this"]);
  // Right behind it, so that the records are still being opened.
  await relay.socket.send([new RelayFrameEncoder("s").reset("bye")]);
  const received: (string | null)[] = [];
  const end = await relay.served[0]!.receive((message) => void received.push(message));
  assert.deepEqual([end.type, received], ["peerClosed", [message, "and this"]]);
  await relay.end();
});

Deno.test("a recorded conversation that is sent again has no effect", async () => {
  const relay = new MemoryRelay();
  const recorded: Uint8Array<ArrayBuffer>[] = [];
  const send = relay.raw.send.bind(relay.raw);
  relay.raw.send = (messages) => {
    recorded.push(...messages.map(({ bytes }) => bytes.slice()));
    return send(messages);
  };
  const link = await relay.open("s");
  await link.send(["rm -rf everything"]);
  assert.equal(await firstMessage(relay.served[0]!), "rm -rf everything");
  relay.raw.send = send;
  await relay.socket.send([new RelayFrameEncoder("s").reset("bye")]);
  // The handshake is answered, with new keys that whoever plays it does not have: the rest of it opens nothing.
  const [, handshake, ...data] = recorded;
  await relay.socket.send([handshake!]);
  assert.equal((await relay.next("s")).type, "handshake");
  const received: unknown[] = [];
  const end = relay.served[1]!.receive((message) => void received.push(message));
  await relay.socket.send(data);
  assert.deepEqual(await relay.next("s"), RESET);
  assert.equal((await end).type, "violation");
  assert.deepEqual(received, []);
  await relay.end();
});
