import assert from "node:assert/strict";
import type { OutgoingRequest } from "../../src/http/outgoing_request.ts";
import { redirected } from "../../src/http/redirect.ts";

const BODY = new TextEncoder().encode("pl");

function request(method: string, names: readonly string[] = [], url = "http://a.example/from?x"): OutgoingRequest {
  return { method, url: new URL(url), headers: names.map((name) => ({ name, value: `${name}!` })), body: BODY };
}

function follow(from: OutgoingRequest, status: number, location: string | null): OutgoingRequest | null {
  return redirected(from, { status, headers: location === null ? [] : [{ name: "location", value: location }] });
}

Deno.test("redirected() turns methods into GET as the reference does", () => {
  const table: [string, number, string, boolean][] = [
    ["POST", 301, "GET", false],
    ["POST", 302, "GET", false],
    ["POST", 303, "GET", false],
    ["PUT", 303, "GET", false],
    ["HEAD", 303, "HEAD", false],
    ["PUT", 302, "PUT", true],
    ["POST", 307, "POST", true],
    ["POST", 308, "POST", true],
    ["DELETE", 301, "DELETE", true],
  ];
  for (const [method, status, expected, keepsBody] of table) {
    const next = follow(request(method), status, "/to");
    assert.equal(next?.method, expected, `${method} ${status}`);
    assert.equal(next.body, keepsBody ? BODY : null, `${method} ${status}`);
    assert.equal(next.url.href, "http://a.example/to");
  }
});

Deno.test("redirected() returns other statuses, and redirects without a target, to the caller", () => {
  assert.equal(follow(request("GET"), 300, "/to"), null);
  assert.equal(follow(request("GET"), 304, "/to"), null);
  assert.equal(follow(request("GET"), 200, "/to"), null);
  assert.equal(follow(request("GET"), 302, null), null);
  assert.equal(follow(request("GET"), 302, "http://["), null);
});

Deno.test("redirected() refuses to leave http and https", () => {
  assert.throws(() => follow(request("GET"), 302, "ftp://x/"), {
    message: "http/request failed: redirect target uses unsupported URL scheme: ftp",
  });
});

Deno.test("redirected() keeps private headers on the same origin, with the whole referer", () => {
  const next = follow(request("GET", ["authorization", "cookie", "host", "x-k"]), 302, "/to");
  assert.deepEqual(next?.headers.map(({ name }) => name), ["authorization", "cookie", "host", "x-k", "referer"]);
  assert.equal(next.headers.at(-1)?.value, "http://a.example/from?x");
});

Deno.test("redirected() keeps private headers from every other origin, and the path it came from", () => {
  for (const location of ["http://b.example/", "http://a.example:81/", "https://a.example/"]) {
    const next = follow(
      request("GET", ["authorization", "x-k", "cookie", "host", "proxy-authorization"]),
      307,
      location,
    );
    assert.deepEqual(next?.headers, [
      { name: "x-k", value: "x-k!" },
      { name: "referer", value: "http://a.example/" },
    ]);
  }
});

Deno.test("redirected() keeps values of the server's environment from every other origin, under any name", () => {
  const headers = [{ name: "x-api-key", value: "s3cret", isSecret: true }, { name: "x-k", value: "v" }] as const;
  const from: OutgoingRequest = { ...request("GET"), headers };
  const names = (location: string) => follow(from, 307, location)?.headers.map(({ name }) => name);
  assert.deepEqual(names("/to"), ["x-api-key", "x-k", "referer"]);
  for (const location of ["http://b.example/", "http://a.example:81/", "https://a.example/"]) {
    assert.deepEqual(names(location), ["x-k", "referer"], location);
  }
});

Deno.test("redirected() sends no referer from a secure connection to an open one", () => {
  const next = follow(request("GET", ["referer", "x-k"], "https://a.example/"), 302, "http://a.example/");
  assert.deepEqual(next?.headers, [{ name: "x-k", value: "x-k!" }]);
});

Deno.test("redirected() drops what described a dropped body", () => {
  const next = follow(request("POST", ["content-type", "content-encoding", "x-k"]), 303, "/to");
  assert.deepEqual(next?.headers.map(({ name }) => name), ["x-k", "referer"]);
});
