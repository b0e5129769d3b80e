import assert from "node:assert/strict";
import { type Bytes, concatBytes } from "../../../src/bytes.ts";
import { DomainError, notFound } from "../../../src/errors.ts";
import {
  encodeHelperFrame,
  type Frame,
  FrameError,
  FrameReader,
  REPLY_LIMITS,
  REQUEST_LIMITS,
} from "../../../src/fs/confined/helper_frames.ts";
import { errorOf, failureOf, parseReply, parseRequest } from "../../../src/fs/confined/helper_protocol.ts";
import { OsError } from "../../../src/fs/map_error.ts";

function prefix(headBytes: number, bodyBytes: number): Bytes {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, headBytes, true);
  view.setUint32(4, bodyBytes, true);
  return bytes;
}

function readAll(bytes: Bytes, pieceBytes = bytes.length): Frame[] {
  const reader = new FrameReader(REQUEST_LIMITS);
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    reader.push(bytes.slice(at, at + pieceBytes), (frame) => frames.push(frame));
  }
  return frames;
}

Deno.test("frames arrive whole however they are cut", () => {
  const body = Uint8Array.from({ length: 300 }, (_, index) => index & 0xff);
  const bytes = concatBytes([
    ...encodeHelperFrame({ id: 1, text: "å\u0000" }, body),
    ...encodeHelperFrame({ id: 2 }),
    ...encodeHelperFrame({ id: 3 }, new Uint8Array([7])),
  ]);
  const expected = [
    { head: { id: 1, text: "å\u0000" }, body },
    { head: { id: 2 }, body: new Uint8Array() },
    { head: { id: 3 }, body: new Uint8Array([7]) },
  ];
  for (const pieceBytes of [1, 2, 3, 7, 8, 9, 64, bytes.length]) assert.deepEqual(readAll(bytes, pieceBytes), expected);
});

Deno.test("a body is not copied on its way out", () => {
  const body = new Uint8Array(10);
  assert.equal(encodeHelperFrame({}, body)[1], body);
});

Deno.test("names that are not UTF-8 survive", () => {
  const path = new Uint8Array([0x2f, 0xff, 0x80, 0x61]);
  const [frame] = readAll(concatBytes(encodeHelperFrame({ params: { path, other: "/a" } })));
  assert.deepEqual(frame!.head, { params: { path, other: "/a" } });
});

Deno.test("a frame that claims too much is refused before memory is taken for it", () => {
  const { maxHeadBytes, maxBodyBytes } = REQUEST_LIMITS;
  const claims = [[0, 0], [0, 5], [maxHeadBytes + 1, 0], [10, maxBodyBytes + 1], [10, 2 ** 30], [
    2 ** 32 - 1,
    2 ** 32 - 1,
  ]];
  for (const [head, body] of claims) {
    const reader = new FrameReader(REQUEST_LIMITS);
    assert.throws(() => reader.push(prefix(head!, body!), () => {}), FrameError, `${head} ${body}`);
  }
});

Deno.test("a head that is not JSON, or not UTF-8, is refused", () => {
  for (const head of [[0x7b], [0x22, 0xff, 0x22], [0x41, 0x42]]) {
    const reader = new FrameReader(REQUEST_LIMITS);
    const bytes = concatBytes([prefix(head.length, 0), Uint8Array.from(head)]);
    assert.throws(() => reader.push(bytes, () => {}), FrameError);
  }
});

Deno.test("requests and replies without meaning are refused", () => {
  for (const head of [null, 1, "x", [], {}, { id: -1, operation: "walk" }, { id: 1 }, { id: 1, operation: "exec" }]) {
    assert.throws(() => parseRequest(head), FrameError, JSON.stringify(head));
  }
  const failed = (failure: unknown) => ({ id: 1, type: "failed", failure });
  for (
    const head of [null, {}, { id: 1 }, { id: "1", type: "done" }, failed({}), failed({ kind: "fatal", message: "" })]
  ) {
    assert.throws(() => parseReply(head), FrameError, JSON.stringify(head));
  }
  const changed = (changes: unknown) => ({ type: "changed", changes });
  for (
    const event of [
      ...[undefined, {}, { type: "watching" }, { type: "ended", root: "file:///" }, changed(null), changed([null])],
      ...[changed([{ path: 1, kind: "created" }]), changed([{ path: "file:///a", kind: "read" }])],
    ]
  ) {
    assert.throws(() => parseReply({ id: 1, type: "event", event }), FrameError, JSON.stringify(event));
  }
});

Deno.test("errors keep their kind, their text and their number", () => {
  for (const error of [new OsError(30), new OsError(2), notFound("no such handle"), new DomainError("internal", "x")]) {
    const back = errorOf(failureOf(error)!);
    assert.deepEqual([back.kind, back.message, back instanceof OsError], [
      error.kind,
      error.message,
      error instanceof OsError,
    ]);
  }
  assert.equal(failureOf(new TypeError("a fault")), null);
});

Deno.test("a listing of the longest names fits into a reply", () => {
  const name = "\u0001".repeat(255);
  const entry = JSON.stringify({ fileName: name, isDirectory: false, isFile: true });
  assert.ok(entry.length * 50_000 < REPLY_LIMITS.maxHeadBytes);
});
