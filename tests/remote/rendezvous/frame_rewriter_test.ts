import assert from "node:assert/strict";
import type { Bytes } from "../../../src/bytes.ts";
import { FrameRewriter } from "../../../src/remote/rendezvous/frame_rewriter.ts";
import { encodeFrame } from "../../../src/transport/websocket/websocket_frames.ts";
import { clientFrame, type FrameOptions } from "../../support/raw_websocket.ts";
import { forSeeds, randomBytes } from "../../support/seeds.ts";

/** Feeds bytes in portions through a buffer, as a socket would. */
function rewriteAll(input: Bytes, portion: () => number): { output: Bytes; controls: [number, Bytes][] } {
  const rewriter = new FrameRewriter();
  const buffer = new Uint8Array(1024);
  // Headers shrink, so that it cannot be more.
  const output = new Uint8Array(input.length);
  let outputEnd = 0;
  const controls: [number, Bytes][] = [];
  let filled = 0;
  for (let at = 0; at < input.length;) {
    const piece = input.subarray(at, at + Math.min(portion(), buffer.length - filled));
    buffer.set(piece, filled);
    at += piece.length;
    filled += piece.length;
    const result = rewriter.rewrite(buffer, filled, (opcode, payload) => {
      controls.push([opcode, payload.slice()]);
      return true;
    });
    if (result.type !== "frames") throw new Error(result.reason);
    for (let at = 0; at < result.outEnd; at++) output[outputEnd++] = buffer[at]!;
    buffer.copyWithin(0, result.rest, filled);
    filled -= result.rest;
  }
  assert.equal(filled, 0);
  assert.ok(!rewriter.isWithinFrame);
  return { output: output.subarray(0, outputEnd), controls };
}

Deno.test("FrameRewriter gives the same frames without masks, however the bytes are cut, and hands out control frames", async () => {
  await forSeeds(200, (random) => {
    const input: Bytes[] = [];
    const expected: Bytes[] = [];
    const controls: [number, Bytes][] = [];
    for (let count = 1 + random.int(8); count > 0; count--) {
      if (random.int(4) === 0) {
        const [opcode, payload] = [[0x9, 0xa][random.int(2)]!, randomBytes(random, random.int(126))] as const;
        input.push(clientFrame(opcode, payload));
        controls.push([opcode, payload]);
        continue;
      }
      const length = [0, 1, 125, 126, 127, 900, 65_535, 65_536, 70_000][random.int(9)]!;
      const payload = randomBytes(random, length);
      const opcode = random.int(3);
      const isFinal = random.int(2) === 0;
      input.push(clientFrame(opcode, payload, { isFinal }));
      const frame = encodeFrame(opcode, payload);
      if (!isFinal) frame[0]! &= 0x7f;
      expected.push(frame);
    }
    const largest = [1, 3, 100, 1024][random.int(4)]!;
    const result = rewriteAll(join(input), () => 1 + random.int(largest));
    assert.ok(equal(result.output, join(expected)), "the frames differ");
    assert.deepEqual(result.controls, controls);
  });
});

Deno.test("FrameRewriter refuses what the RFC forbids, and passes on everything before it", () => {
  const good = clientFrame(0x1, Uint8Array.of(65));
  const cases: [number, Bytes, FrameOptions, RegExp][] = [
    [0x1, new Uint8Array(1), { isMasked: false }, /not masked/],
    [0x1, new Uint8Array(1), { reservedBits: 4 }, /reserved bits/],
    [0x3, new Uint8Array(1), {}, /unknown opcode 3/],
    [0xb, new Uint8Array(1), {}, /unknown control opcode 11/],
    [0x9, new Uint8Array(1), { isFinal: false }, /control frame/],
    [0x9, new Uint8Array(126), {}, /control frame/],
    [0x1, new Uint8Array(0), { claimedLength: Number.MAX_SAFE_INTEGER + 1 }, /length/],
  ];
  for (const [opcode, payload, options, reason] of cases) {
    const bytes = join([good, clientFrame(opcode, payload, options)]);
    const result = new FrameRewriter().rewrite(bytes, bytes.length, () => true);
    assert.equal(result.type, "violation", String(reason));
    if (result.type !== "violation") continue;
    assert.match(result.reason, reason);
    assert.deepEqual([...bytes.subarray(0, result.outEnd)], [0x81, 1, 65]);
  }
});

Deno.test("FrameRewriter passes a frame far longer than its buffer", () => {
  const rewriter = new FrameRewriter();
  const head = clientFrame(0x2, new Uint8Array(0), { claimedLength: 2 ** 40 });
  const first = rewriter.rewrite(head, head.length, () => true);
  assert.deepEqual(first, { type: "frames", outEnd: 10, rest: 14 });
  assert.ok(rewriter.isWithinFrame);
  const middle = new Uint8Array(1000);
  assert.deepEqual(rewriter.rewrite(middle, 1000, () => true), { type: "frames", outEnd: 1000, rest: 1000 });
  assert.deepEqual([...middle.subarray(0, 5)], [0x12, 0x34, 0x56, 0x78, 0x12]);
});

function join(parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function equal(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
