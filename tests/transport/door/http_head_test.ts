/**
 * What is a request head, what is none, and what each is answered.
 *
 * More than 300 lines: tables of request heads.
 */

import assert from "node:assert/strict";
import {
  type HeadResult,
  listEntries,
  MAX_HEADER_FIELDS,
  MAX_REQUEST_HEAD_BYTES,
  parseHead,
  type RequestHead,
} from "../../../src/transport/door/http_head.ts";

/** One character, one byte. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function textOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function parse(text: string): HeadResult {
  return parseHead(bytesOf(text));
}

function headOf(text: string): RequestHead {
  const head = parse(text);
  if (head.type !== "head") assert.fail(`${JSON.stringify(head)} for ${JSON.stringify(text)}`);
  return head;
}

/** A request for `/` with these extra lines. */
function withLines(...lines: string[]): string {
  return ["GET / HTTP/1.1", "Host: a", ...lines, "", ""].join("\r\n");
}

Deno.test("parseHead() reads an upgrade request and leaves what follows it alone", () => {
  const text = "GET /?a=b HTTP/1.1\r\nHost: 127.0.0.1:80\r\nconnection: Upgrade\r\nUPGRADE: websocket\r\n\r\n";
  assert.deepEqual(parse(text + "\x81\x00rest"), {
    type: "head",
    method: "GET",
    target: "/?a=b",
    path: "/",
    version: "1.1",
    hostname: "127.0.0.1",
    headers: new Map([["host", ["127.0.0.1:80"]], ["connection", ["Upgrade"]], ["upgrade", ["websocket"]]]),
    headBytes: text.length,
  });
});

Deno.test("parseHead() keeps repeated fields in order and trims only space and tab", () => {
  const head = headOf(withLines("X-A: 1", "x-a:\t 2 \t", "X-a:", "X-B:a:b", "X-C: \xa0\xffé\xa0 ", "X-D: a \t b"));
  assert.deepEqual(head.headers.get("x-a"), ["1", "2", ""]);
  assert.deepEqual(head.headers.get("x-b"), ["a:b"]);
  assert.deepEqual(head.headers.get("x-c"), ["\xa0\xffé\xa0"]);
  assert.deepEqual(head.headers.get("x-d"), ["a \t b"]);
});

Deno.test("parseHead() keeps field names from reaching into JavaScript objects", () => {
  const head = headOf(withLines("__proto__: x", "constructor: y"));
  assert.deepEqual([head.headers.get("__proto__"), head.headers.get("constructor")], [["x"], ["y"]]);
  assert.equal(head.headers.get("toString"), undefined);
});

Deno.test("parseHead() reads origin-form and absolute-form targets, without decoding", () => {
  const cases: [string, string, string][] = [
    ["/", "/", "field"],
    ["//", "//", "field"],
    ["/readyz/", "/readyz/", "field"],
    ["/%72eadyz", "/%72eadyz", "field"],
    ["/a/../b;c=1?x=/?y", "/a/../b;c=1", "field"],
    ["/?", "/", "field"],
    ["http://example.com/readyz?x", "/readyz", "example.com"],
    ["http://example.com", "/", "example.com"],
    ["HTTP://127.0.0.1:80?x", "/", "127.0.0.1"],
    ["ws://[::1]:80/", "/", "[::1]"],
    ["http://localhost:/x", "/x", "localhost"],
  ];
  for (const [target, path, hostname] of cases) {
    const head = headOf(`GET ${target} HTTP/1.1\r\nHost: field:1\r\n\r\n`);
    assert.deepEqual([head.target, head.path, head.hostname], [target, path, hostname]);
  }
});

Deno.test("parseHead() reads the host without its port", () => {
  const cases: [string, string][] = [
    ["a", "a"],
    ["LocalHost:8080", "LocalHost"],
    ["127.0.0.1:", "127.0.0.1"],
    ["[::1]:80", "[::1]"],
    ["[::ffff:1.2.3.4]", "[::ffff:1.2.3.4]"],
    ["", ""],
    [":80", ""],
  ];
  for (const [value, hostname] of cases) {
    assert.equal(headOf(`GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`).hostname, hostname, value);
  }
  assert.equal(headOf("GET / HTTP/1.0\r\n\r\n").hostname, null);
  assert.equal(headOf("GET / HTTP/1.0\r\nHost: b\r\n\r\n").hostname, "b");
});

Deno.test("parseHead() refuses what the grammar forbids, saying why", () => {
  const cases: [string, number, string][] = [
    // Line ends.
    ["GET / HTTP/1.1\nHost: a\n\n", 400, "line feed without carriage return"],
    ["GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "line feed without carriage return"],
    ["GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "line feed without carriage return"],
    ["GET / HTTP/1.1\rHost: a\r\n\r\n", 400, "carriage return without line feed"],
    ["GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400, "carriage return without line feed"],
    ["\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request does not begin with a method"],
    ["\n", 400, "request does not begin with a method"],
    // Control characters, wherever they are and before the head is complete.
    ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "request does not begin with a method"],
    ["GET /\x00", 400, "control character in request head"],
    [withLines("X: a\x00b"), 400, "control character in request head"],
    [withLines("X: a\x7fb"), 400, "control character in request head"],
    [withLines("X: a\x1bb"), 400, "control character in request head"],
    [withLines("X\x0b: a"), 400, "control character in request head"],
    // Request line.
    ["GET /\r\n\r\n", 400, "invalid request line"],
    ["GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "invalid request line"],
    [" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GÉT / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET / http/1.1\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET / HTTP/11\r\nHost: a\r\n\r\n", 400, "invalid request line"],
    ["GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505, "only HTTP/1.0 and HTTP/1.1 are spoken here"],
    ["GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505, "only HTTP/1.0 and HTTP/1.1 are spoken here"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "only HTTP/1.0 and HTTP/1.1 are spoken here"],
    // Targets.
    ...[
      "*",
      "readyz",
      "?x",
      "/#f",
      "/%",
      "/%4",
      "/%4g",
      '/"',
      "/<x>",
      "/a\\b",
      "/{",
      "/|",
      "/^",
      "/`",
      "/[",
      "/?[",
      "a:80",
      "https://a/",
      "ftp://a/",
      "http:///",
      "http://",
      "http:/a",
      "http://u@a/",
      "http://a:b/",
      "http://[::1/",
      "http://[zz]/",
      "http://a/#",
    ].map((target): [string, number, string] => [
      `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`,
      400,
      "invalid request target",
    ]),
    // Fields.
    [withLines("X: a", " folded"), 400, "folded header field"],
    [withLines("X: a", "\tfolded"), 400, "folded header field"],
    ["GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded header field"],
    [withLines("X : a"), 400, "invalid header field"],
    [withLines("X\t: a"), 400, "invalid header field"],
    [withLines(": a"), 400, "invalid header field"],
    [withLines("X"), 400, "invalid header field"],
    [withLines("X(y): a"), 400, "invalid header field"],
    [withLines("X\xe9: a"), 400, "invalid header field"],
    // Host.
    ["GET / HTTP/1.1\r\n\r\n", 400, "Host header missing"],
    ["GET http://a/ HTTP/1.1\r\n\r\n", 400, "Host header missing"],
    [withLines("host: a"), 400, "more than one Host header"],
    ["GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400, "more than one Host header"],
    ...[
      "a b",
      "a/b",
      "a@b",
      "a:b",
      "a:1:2",
      "::1",
      "[::1",
      "[]",
      "[::1]x",
      "[::1]x:80",
      "[fe80::1%25lo]",
      "a,b:1x",
      "é",
    ].map((
      value,
    ): [string, number, string] => [`GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`, 400, "invalid Host header"]),
    // Lengths.
    ...["-1", "+0", "", "0x0", "0, 0", "0 0", "zero", "0.0"].map((value): [string, number, string] => [
      withLines(`Content-Length: ${value}`),
      400,
      "invalid Content-Length header",
    ]),
    [withLines("Content-Length: 0", "Content-Length: 0"), 400, "invalid Content-Length header"],
  ];
  for (const [text, status, reason] of cases) {
    assert.deepEqual(parse(text), { type: "malformed", status, reason }, JSON.stringify(text));
  }
  assert.equal(parse(withLines("Content-Length: 0")).type, "head");
});

Deno.test("parseHead() bounds the head, however its bytes are spread", () => {
  const exact = (length: number) => withLines(`X: ${"x".repeat(length - withLines("X: ").length)}`);
  assert.equal(headOf(exact(MAX_REQUEST_HEAD_BYTES)).headBytes, MAX_REQUEST_HEAD_BYTES);
  const tooLong = { type: "malformed", status: 431, reason: `request head exceeds ${MAX_REQUEST_HEAD_BYTES} bytes` };
  assert.deepEqual(parse(exact(MAX_REQUEST_HEAD_BYTES + 1)), tooLong);
  assert.deepEqual(parse("x".repeat(MAX_REQUEST_HEAD_BYTES - 1)), { type: "incomplete" });
  assert.deepEqual(parse("x".repeat(MAX_REQUEST_HEAD_BYTES)), tooLong);
  assert.deepEqual(parseHead(new Uint8Array(64 * 1024 * 1024).fill(0x78)), tooLong);
  assert.equal(headOf(withLines() + "y".repeat(10 * MAX_REQUEST_HEAD_BYTES)).headBytes, withLines().length);

  const fields = (count: number) => withLines(...Array.from({ length: count - 1 }, () => "X: y"));
  assert.equal(headOf(fields(MAX_HEADER_FIELDS)).headers.get("x")?.length, MAX_HEADER_FIELDS - 1);
  const tooMany = { type: "malformed", status: 431, reason: `more than ${MAX_HEADER_FIELDS} header fields` };
  assert.deepEqual(parse(fields(MAX_HEADER_FIELDS + 1)), tooMany);
});

Deno.test("listEntries() splits a list field over all its lines", () => {
  const head = headOf(withLines("Connection: keep-alive,\tUpgrade ", "connection: ,x"));
  assert.deepEqual(listEntries(head, "connection"), ["keep-alive", "Upgrade", "", "x"]);
  assert.deepEqual(listEntries(head, "upgrade"), []);
});

// ---------------------------------------------------------------------------------------------------------------------
// Properties, over generated and over damaged requests. FUZZ_SEED repeats a run.

/** A small generator with a seed (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

type Random = ReturnType<typeof randomFrom>;

function pick<T>(random: Random, from: ArrayLike<T>): T {
  return from[random(from.length)]!;
}

function repeat(random: Random, max: number, make: () => string): string {
  return Array.from({ length: random(max + 1) }, make).join("");
}

const TCHAR = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PCHAR = "abcXYZ019-._~!$&'()*+,;=:@";
const FIELD_CHARS = textOf(Uint8Array.from([9, ...range(0x20, 0x7f), ...range(0x80, 0x100)]));

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

interface Sample {
  text: string;
  expected: Omit<RequestHead, "type" | "headBytes" | "headers"> & { headers: [string, string[]][] };
}

/** A request that is valid by construction, with what it says. */
function generate(random: Random): Sample {
  const token = () => pick(random, TCHAR) + repeat(random, 6, () => pick(random, TCHAR));
  const segment = () => repeat(random, 5, () => random(8) === 0 ? `%${pick(random, "09afAF")}e` : pick(random, PCHAR));
  const method = pick(random, ["GET", "HEAD", "POST", token()]);
  const path = `/${segment()}${repeat(random, 3, () => `/${segment()}`)}`;
  const query = random(2) === 0 ? "" : `?${segment()}${pick(random, ["", "/", "?"])}${segment()}`;
  const version = pick(random, ["1.0", "1.1"] as const);
  const isAbsolute = random(4) === 0;
  const target = `${isAbsolute ? "http://target.example:7" : ""}${path}${query}`;

  const fieldHost = version === "1.0" && random(2) === 0 ? null : pick(random, ["a", "[::1]", "b-c.d", "127.0.0.1"]);
  const fields: [string, string][] = Array.from({ length: random(8) }, () => [
    `x${token()}`,
    repeat(random, 12, () => pick(random, FIELD_CHARS)).replace(/^[ \t]+|[ \t]+$/g, ""),
  ]);
  if (fieldHost !== null) fields.splice(random(fields.length + 1), 0, [pick(random, ["Host", "hOST"]), fieldHost]);
  if (random(3) === 0) fields.push(["Content-Length", "0"]);

  const blank = () => repeat(random, 2, () => pick(random, " \t"));
  const lines = fields.map(([name, value]) => `${name}:${blank()}${value}${blank()}\r\n`);
  const headers = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    headers.set(key, [...headers.get(key) ?? [], value]);
  }
  const hostname = isAbsolute ? "target.example" : fieldHost;
  return {
    text: `${method} ${target} HTTP/${version}\r\n${lines.join("")}\r\n`,
    expected: { method, target, path, version, hostname, headers: [...headers] },
  };
}

/** Damages a request in one to four places. */
function damage(random: Random, text: string): string {
  const oddities = ["\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "\0", "\x7f", ":", "\xff", "\x80", "%", "#", ",", "/"];
  const lines = ["Host: x\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n", " folded\r\n", "X : y\r\n"];
  for (let times = 1 + random(4); times > 0; times--) {
    const at = random(text.length + 1);
    const end = Math.min(text.length, at + 1 + random(3));
    const inserted = pick(random, [
      "",
      pick(random, oddities),
      pick(random, lines),
      `\r\n${pick(random, lines)}`,
      String.fromCharCode(random(256)),
      text.slice(random(text.length + 1), random(text.length + 1)),
    ]);
    text = text.slice(0, at) + inserted + text.slice(random(2) === 0 ? at : end);
  }
  return text;
}

/** What RFC 9112 lets a head be, written apart from the parser: one expression for the whole of it, then the counts. */
function isStrictlyValid(head: string): boolean {
  const tchar = "[A-Za-z0-9!#$%&'*+\\-.^_`|~]";
  const pchar = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})";
  const host = "(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9\\-._~!$&'()*+,;=%]*)(?::[0-9]*)?";
  const target =
    `(?:(?:(?:http|ws)://(?![:/? ])${host})?(?:/${pchar}*)+|(?:http|ws)://(?![:/? ])${host})(?:\\?(?:${pchar}|[/?])*)?`;
  const field = `${tchar}+:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n`;
  const whole = new RegExp(`^${tchar}+ ${target} HTTP/1\\.[01]\\r\\n(?:${field})*\\r\\n$`);
  const hosts = head.match(/\r\nhost:[^\r]*/gi) ?? [];
  const lengths = head.match(/\r\ncontent-length:[^\r]*/gi) ?? [];
  return (whole.test(head) || whole.test(head.replace(/ (http|ws):/i, (scheme) => scheme.toLowerCase()))) &&
    hosts.every((line) => new RegExp(`^\\r\\nhost:[ \\t]*${host}[ \\t]*$`, "i").test(line)) &&
    (hosts.length === 1 || (hosts.length === 0 && /^[^\r]* HTTP\/1\.0\r\n/.test(head))) &&
    lengths.length <= 1 && lengths.every((line) => /^\r\ncontent-length:[ \t]*\d+[ \t]*$/i.test(line));
}

const SEED = Number(Deno.env.get("FUZZ_SEED") ?? 20_260_101);

Deno.test(`parseHead() reads every valid head back, and calls every part of it incomplete (seed ${SEED})`, () => {
  const random = randomFrom(SEED);
  for (let round = 0; round < 400; round++) {
    const { text, expected } = generate(random);
    assert.ok(isStrictlyValid(text), `generator and oracle disagree: ${JSON.stringify(text)}`);
    const { type: _, headBytes, headers, ...rest } = headOf(text + pick(random, ["", "\0\xff", "\r\n\r\n", "GET"]));
    assert.deepEqual({ ...rest, headers: [...headers] }, expected, JSON.stringify(text));
    assert.equal(headBytes, text.length);
    const bytes = bytesOf(text);
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(parseHead(bytes.subarray(0, length)).type, "incomplete", JSON.stringify(text.slice(0, length)));
    }
  }
});

Deno.test(`parseHead() accepts a damaged head exactly when the grammar still does (seed ${SEED})`, () => {
  const random = randomFrom(SEED + 1);
  const seen = { head: 0, malformed: 0, incomplete: 0 };
  for (let round = 0; round < 20_000; round++) {
    const text = damage(random, generate(random).text);
    const result = parse(text);
    seen[result.type]++;
    const end = text.indexOf("\r\n\r\n") + 4;
    const isComplete = end > 3;
    if (result.type === "head") assert.equal(result.headBytes, end, JSON.stringify(text));
    if (result.type === "incomplete") assert.ok(!isComplete, JSON.stringify(text));
    if (isComplete) assert.equal(result.type === "head", isStrictlyValid(text.slice(0, end)), JSON.stringify(text));
  }
  for (const [type, count] of Object.entries(seen)) {
    assert.ok(count > 200, `only ${count} ${type}: damage is too one-sided`);
  }
});

Deno.test(`parseHead() never takes back an answer when more bytes come (seed ${SEED})`, () => {
  const random = randomFrom(SEED + 2);
  for (let round = 0; round < 1500; round++) {
    const bytes = bytesOf(damage(random, generate(random).text));
    let answer: HeadResult = { type: "incomplete" };
    for (let length = 1; length <= bytes.length; length++) {
      const next = parseHead(bytes.subarray(0, length));
      if (answer.type !== "incomplete") assert.deepEqual(next, answer, JSON.stringify(textOf(bytes)));
      answer = next;
    }
  }
});

Deno.test(`parseHead() survives random bytes (seed ${SEED})`, () => {
  const random = randomFrom(SEED + 3);
  for (let round = 0; round < 5000; round++) {
    const bytes = Uint8Array.from({ length: random(200) }, () => random(256));
    assert.ok(["incomplete", "malformed"].includes(parseHead(bytes).type));
  }
});
