import assert from "node:assert/strict";
import { concatBytes } from "../../../src/bytes.ts";
import { MAX_RELAY_MESSAGE_BYTES } from "../../../src/remote/relay/limits.ts";
import { MalformedMessage } from "../../../src/remote/relay/protobuf.ts";
import { decodeRelayFrame, type RelayBody, RelayFrameEncoder } from "../../../src/remote/relay/relay_frame.ts";

const STREAM = "01234567-89ab-4cde-8f01-23456789abcd";
const frames = new RelayFrameEncoder(STREAM);
const HEAD = `08011224${hex(new TextEncoder().encode(STREAM))}`;

Deno.test("frames are written as codex 0.166 writes them", () => {
  assert.equal(hex(frames.resume()), `${HEAD}3a00`);
  const json = new TextEncoder().encode("x".repeat(97));
  assert.equal(hex(frames.data(0, json)), `${HEAD}2a6518012261${"78".repeat(97)}`);
});

Deno.test("every frame is read as it was written", () => {
  const payload = crypto.getRandomValues(new Uint8Array(300));
  const cases: [Uint8Array<ArrayBuffer>, RelayBody][] = [
    [frames.resume(), { type: "resume", nextSeq: 0 }],
    [frames.resume(4_294_967_295), { type: "resume", nextSeq: 4_294_967_295 }],
    [frames.reset("why not"), { type: "reset", reason: "why not" }],
    [frames.handshake(payload), { type: "handshake", payload }],
    [frames.data(0, payload), { type: "data", seq: 0, segmentIndex: 0, segmentCount: 1, payload }],
    [frames.data(300, payload), { type: "data", seq: 300, segmentIndex: 0, segmentCount: 1, payload }],
    [bytes(`${HEAD}3200`), { type: "ack", seq: 0 }],
    [bytes(`${HEAD}32001807`), { type: "ack", seq: 7 }],
    [frames.ack(0), { type: "ack", seq: 0 }],
    [frames.ack(70_000), { type: "ack", seq: 70_000 }],
    [bytes(`${HEAD}4a00`), { type: "heartbeat" }],
  ];
  for (const [frame, body] of cases) assert.deepEqual(decodeRelayFrame(frame), { version: 1, streamId: STREAM, body });
});

Deno.test("additions of later versions are ignored", () => {
  // Field 11 (a text), field 20 (64 bits), field 21 (32 bits), field 22 (a number of 64 bits).
  const extra = bytes("5a0161" + "a101" + "00".repeat(8) + "ad01" + "00".repeat(4) + "b001" + "ff".repeat(9) + "01");
  const { body } = decodeRelayFrame(concatBytes([frames.reset("bye"), extra]));
  assert.deepEqual(body, { type: "reset", reason: "bye" });
  assert.deepEqual(decodeRelayFrame(bytes("0801")), { version: 1, streamId: "", body: null });
});

Deno.test("malformed frames are refused with a reason", () => {
  const cases: [string, RegExp][] = [
    ["08", /number is cut off/],
    ["08ffffffff1f", /more than 32 bits/],
    ["0880808080808080808080" + "80", /more than 32 bits|too long/],
    ["0a0161", /not a number/],
    ["1201", /field is cut off/],
    ["1202c328", /stream id is not valid UTF-8/],
    ["1000", /has no length/],
    ["00", /field number is 0/],
    ["0b", /not a number/],
    ["a301", /wire type 3 is not in use/],
    ["2a02220a", /field is cut off/],
    [`12${"8102"}${"61".repeat(257)}`, /stream id of 257 bytes/],
    [`42${"8408"}0a${"8108"}${"61".repeat(1025)}`, /reset reason of 1025 bytes/],
  ];
  for (const [text, reason] of cases) {
    assert.throws(() => decodeRelayFrame(bytes(text)), (error: Error) => {
      assert.ok(error instanceof MalformedMessage, text);
      assert.match(error.message, reason, text);
      return true;
    });
  }
  assert.throws(() => decodeRelayFrame(new Uint8Array(MAX_RELAY_MESSAGE_BYTES + 1)), /exceeds the limit/);
});

Deno.test("a long reason is cut at a whole character", () => {
  const { body } = decodeRelayFrame(frames.reset("ü".repeat(2000)));
  assert.deepEqual(body, { type: "reset", reason: "ü".repeat(512) });
});

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
