import assert from "node:assert/strict";
import { openBody } from "../../src/http/body.ts";
import { ByteReader } from "../../src/http/byte_reader.ts";
import { MAX_CHUNK_LINE_BYTES, MAX_RESPONSE_HEAD_BYTES } from "../../src/http/limits.ts";
import { type BodyFraming, HttpProtocolError } from "../../src/http/response_head.ts";

/** A reader whose bytes come in pieces of this size. */
function reader(text: string, pieceBytes: number): ByteReader {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ByteReader((into) => {
    const count = Math.min(pieceBytes, into.length, bytes.length - at);
    into.set(bytes.subarray(at, at + count));
    at += count;
    return Promise.resolve(count === 0 ? null : count);
  });
}

async function readAll(text: string, framing: BodyFraming, pieceBytes: number): Promise<string> {
  const body = openBody(reader(text, pieceBytes), framing);
  let whole = "";
  for (let piece = await body.read(); piece !== null; piece = await body.read()) {
    assert(piece.length > 0);
    whole += new TextDecoder().decode(piece);
  }
  assert.equal(await body.read(), null);
  return whole;
}

const PIECES = [1, 2, 3, 7, 1000];

Deno.test("ByteReader.readHead() finds the end of a head however its bytes come", async () => {
  for (const size of PIECES) {
    for (const end of ["\r\n", "\n"]) {
      const source = reader(`HTTP/1.1 200 OK${end}A: b${end}${end}body`, size);
      const head = await source.readHead();
      assert.equal(new TextDecoder().decode(head!), `HTTP/1.1 200 OK${end}A: b`);
      assert.match(new TextDecoder().decode((await source.readSome(2))!), /^bo?$/);
    }
  }
});

Deno.test("ByteReader.readHead() tells a connection without a byte from one that stops in the middle", async () => {
  assert.equal(await reader("", 1).readHead(), null);
  await assert.rejects(reader("HTTP/1.1 200 OK\r\nA", 4).readHead(), HttpProtocolError);
  await assert.rejects(reader("HTTP/1.1 200 OK\r\n", 4).readHead(), HttpProtocolError);
  await assert.rejects(reader("\r\nHTTP/1.1 200 OK\r\n\r\n", 4).readHead(), HttpProtocolError);
});

Deno.test("ByteReader.readHead() gives up on a head without end", async () => {
  const head = (bytes: number) => "HTTP/1.1 200 OK\r\nA: ".padEnd(bytes, "x");
  await assert.rejects(reader(head(MAX_RESPONSE_HEAD_BYTES * 2), 5000).readHead(), /longer than/);
  const long = await reader(head(MAX_RESPONSE_HEAD_BYTES - 10) + "\r\n\r\n", 5000).readHead();
  assert.equal(long?.length, MAX_RESPONSE_HEAD_BYTES - 10);
});

Deno.test("openBody() takes any framing off, however the bytes come", async () => {
  for (const size of PIECES) {
    assert.equal(await readAll("hello world", { type: "untilClose" }, size), "hello world");
    assert.equal(await readAll("hello world", { type: "length", bytes: 5 }, size), "hello");
    assert.equal(await readAll("hello", { type: "length", bytes: 0 }, size), "");
    assert.equal(await readAll("hello", { type: "none" }, size), "");
    const chunked = "5;ext=1\r\nhello\r\n00000000000000001 \r\n \r\nA\r\nworld56789\r\n0\r\nTrailer: x\r\n\r\nrest";
    assert.equal(await readAll(chunked, { type: "chunked" }, size), "hello world56789");
  }
});

Deno.test("openBody() never passes a short body off as a whole one", async () => {
  const chunked: BodyFraming = { type: "chunked" };
  const table: [string, BodyFraming][] = [
    ["hell", { type: "length", bytes: 5 }],
    ["", chunked],
    ["5\r\nhel", chunked],
    ["5\r\nhello", chunked],
    ["5\r\nhello\r\n", chunked],
    ["5\r\nhello\r\n0\r\n", chunked],
    ["5\r\nhello\r\n0\r\nTrailer: x\r\n", chunked],
    ["5\r\nhelloworld\r\n0\r\n\r\n", chunked],
    ["ZZ\r\nhello", chunked],
    ["-5\r\nhello", chunked],
    ["0x5\r\nhello\r\n0\r\n\r\n", chunked],
    ["\r\nhello", chunked],
    ["FFFFFFFFFFFFFFFF\r\nhello", chunked],
    [`5;${"x".repeat(MAX_CHUNK_LINE_BYTES)}\r\nhello\r\n0\r\n\r\n`, chunked],
    [`0\r\n${"Trailer: x\r\n".repeat(MAX_CHUNK_LINE_BYTES / 8)}\r\n`, chunked],
  ];
  for (const [text, framing] of table) {
    for (const size of PIECES) await assert.rejects(readAll(text, framing, size), HttpProtocolError, text.slice(0, 40));
  }
});
