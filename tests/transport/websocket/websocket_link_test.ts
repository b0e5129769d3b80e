/**
 * A websocket link over an in-memory stream: what it takes, sends, refuses and bounds.
 *
 * More than 300 lines: one suite on one bench.
 */

import assert from "node:assert/strict";
import { sourceOf } from "../../../src/bytes.ts";
import { systemClock } from "../../../src/clock.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import type { InboundMessage, LinkEnd } from "../../../src/rpc/link.ts";
import { StreamedMessage } from "../../../src/rpc/streamed_message.ts";
import { encodeFrame, OPCODE } from "../../../src/transport/websocket/websocket_frames.ts";
import { type ByteStream, WebSocketLink } from "../../../src/transport/websocket/websocket_link.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { clientFrame, type FrameOptions } from "../../support/raw_websocket.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The client's end of an in-memory stream: what it pushes the link reads, what the link writes it collects. */
class FakePeer {
  #incoming: (Uint8Array | null)[] = [];
  #wakeReader: () => void = () => {};
  readonly written: number[] = [];
  isWriteClosed = false;
  isClosed = false;
  /** Set: writes wait until it resolves. */
  writeGate: Promise<void> | null = null;
  /** The memory behind each read. */
  readonly readBuffers: number[] = [];
  /** The room of each read. */
  readonly readRooms: number[] = [];
  confirmed = 0;
  readonly stream: ByteStream = {
    confirmArrival: () => void this.confirmed++,
    read: async (into) => {
      this.readBuffers.push(into.buffer.byteLength);
      this.readRooms.push(into.length);
      while (this.#incoming.length === 0) {
        if (this.isClosed) throw new Error("closed");
        await new Promise<void>((resolve) => this.#wakeReader = resolve);
      }
      const next = this.#incoming[0]!;
      if (next === null) return null;
      const count = Math.min(into.length, next.length);
      into.set(next.subarray(0, count));
      if (count === next.length) this.#incoming.shift();
      else this.#incoming[0] = next.subarray(count);
      return count;
    },
    write: async (out) => {
      await this.writeGate;
      if (this.isClosed) throw new Error("closed");
      // Short writes, as a real socket may do them.
      const count = Math.min(out.length, 70_001);
      for (const byte of out.subarray(0, count)) this.written.push(byte);
      return count;
    },
    closeWrite: () => {
      this.isWriteClosed = true;
      return Promise.resolve();
    },
    close: () => {
      this.isClosed = true;
      this.#wakeReader();
    },
  };

  push(data: Uint8Array | null): void {
    this.#incoming.push(data);
    this.#wakeReader();
  }

  frame(opcode: number, payload: Uint8Array, options?: FrameOptions): void {
    this.push(clientFrame(opcode, payload, options));
  }

  /** Bytes not yet taken by the link. */
  get unread(): number {
    return this.#incoming.reduce((sum, data) => sum + (data?.length ?? 0), 0);
  }
}

interface OpenOptions {
  clock?: ManualClock;
  pingIntervalMs?: number;
  initialBytes?: Uint8Array;
  streamReadBytes?: number;
  turn?: () => Promise<void>;
}

function open(options: OpenOptions = {}) {
  const peer = new FakePeer();
  const clock = options.clock ?? new ManualClock();
  const link = new WebSocketLink(peer.stream, { pingIntervalMs: 1000, ...options, clock });
  return { peer, clock, link };
}

/** Runs the link until it ends. */
function collect(link: WebSocketLink): { messages: InboundMessage[]; end: Promise<LinkEnd> } {
  const messages: InboundMessage[] = [];
  return { messages, end: link.receive((message) => void messages.push(message)) };
}

function closeFrame(code: number, reason: string): number[] {
  return [0x88, 2 + bytes(reason).length, code >> 8, code & 0xff, ...bytes(reason)];
}

/** Lets every promise that can settle do so. */
const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("WebSocketLink delivers text and binary messages alike, joining fragments around control frames", async () => {
  const { peer, link } = open();
  const { messages, end } = collect(link);
  peer.frame(OPCODE.text, bytes("one"));
  peer.frame(OPCODE.binary, bytes("two"));
  peer.frame(OPCODE.text, bytes("th"), { isFinal: false });
  peer.frame(OPCODE.ping, bytes("hi"));
  peer.frame(OPCODE.continuation, bytes("re"), { isFinal: false });
  peer.frame(OPCODE.continuation, bytes("e"));
  peer.push(null);
  assert.deepEqual(await end, { type: "peerClosed" });
  assert.deepEqual(messages, ["one", "two", "three"]);
  assert.deepEqual(peer.written, [0x8a, 2, ...bytes("hi")]);
});

Deno.test("WebSocketLink delivers messages however the bytes are cut", async () => {
  const { peer, link } = open({ initialBytes: clientFrame(OPCODE.text, bytes("first")).slice(0, 7) });
  const { messages, end } = collect(link);
  const rest = [
    ...clientFrame(OPCODE.text, bytes("first")).slice(7),
    ...clientFrame(OPCODE.text, bytes("x".repeat(300))),
    ...clientFrame(OPCODE.text, bytes("")),
  ];
  for (const byte of rest) peer.push(Uint8Array.of(byte));
  peer.push(null);
  await end;
  assert.deepEqual(messages, ["first", "x".repeat(300), ""]);
});

Deno.test("WebSocketLink delivers a frame far larger than its buffer, and small ones after it", async () => {
  const { peer, link } = open();
  const { messages, end } = collect(link);
  const large = "y".repeat(3_000_000);
  peer.frame(OPCODE.text, bytes(large));
  for (let i = 0; i < 10; i++) peer.frame(OPCODE.text, bytes(`small ${i}`));
  peer.push(null);
  await end;
  assert.equal(messages.length, 11);
  assert.equal(messages[0], large);
  assert.equal(messages[10], "small 9");
});

Deno.test("WebSocketLink holds a kibibyte for an idle peer, and more only when messages need it", async () => {
  const { peer, link } = open();
  const { messages, end } = collect(link);
  peer.frame(OPCODE.text, bytes("hello"));
  await settle();
  assert.deepEqual([messages.length, peer.readBuffers], [1, [1024, 1024]]);
  peer.frame(OPCODE.text, bytes("x".repeat(2000)));
  await settle();
  assert.deepEqual([messages.length, peer.readBuffers.at(-1)], [2, 8192]);
  peer.push(null);
  await end;
});

Deno.test("WebSocketLink that is busy has room for all that its stream hands over", async () => {
  const streamReadBytes = 128 * 1024;
  const { peer, link } = open({ streamReadBytes });
  const { messages, end } = collect(link);
  // Frames of output of 64 KiB, which end anywhere in a read.
  const frame = clientFrame(OPCODE.text, bytes("x".repeat(87_480)));
  const sent = new Uint8Array(60 * frame.length);
  for (let at = 0; at < sent.length; at += frame.length) sent.set(frame, at);
  for (let at = 0; at < sent.length; at += streamReadBytes) {
    peer.push(sent.slice(at, at + streamReadBytes));
    await settle();
  }
  peer.push(null);
  await end;
  assert.equal(messages.length, 60);
  const busy = peer.readRooms.filter((_, read) => peer.readBuffers[read] === 2 * streamReadBytes);
  assert.ok(busy.length > 30, `${busy.length} reads`);
  assert.ok(Math.min(...busy) >= streamReadBytes, `room for ${Math.min(...busy)} bytes`);
  assert.ok(Math.max(...peer.readBuffers) <= 2 * streamReadBytes, `a buffer of ${Math.max(...peer.readBuffers)} bytes`);
});

Deno.test("WebSocketLink reports invalid UTF-8 in a binary message and ends on it in a text message", async () => {
  const { peer, link } = open();
  const { messages, end } = collect(link);
  peer.frame(OPCODE.binary, Uint8Array.of(0xff));
  peer.frame(OPCODE.text, bytes("fine"));
  peer.frame(OPCODE.text, Uint8Array.of(0xff));
  peer.frame(OPCODE.text, bytes("never"));
  peer.push(null);
  assert.deepEqual(await end, { type: "violation", reason: "text frame is not valid UTF-8", closeCode: 1007 });
  assert.deepEqual(messages, [null, "fine"]);
});

Deno.test("WebSocketLink ends on a broken sequence of fragments and on a message beyond the limit", async () => {
  const part = new Uint8Array(MAX_FRAME_BYTES);
  const table: [string, number, (peer: FakePeer) => void][] = [
    ["continuation without a message", 1002, (peer) => peer.frame(OPCODE.continuation, bytes("x"))],
    ["new message inside a fragmented one", 1002, (peer) => {
      peer.frame(OPCODE.text, bytes("x"), { isFinal: false });
      peer.frame(OPCODE.text, bytes("x"));
    }],
    ["frame of 16777217 bytes exceeds the limit of 16777216", 1009, (peer) => {
      peer.frame(OPCODE.text, bytes("the beginning"), { claimedLength: MAX_FRAME_BYTES + 1 });
    }],
    ["client frame is not masked", 1002, (peer) => peer.frame(OPCODE.text, bytes("x"), { isMasked: false })],
    ["close frame has no code that may be sent", 1002, (peer) => peer.frame(OPCODE.close, Uint8Array.of(3))],
    ["close frame has no code that may be sent", 1002, (peer) => peer.frame(OPCODE.close, Uint8Array.of(0x03, 0xed))],
    ["reason of a close frame is not valid UTF-8", 1007, (peer) => {
      peer.frame(OPCODE.close, Uint8Array.of(0x03, 0xe8, 0xff));
    }],
    ["message exceeds the limit of 67108864 bytes", 1009, (peer) => {
      peer.frame(OPCODE.binary, part, { isFinal: false });
      for (let i = 0; i < 4; i++) peer.frame(OPCODE.continuation, part, { isFinal: false });
    }],
  ];
  for (const [reason, closeCode, act] of table) {
    const { peer, link } = open();
    const { messages, end } = collect(link);
    act(peer);
    peer.push(null);
    assert.deepEqual(await end, { type: "violation", reason, closeCode });
    assert.deepEqual(messages, []);
    assert.deepEqual(peer.written, closeFrame(closeCode, reason));
    assert.equal(peer.isClosed, true);
  }
});

Deno.test("WebSocketLink reads nothing while the receiver is busy", async () => {
  const { peer, link } = open();
  const gate = Promise.withResolvers<void>();
  const messages: InboundMessage[] = [];
  const end = link.receive((message) => {
    messages.push(message);
    if (message === "stop") return gate.promise;
  });
  peer.frame(OPCODE.text, bytes("stop"));
  await settle();
  peer.frame(OPCODE.text, bytes("later"));
  await settle();
  assert.deepEqual(messages, ["stop"]);
  assert.ok(peer.unread > 0);
  gate.resolve();
  peer.push(null);
  await end;
  assert.deepEqual(messages, ["stop", "later"]);
});

Deno.test("WebSocketLink gives others a turn before it decodes a long message, and before it hands it on", async () => {
  const seen: string[] = [];
  const turn = () => {
    seen.push("turn");
    return Promise.resolve();
  };
  const { peer, link } = open({ turn });
  const end = link.receive((message) => void seen.push(`${message?.length ?? "not text"}`));
  const long = new Uint8Array(5 * 1024 * 1024).fill(0x61);
  peer.frame(OPCODE.text, bytes("1"));
  peer.frame(OPCODE.text, long);
  peer.frame(OPCODE.text, bytes("22"));
  peer.frame(OPCODE.text, long, { isFinal: false });
  peer.frame(OPCODE.continuation, long);
  peer.frame(OPCODE.binary, long.map(() => 0xff));
  peer.frame(OPCODE.text, bytes("333"));
  peer.frame(OPCODE.text, long.map(() => 0xff));
  peer.frame(OPCODE.text, bytes("never"));
  await settle();
  peer.push(null);
  assert.deepEqual(await end, { type: "violation", reason: "text frame is not valid UTF-8", closeCode: 1007 });
  const long1 = ["turn", "turn", `${long.length}`];
  const long2 = ["turn", "turn", `${2 * long.length}`];
  assert.deepEqual(seen, ["1", ...long1, "2", ...long2, "turn", "turn", "not text", "3", "turn"]);
});

Deno.test("WebSocketLink hands on no long message once it has ended", async () => {
  const turns: (() => void)[] = [];
  const { peer, link } = open({ turn: () => new Promise<void>((resolve) => void turns.push(resolve)) });
  const { messages, end } = collect(link);
  peer.frame(OPCODE.text, new Uint8Array(5 * 1024 * 1024).fill(0x61));
  await settle();
  turns.shift()!();
  await settle();
  link.close();
  turns.shift()!();
  peer.push(null);
  assert.deepEqual(await end, { type: "closedByUs" });
  assert.deepEqual(messages, []);
});

Deno.test("WebSocketLink sends messages in order over short writes and answers pings in between", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  const gate = Promise.withResolvers<void>();
  peer.writeGate = gate.promise;
  const long = "z".repeat(200_000);
  const sent = link.send(["a", long, "ü"]);
  // While the write is stuck a flood of pings leaves one pong behind, the latest.
  for (let i = 0; i < 1000; i++) peer.frame(OPCODE.ping, Uint8Array.of(i & 0xff));
  await settle();
  peer.writeGate = null;
  gate.resolve();
  await sent;
  await settle();
  const expected = 3 + (10 + long.length) + 4;
  assert.equal(peer.written.length, expected + 3);
  assert.deepEqual(peer.written.slice(0, 3), [0x81, 1, 97]);
  assert.deepEqual(peer.written.slice(expected - 4), [0x81, 2, 0xc3, 0xbc, 0x8a, 1, 999 & 0xff]);
  peer.push(null);
  await end;
  await assert.rejects(link.send(["late"]));
});

Deno.test("WebSocketLink sends a message in parts as one frame, long or short", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  const part = "p".repeat(300_001);
  await link.send(["a", ["b", "c"], [part, "", part, "!"], "d"]);
  const expected = 2 * part.length + 1;
  assert.deepEqual(peer.written.slice(0, 7), [0x81, 1, 97, 0x81, 2, 98, 99]);
  assert.deepEqual(peer.written.slice(7, 9), [0x81, 127]);
  assert.equal(new DataView(Uint8Array.from(peer.written.slice(9, 17)).buffer).getBigUint64(0), BigInt(expected));
  assert.equal(new TextDecoder().decode(Uint8Array.from(peer.written.slice(17, 17 + expected))), part + part + "!");
  assert.deepEqual(peer.written.slice(17 + expected), [0x81, 1, 100]);
  peer.push(null);
  await end;
});

Deno.test("WebSocketLink sends long texts whole through short buffers, whatever characters meet their ends", async () => {
  const { peer, link } = open();
  const long = [
    "a".repeat(400_001),
    "\u00e9".repeat(300_000),
    `x${"\u{1F600}".repeat(200_000)}`,
    "\u20ac".repeat(1_500_001),
  ];
  await link.send(["before", ...long, ["p".repeat(300_000), "q", "r".repeat(500_000)], "after"]);
  const expected = ["before", ...long, `${"p".repeat(300_000)}q${"r".repeat(500_000)}`, "after"];
  const sent = Uint8Array.from(peer.written);
  let at = 0;
  for (const text of expected) {
    const payload = new TextEncoder().encode(text);
    const frame = encodeFrame(OPCODE.text, payload);
    assert.ok(sent.subarray(at, at + frame.length).toBase64() === frame.toBase64(), `${payload.length} bytes`);
    at += frame.length;
  }
  assert.equal(at, sent.length);
});

Deno.test("WebSocketLink sends a streamed message as one frame between others, whatever its length", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  const bytes = Uint8Array.from({ length: 1_200_000 }, (_, index) => index * 31);
  for (const length of [0, 1, 2, 3, 93, 94, 196_608, 262_144, 1_200_000]) {
    const start = peer.written.length;
    const content = bytes.subarray(0, length);
    const text = `<${content.toBase64()}>`;
    await link.send(["a", new StreamedMessage("<", sourceOf([content]), ">"), "b"]);
    const header = text.length < 126 ? 2 : text.length < 65536 ? 4 : 10;
    const written = Uint8Array.from(peer.written.slice(start));
    assert.deepEqual(written.subarray(0, 3), Uint8Array.of(0x81, 1, 97));
    assert.equal(new TextDecoder().decode(written.subarray(3 + header, -3)), text);
    assert.deepEqual(written.subarray(-3), Uint8Array.of(0x81, 1, 98));
  }
  peer.push(null);
  await end;
});

Deno.test("WebSocketLink offers small messages to the stream at once and writes what it did not take", async () => {
  for (const takes of [Infinity, 3, 0]) {
    const { peer, link } = open();
    const { end } = collect(link);
    const offered: number[] = [];
    peer.stream.writeNow = (bytes) => {
      const taken = Math.min(takes, bytes.length);
      offered.push(...bytes.subarray(0, taken));
      return taken;
    };
    const sent = link.send(["a", ["b", "c"]]);
    assert.deepEqual(offered, [0x81, 1, 97, 0x81, 2, 98, 99].slice(0, takes), "before the next turn");
    // While the rest is being written nothing overtakes it.
    await Promise.all([sent, link.send(["d"])]);
    assert.deepEqual([...offered, ...peer.written], [0x81, 1, 97, 0x81, 2, 98, 99, 0x81, 1, 100]);
    peer.push(null);
    await end;
  }
});

Deno.test("WebSocketLink pings at its interval and drops a peer that stays silent", async () => {
  const { peer, clock, link } = open();
  const { end } = collect(link);
  for (let i = 0; i < 6; i++) {
    clock.advance(1000);
    await settle();
  }
  assert.deepEqual(peer.written, [0x89, 0, 0x89, 0, 0x89, 0, 0x89, 0, 0x89, 0, 0x89, 0]);
  peer.frame(OPCODE.pong, new Uint8Array(0));
  await settle();
  for (let i = 0; i < 6; i++) {
    clock.advance(1000);
    await settle();
  }
  assert.equal(peer.isClosed, false, "a pong counts as a sign of life");
  clock.advance(1000);
  assert.deepEqual(await end, { type: "silent", silentMs: 6000 });
  assert.equal(peer.isClosed, true);
  assert.equal(clock.pending, 0);
});

Deno.test("WebSocketLink.confirmArrival() reaches the socket, unless the link has ended", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  link.confirmArrival();
  assert.equal(peer.confirmed, 1);
  peer.push(null);
  await end;
  link.confirmArrival();
  assert.equal(peer.confirmed, 1);
});

Deno.test("WebSocketLink.probe() drops a peer that does not answer and keeps one that does", async () => {
  const alive = open({ pingIntervalMs: 1e9 });
  const aliveRun = collect(alive.link);
  alive.link.probe(5000);
  await settle();
  assert.deepEqual(alive.peer.written, [0x89, 0]);
  alive.peer.frame(OPCODE.pong, new Uint8Array(0));
  await settle();
  alive.clock.advance(5000);
  assert.equal(alive.peer.isClosed, false);
  alive.peer.push(null);
  await aliveRun.end;

  const dead = open({ pingIntervalMs: 1e9 });
  const deadRun = collect(dead.link);
  dead.link.probe(5000);
  dead.clock.advance(5000);
  assert.deepEqual(await deadRun.end, { type: "silent", silentMs: 5000 });
});

Deno.test("WebSocketLink.askForSign() sends a ping, and anything that comes is a sign, before it is delivered", async () => {
  const { peer, clock, link } = open({ pingIntervalMs: 1e9 });
  const seen: string[] = [];
  const end = link.receive((message) => void seen.push(message!));
  clock.advance(1000);
  assert.equal(link.silentMs, 1000);
  link.askForSign(() => seen.push("sign"));
  await settle();
  assert.deepEqual([peer.written, seen], [[0x89, 0], []]);
  peer.frame(OPCODE.text, bytes("word"));
  await settle();
  assert.deepEqual([seen, link.silentMs], [["sign", "word"], 0]);
  peer.frame(OPCODE.pong, new Uint8Array(0));
  await settle();
  assert.deepEqual(seen, ["sign", "word"]);
  peer.push(null);
  await end;
});

Deno.test("WebSocketLink.probe() drops a silent peer in time however often it is asked, and can look again", async () => {
  const { peer, clock, link } = open({ pingIntervalMs: 1e9 });
  const { end } = collect(link);
  link.probe(5000);
  await settle();
  peer.frame(OPCODE.pong, new Uint8Array(0));
  await settle();
  for (let i = 0; i < 5; i++) {
    clock.advance(1000);
    await settle();
    link.probe(5000);
  }
  assert.equal(peer.isClosed, false, "it has answered the first look");
  for (let i = 0; i < 4; i++) {
    clock.advance(1000);
    await settle();
    link.probe(5000);
  }
  assert.equal(peer.isClosed, false);
  clock.advance(1000);
  assert.deepEqual(await end, { type: "silent", silentMs: 5000 });
  assert.equal(clock.pending, 0);
});

Deno.test("WebSocketLink.probe() keeps a peer that takes a long message slowly and drops one that takes nothing of it", async () => {
  for (const isTaking of [true, false]) {
    const { peer, clock, link } = open({ pingIntervalMs: 1e9 });
    const { end } = collect(link);
    let gate = Promise.withResolvers<void>();
    peer.writeGate = gate.promise;
    const sent = link.send(["z".repeat(1_000_000)]);
    sent.catch(() => {/* Fails where the peer is dropped. */});
    link.probe(5000);
    clock.advance(2500);
    if (isTaking) {
      const next = Promise.withResolvers<void>();
      peer.writeGate = next.promise;
      gate.resolve();
      gate = next;
      await settle();
    }
    clock.advance(2500);
    assert.equal(peer.isClosed, !isTaking);
    peer.writeGate = null;
    gate.resolve();
    peer.push(null);
    await end;
  }
});

Deno.test("WebSocketLink.probe() believes who asks while the receiver is busy, unless something comes from the peer", async () => {
  const table: { name: string; takes: number; sends?: number; isKept: boolean }[] = [
    { name: "its machine takes nothing", takes: 0, sends: 0, isKept: false },
    { name: "its machine takes all, output too, and nothing comes back", takes: Infinity, sends: 0, isKept: false },
    { name: "a pong comes to lie behind what nobody reads", takes: Infinity, sends: 6, isKept: true },
    { name: "nobody can tell what comes, or what it takes", takes: Infinity, isKept: false },
  ];
  for (const { name, takes, sends, isKept } of table) {
    const { peer, clock, link } = open({ pingIntervalMs: 1e9 });
    let arrived = 11;
    if (sends !== undefined) {
      peer.stream.unacknowledgedBytes = () => Math.max(0, peer.written.length - takes);
      peer.stream.arrivedBytes = () => arrived;
    }
    const gate = Promise.withResolvers<void>();
    const end = link.receive(() => gate.promise);
    peer.frame(OPCODE.text, bytes("busy"));
    await settle();
    link.probe(5000);
    await settle();
    arrived += sends ?? 0;
    clock.advance(2500);
    await settle();
    assert.deepEqual(peer.written, [0x89, 0, 0x89, 0]);
    await link.send(["output"]);
    clock.advance(2500);
    assert.equal(peer.isClosed, !isKept, name);
    if (isKept) {
      gate.resolve();
      peer.push(null);
    }
    assert.equal((await end).type, isKept ? "peerClosed" : "silent");
  }
});

Deno.test("WebSocketLink drops a peer that is gone while the receiver is busy, and keeps one whose machine takes the pings", async () => {
  for (const isThere of [true, false]) {
    const { peer, clock, link } = open();
    let arrived = 0;
    peer.stream.unacknowledgedBytes = () => peer.written.length - arrived;
    const end = link.receive(() => new Promise(() => {}));
    peer.frame(OPCODE.text, bytes("busy"));
    await settle();
    for (let second = 0; second < 6; second++) {
      clock.advance(1000);
      await settle();
      if (isThere) arrived = peer.written.length;
    }
    assert.equal(peer.isClosed, false);
    clock.advance(1000);
    assert.equal(peer.isClosed, !isThere);
    if (isThere) link.close();
    clock.advance(1000);
    assert.deepEqual(await end, isThere ? { type: "closedByUs" } : { type: "silent", silentMs: 6000 });
  }
});

Deno.test("WebSocketLink ends even when its peer vanishes while the receiver is busy", async () => {
  const { peer, clock, link } = open();
  const end = link.receive(() => new Promise(() => {}));
  peer.frame(OPCODE.text, bytes("x"));
  await settle();
  peer.isClosed = true; // The next ping fails.
  clock.advance(1000);
  assert.equal((await end).type, "failed");
});

Deno.test("WebSocketLink echoes a close frame and ends", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  peer.frame(OPCODE.close, Uint8Array.of(0x03, 0xe8, ...bytes("bye")));
  peer.push(null);
  assert.deepEqual(await end, { type: "peerClosed" });
  assert.deepEqual(peer.written, [0x88, 2, 0x03, 0xe8]);
});

Deno.test("WebSocketLink echoes a close frame behind what was asked before it, and takes nothing that follows", async () => {
  const { peer, link } = open();
  const answered = Promise.withResolvers<void>();
  const messages: InboundMessage[] = [];
  const order: string[] = [];
  const end = link.receive(
    (message) => void messages.push(message),
    () => order.push("end"),
    () => {
      order.push("closing");
      return answered.promise;
    },
  );
  const frames = [
    clientFrame(OPCODE.text, bytes("question")),
    clientFrame(OPCODE.close, Uint8Array.of(0x03, 0xe8)),
    clientFrame(OPCODE.text, bytes("too late")),
  ];
  peer.push(Uint8Array.from(frames.flatMap((frame) => [...frame])));
  await settle();
  assert.deepEqual([messages, order, peer.written], [["question"], ["closing"], []]);
  await link.send(["answer"]);
  answered.resolve();
  peer.push(null);
  assert.deepEqual(await end, { type: "peerClosed" });
  assert.deepEqual(order, ["closing", "end"]);
  assert.deepEqual(peer.written, [0x81, 6, ...bytes("answer"), 0x88, 2, 0x03, 0xe8]);
  assert.deepEqual(messages, ["question"]);
});

Deno.test("WebSocketLink.close() says why behind all that was sent, and cuts a long reason between characters", async () => {
  const reason = "é".repeat(100);
  for (const [cause, code] of [["violation", 1008], ["fault", 1011]] as const) {
    const { peer, link } = open();
    const { end } = collect(link);
    const gate = Promise.withResolvers<void>();
    peer.writeGate = gate.promise;
    const long = "z".repeat(600_000);
    const sent = link.send(["a", long, "b"]);
    link.close({ cause, reason });
    await assert.rejects(link.send(["late"]), /closed/);
    gate.resolve();
    await sent;
    await settle();
    assert.equal(peer.isWriteClosed, true);
    const last = closeFrame(code, "é".repeat(61));
    assert.deepEqual(peer.written.slice(-3 - last.length), [0x81, 1, 98, ...last]);
    peer.push(null);
    await end;
  }
});

Deno.test("WebSocketLink sends nothing after a frame that it could not finish", async () => {
  const { peer, link } = open();
  const { end } = collect(link);
  const source = sourceOf([new Uint8Array(300_000)]);
  let pieces = 0;
  const failing = {
    ...source,
    length: source.length,
    heldBytes: 0,
    next: () => pieces++ === 0 ? source.next() : Promise.reject(new Error("disk")),
  };
  const sent = link.send([new StreamedMessage("<", failing, ">")]);
  link.close({ cause: "violation", reason: "never seen" });
  await assert.rejects(sent, /disk/);
  await settle();
  assert.deepEqual(peer.written.slice(0, 2), [0x81, 127]);
  assert.ok(!new TextDecoder().decode(Uint8Array.from(peer.written)).includes("never seen"));
  assert.equal(peer.isWriteClosed, true);
  peer.push(null);
  await end;
});

Deno.test("WebSocketLink goes on reading from a peer after it has ended the connection, for a bounded time and number of bytes", async () => {
  const oversized = (peer: FakePeer) =>
    peer.frame(OPCODE.text, new Uint8Array(0), { claimedLength: MAX_FRAME_BYTES + 1 });
  {
    const { peer, clock, link } = open();
    const { end } = collect(link);
    oversized(peer);
    await settle();
    for (let second = 1; second < 10; second++) {
      peer.push(new Uint8Array(100));
      await settle();
      clock.advance(1000);
      assert.equal(peer.isClosed, false, `after ${second} s`);
    }
    peer.push(new Uint8Array(100));
    await settle();
    clock.advance(1000);
    assert.equal(peer.isClosed, true, "after 10 s");
    assert.equal((await end).type, "violation");
    assert.equal(clock.pending, 0);
  }
  {
    const { peer, link } = open();
    const { end } = collect(link);
    oversized(peer);
    const part = new Uint8Array(64 * 1024 * 1024);
    for (let i = 0; i < 6; i++) peer.push(part);
    assert.equal((await end).type, "violation");
    assert.equal(peer.isClosed, true);
    assert.ok(peer.unread > part.length && peer.unread < 2.5 * part.length, String(peer.unread));
  }
});

Deno.test("WebSocketLink.close() lets what was sent leave and gives up on a peer that does not close", async () => {
  const { peer, clock, link } = open();
  const { end, messages } = collect(link);
  const gate = Promise.withResolvers<void>();
  peer.writeGate = gate.promise;
  const sent = link.send(["last words"]);
  link.close();
  await settle();
  assert.equal(peer.isWriteClosed, false, "not before the write is done");
  gate.resolve();
  await sent;
  await settle();
  assert.equal(peer.isWriteClosed, true);
  peer.frame(OPCODE.text, bytes("ignored"));
  clock.advance(1000);
  assert.deepEqual(await end, { type: "closedByUs" });
  assert.deepEqual(messages, []);
  assert.equal(clock.pending, 0);
});

Deno.test("WebSocketLink works over a real socket with the runtime's own client", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [serverSide, clientSide] = await Promise.all([
    listener.accept(),
    Deno.connect({ hostname: "127.0.0.1", port: (listener.addr as Deno.NetAddr).port }),
  ]);
  const link = new WebSocketLink(serverSide, { clock: systemClock, pingIntervalMs: 1e6 });
  const run = collect(link);
  await clientSide.write(clientFrame(OPCODE.text, bytes("over tcp")));
  await link.send(["back"]);
  const answer = new Uint8Array(6);
  assert.equal(await clientSide.read(answer), 6);
  assert.deepEqual([...answer], [0x81, 4, ...bytes("back")]);
  clientSide.close();
  assert.deepEqual(await run.end, { type: "peerClosed" });
  assert.deepEqual(run.messages, ["over tcp"]);
  listener.close();
});
