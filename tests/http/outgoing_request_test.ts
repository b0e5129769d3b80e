import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { encodeHead, prepareRequest, type RequestDescription } from "../../src/http/outgoing_request.ts";

const ENV = { TOKEN: "s3cret", EMPTY: "", LINES: "a\nb" };

function describe(fields: Partial<RequestDescription>): RequestDescription {
  return { method: "GET", url: "http://h.example/", headers: [], body: null, ...fields };
}

function header(name: string, value: string, valueEnvVar: string | null = null) {
  return { name, value, valueEnvVar };
}

function headOf(fields: Partial<RequestDescription>, form: "origin" | "absolute" = "origin"): string[] {
  const text = new TextDecoder().decode(encodeHead(prepareRequest(describe(fields), ENV), form));
  assert(text.endsWith("\r\n\r\n"));
  return text.slice(0, -4).split("\r\n");
}

function refusal(fields: Partial<RequestDescription>): string {
  try {
    prepareRequest(describe(fields), ENV);
  } catch (error) {
    assert(error instanceof DomainError);
    assert.equal(error.kind, "invalidParams");
    return error.message;
  }
  assert.fail(`${JSON.stringify(fields)} was taken`);
}

Deno.test("encodeHead() adds only what a request cannot do without", () => {
  assert.deepEqual(headOf({ url: "http://h.example:8080/a b/ü?q=1#part" }), [
    "GET /a%20b/%C3%BC?q=1 HTTP/1.1",
    "accept: */*",
    "host: h.example:8080",
  ]);
});

Deno.test("encodeHead() tells an empty query from none", () => {
  assert.equal(headOf({ url: "http://h.example/a?" })[0], "GET /a? HTTP/1.1");
  assert.equal(headOf({ url: "http://h.example?#part" })[0], "GET /? HTTP/1.1");
  assert.equal(headOf({ url: "http://h.example/a?" }, "absolute")[0], "GET http://h.example/a? HTTP/1.1");
});

Deno.test("encodeHead() keeps headers in order with their repeats, names in lower case", () => {
  const headers = [header("X-Q", "1"), header("Host", "other"), header("x-q", "2"), header("Accept", "text/html")];
  assert.deepEqual(headOf({ headers }), [
    "GET / HTTP/1.1",
    "x-q: 1",
    "host: other",
    "x-q: 2",
    "accept: text/html",
  ]);
});

Deno.test("encodeHead() frames the body itself, whatever the caller says", () => {
  const body = new TextEncoder().encode("abc");
  const headers = [header("Content-Length", "999"), header("Transfer-Encoding", "chunked")];
  const framing = (fields: Partial<RequestDescription>) => headOf(fields).slice(3);
  assert.deepEqual(framing({ method: "POST", body, headers }), ["content-length: 3"]);
  assert.deepEqual(framing({ method: "GET", body }), ["content-length: 3"]);
  assert.deepEqual(framing({ method: "POST" }), ["content-length: 0"]);
  assert.deepEqual(framing({ method: "DELETE", headers }), []);
});

Deno.test("encodeHead() names the target in full for a proxy, and by host and port for CONNECT", () => {
  assert.equal(headOf({ url: "http://u:p@h.example/x?y#z" }, "absolute")[0], "GET http://h.example/x?y HTTP/1.1");
  assert.equal(headOf({ method: "CONNECT", url: "https://h.example/x" })[0], "CONNECT h.example:443 HTTP/1.1");
});

Deno.test("prepareRequest() sends methods as they are written", () => {
  for (const method of ["get", "PATCH", "M-SEARCH", "TRACE"]) {
    assert.equal(headOf({ method })[0], `${method} / HTTP/1.1`);
  }
});

Deno.test("prepareRequest() puts a variable of the server behind the header's value", () => {
  assert.deepEqual(
    headOf({ headers: [header("authorization", "Bearer ", "TOKEN")] })[1],
    "authorization: Bearer s3cret",
  );
});

Deno.test("prepareRequest() makes a header of credentials in the URL, unless there is one", () => {
  const url = "http://us%20er:pa%3Ass@h.example/";
  assert.deepEqual(headOf({ url }).slice(1), [
    "authorization: Basic dXMgZXI6cGE6c3M=",
    "accept: */*",
    "host: h.example",
  ]);
  assert.equal(
    headOf({ url: "http://ü:%ff%41%@h.example/" })[1],
    `authorization: Basic ${Uint8Array.from([0xc3, 0xbc, 0x3a, 0xff, 0x41, 0x25]).toBase64()}`,
  );
  const headers = [header("Authorization", "own")];
  assert.deepEqual(headOf({ url, headers }).slice(1), ["authorization: own", "accept: */*", "host: h.example"]);
});

Deno.test("prepareRequest() sends characters beyond ASCII as UTF-8", () => {
  const bytes = encodeHead(prepareRequest(describe({ headers: [header("x", "café €\t!")] }), ENV), "origin");
  assert.match(new TextDecoder("utf-8", { fatal: true }).decode(bytes), /^x: café €\t!\r$/m);
});

Deno.test("prepareRequest() refuses what is not a request, in the reference's words", () => {
  const table: [Partial<RequestDescription>, string][] = [
    [
      { method: "G".repeat(1024 * 1024 + 1) },
      "http/request is invalid: method and headers have more than 1048576 characters",
    ],
    [
      { headers: [header("ab", "x".repeat(600_000)), header("cd", "x".repeat(600_000))] },
      "http/request is invalid: method and headers have more than 1048576 characters",
    ],
    [{ url: "nope" }, "http/request url is invalid: relative URL without a base"],
    [{ url: "" }, "http/request url is invalid: relative URL without a base"],
    [{ url: `http://${"é".repeat(30_000_000)}` }, "http/request url is invalid: longer than 65536 characters"],
    [{ url: "http://x:99999/" }, "http/request url is invalid: not a valid URL"],
    [{ url: "ftp://x/" }, "http/request only supports http and https URLs, got ftp"],
    [{ url: "file:///etc/passwd" }, "http/request only supports http and https URLs, got file"],
    [{ method: "B AD" }, "http/request method is invalid: invalid HTTP method"],
    [{ method: "" }, "http/request method is invalid: invalid HTTP method"],
    [{ method: "GET\r\nx: y" }, "http/request method is invalid: invalid HTTP method"],
    [{ headers: [header("a b", "x")] }, "http/request header name is invalid: invalid HTTP header name"],
    [{ headers: [header("", "x")] }, "http/request header name is invalid: invalid HTTP header name"],
    [{ headers: [header("ab", "x\ny")] }, "http/request header value is invalid for ab: failed to parse header value"],
    [{ headers: [header("ab", "\0")] }, "http/request header value is invalid for ab: failed to parse header value"],
    [
      { headers: [header("ab", "", "LINES")] },
      "http/request header value is invalid for ab: failed to parse header value",
    ],
    [
      { headers: [header("ab", "", "NOPE")] },
      "http/request header ab requires executor environment variable NOPE",
    ],
    [
      { headers: [header("ab", "", "toString")] },
      "http/request header ab requires executor environment variable toString",
    ],
    [
      { headers: [header("ab", "", "EMPTY")] },
      "http/request header ab requires a non-empty executor environment variable EMPTY",
    ],
  ];
  for (const [fields, message] of table) assert.equal(refusal(fields), message);
});

Deno.test("prepareRequest() never repeats the value of a variable in a refusal", () => {
  assert(!refusal({ headers: [header("ab", "", "LINES")] }).includes("a\nb"));
});
