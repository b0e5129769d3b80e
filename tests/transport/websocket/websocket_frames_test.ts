import assert from "node:assert/strict";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import {
  encodeFrame,
  encodeTextFrames,
  maxTextFrameBytes,
  OPCODE,
  readFrame,
} from "../../../src/transport/websocket/websocket_frames.ts";
import { Random } from "../../support/random.ts";
import { clientFrame } from "../../support/raw_websocket.ts";

Deno.test("readFrame() unmasks a frame at any offset and of any length", () => {
  const random = new Random(5);
  for (const length of [0, 1, 2, 3, 4, 5, 7, 8, 124, 125, 126, 127, 1000, 65535, 65536, 65537]) {
    for (let offset = 0; offset < 5; offset++) {
      const payload = Uint8Array.from({ length }, () => random.int(256));
      const frame = clientFrame(OPCODE.binary, payload);
      const buffer = new Uint8Array(offset + frame.length + 3);
      buffer.set(frame, offset);
      const read = readFrame(buffer, offset, buffer.length);
      assert.ok(read.type === "frame");
      assert.deepEqual([read.opcode, read.isFinal, read.end], [OPCODE.binary, true, offset + frame.length]);
      assert.deepEqual(buffer.subarray(read.payloadStart, read.end), payload);
      assert.deepEqual(buffer.subarray(read.end), new Uint8Array(3), "bytes behind the frame are left alone");
    }
  }
});

Deno.test("readFrame() asks for more at every prefix of a frame and changes nothing meanwhile", () => {
  for (const length of [3, 200, 70_000]) {
    const frame = clientFrame(OPCODE.text, new Uint8Array(length).fill(65));
    const copy = frame.slice();
    for (let end = 0; end < frame.length; end += Math.max(1, Math.floor(length / 50))) {
      const read = readFrame(copy, 0, end);
      assert.ok(read.type === "incomplete" && read.totalBytes > end && read.totalBytes <= frame.length);
    }
    assert.deepEqual(copy, frame);
  }
});

Deno.test("readFrame() refuses what the RFC and the limits forbid, from the header alone", () => {
  const table: [string, Uint8Array<ArrayBuffer>][] = [
    ["not masked", clientFrame(OPCODE.text, new Uint8Array(1), { isMasked: false })],
    ["reserved bits", clientFrame(OPCODE.text, new Uint8Array(1), { reservedBits: 4 })],
    ["unknown opcode", clientFrame(0x3, new Uint8Array(1))],
    ["unknown control opcode", clientFrame(0xb, new Uint8Array(1))],
    ["fragmented", clientFrame(OPCODE.ping, new Uint8Array(1), { isFinal: false })],
    ["too long", clientFrame(OPCODE.ping, new Uint8Array(126))],
    ["exceeds", clientFrame(OPCODE.binary, new Uint8Array(0), { claimedLength: MAX_FRAME_BYTES + 1 })],
    ["exceeds", clientFrame(OPCODE.binary, new Uint8Array(0), { claimedLength: 2 ** 53 })],
  ];
  for (const [reason, frame] of table) {
    const read = readFrame(frame, 0, frame.length);
    assert.ok(read.type === "violation" && read.reason.includes(reason), `${reason}: ${JSON.stringify(read)}`);
  }
  const largest = clientFrame(OPCODE.binary, new Uint8Array(0), { claimedLength: MAX_FRAME_BYTES });
  assert.equal(readFrame(largest, 0, largest.length).type, "incomplete");
});

Deno.test("encodeTextFrames() writes frames that any reader understands, ASCII or not", () => {
  const texts = [
    "",
    "a",
    "x".repeat(125),
    "x".repeat(126),
    "ü".repeat(63),
    "x".repeat(65535),
    "x".repeat(65536),
    "ü".repeat(40000),
  ];
  const target = new Uint8Array(texts.reduce((sum, text) => sum + maxTextFrameBytes(text), 0));
  const { messages, bytes } = encodeTextFrames(texts, 0, target);
  assert.equal(messages, texts.length);
  assert.deepEqual(readServerFrames(target.subarray(0, bytes)), texts);
});

Deno.test("encodeTextFrames() stops before a message that does not fit and goes on from there", () => {
  const texts = ["a".repeat(50), "ü".repeat(50), "b"];
  const target = new Uint8Array(120);
  const first = encodeTextFrames(texts, 0, target);
  assert.deepEqual(first, { messages: 1, bytes: 52 });
  const second = encodeTextFrames(texts, 1, target);
  assert.deepEqual(second, { messages: 2, bytes: 105 });
});

Deno.test("encodeFrame() writes an unmasked final frame", () => {
  assert.deepEqual(encodeFrame(OPCODE.pong, Uint8Array.of(1, 2)), Uint8Array.of(0x8a, 2, 1, 2));
  assert.deepEqual(encodeFrame(OPCODE.ping, new Uint8Array(0)), Uint8Array.of(0x89, 0));
});

function readServerFrames(bytes: Uint8Array<ArrayBuffer>): string[] {
  const texts: string[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at < bytes.length;) {
    assert.equal(bytes[at], 0x81);
    let length = bytes[at + 1]!;
    let header = 2;
    if (length === 126) [length, header] = [view.getUint16(at + 2), 4];
    else if (length === 127) [length, header] = [Number(view.getBigUint64(at + 2)), 10];
    texts.push(new TextDecoder().decode(bytes.subarray(at + header, at + header + length)));
    at += header + length;
  }
  return texts;
}
