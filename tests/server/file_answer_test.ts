import assert from "node:assert/strict";
import type { ByteSource } from "../../src/bytes.ts";
import { LARGE_READ_BYTES } from "../../src/fs/limits.ts";
import type { RequestId } from "../../src/rpc/envelope.ts";
import { StreamedMessage } from "../../src/rpc/streamed_message.ts";
import { FileAnswer } from "../../src/server/methods/file_answer.ts";

const ID = "1" as RequestId;

class FakeSource implements ByteSource {
  readonly length = 3_000_000;
  readonly heldBytes = 0;
  isClosed = false;
  next = () => Promise.resolve(null);
  close = () => void (this.isClosed = true);
}

/** An answer that has a place once it has made room. */
function open() {
  const gone = new AbortController();
  const place = { isTaken: false };
  const answer = new FileAnswer({
    takePlace: () => {
      place.isTaken = true;
      return Promise.resolve(() => void (place.isTaken = false));
    },
    promise: () => {},
    signal: gone.signal,
  });
  return { answer, place, gone };
}

Deno.test("FileAnswer is a text for small content, in any pieces, and a stream for more", () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at * 7);
  const small = open().answer;
  assert.deepEqual(small.result().encode(ID), ['{"id":1,"result":{"dataBase64":"', "", '"}}']);
  for (const at of [0, 300, 600]) small.add(bytes.slice(at, at + 300));
  const text = [`{"id":1,"result":{"dataBase64":"`, bytes.slice(0, 900).toBase64(), '"}}'];
  assert.deepEqual(small.result().encode(ID), text);

  const large = open().answer;
  large.add(bytes.slice(0, 300));
  large.add(bytes.slice(300, 150_000));
  large.add(bytes.slice(150_000));
  const message = large.result().encode(ID) as StreamedMessage;
  assert.ok(message instanceof StreamedMessage);
  assert.equal(message.around[0], `{"id":1,"result":{"dataBase64":"${bytes.slice(0, 300).toBase64()}`);
  assert.equal(message.source.length, 300_000 - 300);
});

Deno.test("FileAnswer keeps its place until the content has left, or never will", async () => {
  const left = open();
  await left.answer.makeRoom(LARGE_READ_BYTES);
  const source = new FakeSource();
  left.answer.take(source);
  const result = left.answer.result();
  assert.deepEqual([left.place.isTaken, source.isClosed], [true, false]);
  (result.encode(ID) as StreamedMessage).source.close();
  assert.deepEqual([left.place.isTaken, source.isClosed], [false, true]);
  if ("done" in result) await result.done;

  const failed = open();
  await failed.answer.makeRoom(LARGE_READ_BYTES);
  failed.answer.giveUp();
  assert.equal(failed.place.isTaken, false);

  const turnedOutSmall = open();
  await turnedOutSmall.answer.makeRoom(LARGE_READ_BYTES);
  turnedOutSmall.answer.add(new Uint8Array(3));
  turnedOutSmall.answer.result();
  assert.equal(turnedOutSmall.place.isTaken, false);
});

Deno.test("FileAnswer closes its content when the connection ends, before or after the answer is made", async () => {
  for (const isBefore of [true, false]) {
    const { answer, place, gone } = open();
    await answer.makeRoom(LARGE_READ_BYTES);
    const source = new FakeSource();
    answer.take(source);
    if (isBefore) gone.abort();
    const result = answer.result();
    if (!isBefore) gone.abort();
    assert.deepEqual([place.isTaken, source.isClosed], [false, true]);
    if ("done" in result) await result.done;
  }
});
