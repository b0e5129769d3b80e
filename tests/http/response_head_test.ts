import assert from "node:assert/strict";
import { bodyFraming, HttpProtocolError, parseResponseHead } from "../../src/http/response_head.ts";

function parse(text: string | Uint8Array) {
  return parseResponseHead(typeof text === "string" ? new TextEncoder().encode(text) : text);
}

function framing(headers: string, method = "GET", status = 200) {
  return bodyFraming(method, parse(`HTTP/1.1 ${status} X${headers}`));
}

Deno.test("parseResponseHead() keeps headers in order with their repeats", () => {
  assert.deepEqual(
    parse("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-D:1\r\nset-cookie:\t b=2 \t\r\nX-Empty:\r\nx-d: 2, 3"),
    {
      status: 200,
      headers: [
        { name: "set-cookie", value: "a=1" },
        { name: "x-d", value: "1" },
        { name: "set-cookie", value: "b=2" },
        { name: "x-empty", value: "" },
        { name: "x-d", value: "2, 3" },
      ],
    },
  );
});

Deno.test("parseResponseHead() accepts common faults of servers: no reason, HTTP/1.0, bare line feeds, odd statuses", () => {
  assert.equal(parse("HTTP/1.1 204").status, 204);
  assert.deepEqual(parse("HTTP/1.0 799 Odd One\nA: b"), { status: 799, headers: [{ name: "a", value: "b" }] });
});

Deno.test("parseResponseHead() takes no longer for many blanks inside a value", () => {
  const value = `a${" ".repeat(250_000)}b`;
  const begunAt = performance.now();
  assert.equal(parse(`HTTP/1.1 200 OK\r\nX: ${value} `).headers[0]?.value, value);
  // A pattern that begins anew at each blank takes half a minute.
  assert.ok(performance.now() - begunAt < 2000);
});

Deno.test("parseResponseHead() takes as many headers as are allowed, and refuses more before it reads them", () => {
  const head = (count: number) => `HTTP/1.1 200 OK${"\r\na:".repeat(count)}`;
  assert.equal(parse(head(1024)).headers.length, 1024);
  assert.throws(() => parse(head(1025)), { name: "HttpProtocolError", message: "more than 1024 HTTP headers" });
});

Deno.test("parseResponseHead() reads values as UTF-8, else one character per byte", () => {
  assert.equal(parse("HTTP/1.1 200 OK\r\nX: café").headers[0]?.value, "café");
  const latin = Uint8Array.from([...new TextEncoder().encode("HTTP/1.1 200 OK\r\nX: caf"), 0xe9]);
  assert.equal(parse(latin).headers[0]?.value, "café");
});

Deno.test("parseResponseHead() reads each header by itself, whatever the others are written in", () => {
  const encoded = new TextEncoder().encode("\r\nY: café");
  const latin = Uint8Array.from([...new TextEncoder().encode("HTTP/1.1 200 OK\r\nX: caf"), 0xe9, ...encoded]);
  assert.deepEqual(parse(latin).headers, [{ name: "x", value: "café" }, { name: "y", value: "café" }]);
});

Deno.test("parseResponseHead() refuses what is not HTTP/1", () => {
  for (
    const text of [
      "NOT HTTP AT ALL",
      "HTTP/2 200",
      "HTTP/1.1 20",
      "HTTP/1.1 2000 OK",
      "HTTP/1.1 099 X",
      "HTTP/1.1 200 OK\r\nno colon",
      "HTTP/1.1 200 OK\r\nName : x",
      "HTTP/1.1 200 OK\r\n: x",
      "HTTP/1.1 200 OK\r\nA: b\r\n continued",
      "HTTP/1.1 200 OK\r\nA: b\0c",
      "HTTP/1.1 200 OK\r\nA: b\rc",
      "HTTP/1.1 200 OK\r\nA: b\x01c",
      "HTTP/1.1 200 OK\r\nA: b\x7fc",
      "",
    ]
  ) assert.throws(() => parse(text), HttpProtocolError, JSON.stringify(text));
});

Deno.test("bodyFraming() follows the rules of HTTP/1.1", () => {
  assert.deepEqual(framing(""), { type: "untilClose" });
  assert.deepEqual(framing("\r\nContent-Length: 17"), { type: "length", bytes: 17 });
  assert.deepEqual(framing("\r\nContent-Length: 17, 17\r\ncontent-length: 17"), { type: "length", bytes: 17 });
  assert.deepEqual(framing("\r\nTransfer-Encoding: Chunked"), { type: "chunked" });
  assert.deepEqual(framing("\r\nContent-Length: 17\r\nTransfer-Encoding: chunked"), { type: "chunked" });
});

Deno.test("bodyFraming() knows responses that never have a body", () => {
  for (const status of [101, 204, 304]) {
    assert.deepEqual(framing("\r\nContent-Length: 5", "GET", status), { type: "none" });
  }
  assert.deepEqual(framing("\r\nContent-Length: 5", "HEAD"), { type: "none" });
  assert.deepEqual(framing("\r\nContent-Length: 5", "CONNECT"), { type: "none" });
  assert.deepEqual(framing("\r\nContent-Length: 5", "CONNECT", 407), { type: "length", bytes: 5 });
});

Deno.test("bodyFraming() refuses framing that two readers could understand differently", () => {
  for (
    const headers of [
      "\r\nContent-Length: 1\r\nContent-Length: 2",
      "\r\nContent-Length: -1",
      "\r\nContent-Length:",
      "\r\nContent-Length: 1e3",
      "\r\nContent-Length: 9999999999999999",
      "\r\nTransfer-Encoding: gzip, chunked",
      "\r\nTransfer-Encoding: identity",
    ]
  ) assert.throws(() => framing(headers), HttpProtocolError, headers);
});
