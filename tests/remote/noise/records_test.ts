import assert from "node:assert/strict";
import nodeCrypto from "node:crypto";
import { sourceOf } from "../../../src/bytes.ts";
import { AeadKey } from "../../../src/remote/noise/aead.ts";
import { MAX_EARLY_RECORDS, MAX_RECORD_BYTES } from "../../../src/remote/noise/limits.ts";
import { NoiseError } from "../../../src/remote/noise/noise_error.ts";
import { RecordReader } from "../../../src/remote/noise/record_reader.ts";
import { RecordWriter, type SealedRecord } from "../../../src/remote/noise/record_writer.ts";
import type { OutboundMessage } from "../../../src/rpc/link.ts";
import { StreamedMessage } from "../../../src/rpc/streamed_message.ts";

const KEY = crypto.getRandomValues(new Uint8Array(32));
const SHORT = '{"id":1}';
const LONG = `{"text":"${"grüße ".repeat(50_000)}"}`;

Deno.test("messages of every kind and length arrive whole and in order, short ones in one record", async () => {
  const content = new Uint8Array(300_000).map((_, index) => index * 7919);
  const exact = "x".repeat(MAX_RECORD_BYTES - 4);
  const messages: [OutboundMessage, string][] = [
    [SHORT, SHORT],
    [LONG, LONG],
    [["{", '"parts":', "1}"], '{"parts":1}'],
    [["[", "y".repeat(700_000), "]"], `[${"y".repeat(700_000)}]`],
    [new StreamedMessage('{"data":"', sourceOf([content]), '"}'), `{"data":"${content.toBase64()}"}`],
    [exact, exact],
    [exact + "z", exact + "z"],
    ["z".repeat(4 * MAX_RECORD_BYTES), "z".repeat(4 * MAX_RECORD_BYTES)],
    [SHORT, SHORT],
  ];
  const records = await sealed(messages.map(([message]) => message));
  assert.ok(records.every(({ sealed }) => sealed.length <= MAX_RECORD_BYTES + 16));
  assert.deepEqual(records.map(({ seq }) => seq), records.map((_, index) => index));
  const { texts, reader } = receiver();
  for (const { seq, sealed } of records) await reader.take(seq, sealed);
  assert.deepEqual(texts, messages.map(([, text]) => text));
  assert.equal(reader.heldBytes, 0);
  assert.equal((await sealed([SHORT, SHORT, SHORT])).length, 1);
});

Deno.test("records may come in another order, and twice", async () => {
  const records = await sealed([LONG, SHORT]);
  const { texts, reader } = receiver();
  const [first, ...rest] = records;
  for (const { seq, sealed } of rest.toReversed()) reader.take(seq, sealed);
  for (const { seq, sealed } of rest) reader.take(seq, sealed);
  assert.deepEqual(texts, []);
  await reader.take(first!.seq, first!.sealed);
  await reader.take(first!.seq, first!.sealed);
  assert.deepEqual(texts, [LONG, SHORT]);
});

Deno.test("records that are taken while others are being opened keep their order", async () => {
  const messages = Array.from({ length: 200 }, (_, index) => `${index} ${index % 3 === 0 ? "z".repeat(100_000) : ""}`);
  const writer = writerOf();
  for (const message of messages) await writer.write([message]);
  const { texts, reader } = receiver();
  await Promise.all(writer.records.map(({ seq, sealed }) => reader.take(seq, sealed)));
  assert.deepEqual(texts, messages);
});

for (const [name, message] of [["short", SHORT], ["long", LONG]] as const) {
  Deno.test(`a changed, a moved and a forged record end the stream (${name})`, async () => {
    const records = await sealed([message, message]);
    const tampered = records[0]!.sealed.slice();
    tampered[20]! ^= 1;
    await breaks((reader) => reader.take(0, tampered));
    // One under the number of another: its nonce is not that number's.
    const other = writerOf();
    await other.write([message]);
    await other.write([message]);
    await breaks((reader) => reader.take(0, other.records.at(-1)!.sealed));
    const forger = writerOf(crypto.getRandomValues(new Uint8Array(32)));
    await forger.write([message]);
    await breaks((reader) => reader.take(0, forger.records[0]!.sealed));
  });
}

Deno.test("a record that is too far ahead, too long, too short or not a message ends the stream", async () => {
  const one = new Uint8Array(100);
  await breaks((reader) => reader.take(MAX_EARLY_RECORDS + 1, one), /too far ahead/);
  await breaks((reader) => {
    for (let seq = 1; seq <= 20; seq++) reader.take(seq, new Uint8Array(MAX_RECORD_BYTES));
  }, /too far ahead/);
  await breaks((reader) => reader.take(0, new Uint8Array(MAX_RECORD_BYTES + 17)), /record of/);
  await breaks((reader) => reader.take(0, new Uint8Array(15)), /record of/);
  const lengths: [number, RegExp][] = [[0, /message of 0 bytes/], [64 * 1024 * 1024 + 1, /message of 67108865 bytes/]];
  for (const [length, reason] of lengths) {
    const plain = new Uint8Array(8);
    new DataView(plain.buffer).setUint32(0, length);
    await breaks(async (reader) => reader.take(0, await new AeadKey(KEY).seal(plain)), reason);
  }
});

Deno.test("the two ciphers of the runtime write the same, whatever the length", async () => {
  // As in Node, where one of them is used for everything.
  const synchronous = { crypto: nodeCrypto, maxBytes: Infinity };
  const makers = [() => new AeadKey(KEY), () => new AeadKey(KEY, null), () => new AeadKey(KEY, synchronous)];
  for (const length of [0, 1, 200, 2048, MAX_RECORD_BYTES]) {
    const plain = crypto.getRandomValues(new Uint8Array(length));
    const associated = crypto.getRandomValues(new Uint8Array(32));
    const box = await new AeadKey(KEY).seal(plain, associated);
    for (const make of makers) {
      const [one, other] = [make(), new AeadKey(KEY, null)];
      for (let count = 0; count < 3; count++) {
        assert.deepEqual(await one.seal(plain, associated), await other.seal(plain, associated));
      }
      assert.deepEqual(await make().open(box, associated), plain);
      await assert.rejects(async () => await make().open(box, new Uint8Array(32)), NoiseError);
    }
  }
});

Deno.test("with a synchronous cipher messages of every length arrive whole and in order, too", async () => {
  const synchronous = { crypto: nodeCrypto, maxBytes: Infinity };
  const texts: string[] = [];
  const reader = new RecordReader({
    key: new AeadKey(KEY, synchronous),
    onMessage: (bytes) => texts.push(new TextDecoder().decode(bytes)),
  });
  const records: SealedRecord[] = [];
  const writer = new RecordWriter(new AeadKey(KEY, synchronous), (batch) => {
    records.push(...batch);
    return Promise.resolve();
  });
  await writer.write([SHORT, LONG, SHORT]);
  for (const { seq, sealed } of records) assert.equal(reader.take(seq, sealed), undefined);
  assert.deepEqual(texts, [SHORT, LONG, SHORT]);
});

function writerOf(key = KEY): { write(messages: OutboundMessage[]): Promise<void>; records: SealedRecord[] } {
  const records: SealedRecord[] = [];
  const writer = new RecordWriter(new AeadKey(key), (batch) => {
    records.push(...batch);
    return Promise.resolve();
  });
  return { write: (messages) => writer.write(messages), records };
}

async function sealed(messages: OutboundMessage[]): Promise<SealedRecord[]> {
  const writer = writerOf();
  await writer.write(messages);
  return writer.records;
}

function receiver(): { texts: string[]; reader: RecordReader } {
  const texts: string[] = [];
  const reader = new RecordReader({
    key: new AeadKey(KEY),
    onMessage: (bytes) => texts.push(new TextDecoder().decode(bytes)),
  });
  return { texts, reader };
}

/** The reader fails, tells nobody anything, and goes on failing. */
async function breaks(attempt: (reader: RecordReader) => unknown, reason: RegExp = /does not belong/): Promise<void> {
  const { texts, reader } = receiver();
  await assert.rejects(async () => await attempt(reader), reason);
  await assert.rejects(async () => await reader.take(0, (await sealed([SHORT]))[0]!.sealed), NoiseError);
  assert.deepEqual(texts, []);
}
