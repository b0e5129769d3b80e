/**
 * HTTP requests against real servers that answer byte by byte.
 *
 * More than 300 lines: one suite on one bench.
 */

import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import type { BodyDelta, BodyDeltaSink } from "../../src/http/body_streams.ts";
import {
  type HttpRequest,
  HttpRequests,
  type HttpRequestsOptions,
  type MakeRoom,
} from "../../src/http/http_requests.ts";
import { SHORT_BODY_BYTES } from "../../src/http/limits.ts";
import { concatBytes } from "../../src/bytes.ts";
import { AnswerBudget, SharedAnswers } from "../../src/rpc/answer_budget.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { until } from "../support/until.ts";
import { type RawAnswer, type RawConnection, RawHttpServer, response } from "../support/raw_http_server.ts";

const TLS = new URL("../fixtures/tls/", import.meta.url);

/** Remembers deltas and lets a test wait for the one it needs. */
class RecordingSink implements BodyDeltaSink {
  readonly deltas: BodyDelta[] = [];
  hasRoom = true;
  #wake: () => void = () => {};

  delta(delta: BodyDelta): void {
    this.deltas.push(delta);
    this.#wake();
  }

  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) await new Promise<void>((resolve) => this.#wake = resolve);
  }

  async ended(requestId = "r"): Promise<BodyDelta[]> {
    await this.until(() => this.deltas.some((delta) => delta.requestId === requestId && delta.done));
    return this.deltas.filter((delta) => delta.requestId === requestId);
  }
}

/** A budget of so many bytes for bodies. */
function bodies(limit: number): AnswerBudget {
  return new AnswerBudget({ limit, floor: 0, shared: new SharedAnswers(Infinity) });
}

/** The client side of a test: requests, their sink, and the end of their connection. */
class Bench {
  readonly sink = new RecordingSink();
  readonly clock = new ManualClock();
  readonly #end = new AbortController();
  readonly requests: HttpRequests;

  constructor(options: Partial<HttpRequestsOptions> = {}) {
    this.requests = new HttpRequests({
      env: {},
      sink: this.sink,
      signal: this.#end.signal,
      clock: this.clock,
      bodies: bodies(Infinity),
      ...options,
    });
  }

  endConnection(): void {
    this.#end.abort();
  }

  send(url: string, fields: Partial<HttpRequest> = {}, makeRoom?: MakeRoom) {
    return this.requests.request({
      requestId: "r",
      method: "GET",
      url,
      headers: [],
      body: null,
      timeoutMs: null,
      redirectPolicy: "follow",
      streamResponse: false,
      ...fields,
    }, makeRoom);
  }

  async text(url: string, fields: Partial<HttpRequest> = {}): Promise<string> {
    return new TextDecoder().decode(concatBytes((await this.send(url, fields)).body));
  }

  async stream(url: string, fields: Partial<HttpRequest> = {}) {
    const answer = await this.send(url, { streamResponse: true, ...fields });
    answer.startStream();
    return answer;
  }

  async refusal(url: string, fields: Partial<HttpRequest> = {}): Promise<DomainError> {
    try {
      await this.send(url, fields);
    } catch (error) {
      assert(error instanceof DomainError, String(error));
      return error;
    }
    assert.fail("the request was answered");
  }
}

/** Serves until the test is over. */
function serve(answer: RawAnswer): RawHttpServer {
  return new RawHttpServer(answer);
}

const echo: RawAnswer = (connection, { path }) => connection.send(response(`at ${path}`));

/** A promise that others settle. */
function signalled(): { promise: Promise<void>; resolve: () => void } {
  return Promise.withResolvers<void>();
}

Deno.test("HttpRequests answers with status, headers as received, and the body untouched", async () => {
  const gzip = Uint8Array.from([0x1f, 0x8b, 8, 0, 255]);
  await using server = serve(async (connection) => {
    await connection.send("HTTP/1.1 418 Teapot\r\nSet-Cookie: a=1\r\nX-D: 1\r\nSet-Cookie: b=2\r\nX-D: 2\r\n");
    await connection.send("Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n");
    await connection.send(gzip);
  });
  const { status, headers, body } = await new Bench().send(`${server.origin}/a?b=c`);
  assert.equal(status, 418);
  assert.deepEqual(headers.map(({ name, value }) => `${name}: ${value}`), [
    "set-cookie: a=1",
    "x-d: 1",
    "set-cookie: b=2",
    "x-d: 2",
    "content-encoding: gzip",
    "content-length: 5",
  ]);
  assert.deepEqual(body, [gzip]);
  assert.deepEqual(server.heads, [`GET /a?b=c HTTP/1.1\r\naccept: */*\r\nhost: 127.0.0.1:${server.port}`]);
});

Deno.test("HttpRequests sends the body with any method", async () => {
  await using server = serve(echo);
  const bench = new Bench();
  for (const method of ["POST", "GET", "PURGE"]) {
    await bench.send(server.origin, { method, body: new TextEncoder().encode(`by ${method}`) });
  }
  assert.deepEqual(server.requests.map(({ body }) => body), ["by POST", "by GET", "by PURGE"]);
});

Deno.test("HttpRequests takes the answer of a server that does not read the whole request", async () => {
  const body = new Uint8Array(32 * 1024 * 1024);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    const conn = await listener.accept();
    await conn.read(new Uint8Array(100));
    await conn.write(new TextEncoder().encode(response("too much", "413 Content Too Large")));
    await conn.closeWrite();
    return conn;
  })();
  const { port } = listener.addr as Deno.NetAddr;
  const { status } = await new Bench().send(`http://127.0.0.1:${port}/`, { method: "POST", body });
  assert.equal(status, 413);
  (await serving).close();
  listener.close();
});

Deno.test("HttpRequests follows redirects, or stops at them when told", async () => {
  await using server = serve((connection, { path }) =>
    path === "/from"
      ? connection.send(response("r", "302 Found", "Location: /to"))
      : echo(connection, { path } as never)
  );
  const bench = new Bench();
  assert.equal(await bench.text(`${server.origin}/from`), "at /to");
  const stopped = await bench.send(`${server.origin}/from`, { redirectPolicy: "stop" });
  assert.equal(stopped.status, 302);
  assert.deepEqual(stopped.headers[0], { name: "location", value: "/to" });
});

Deno.test("HttpRequests gives up on a redirect loop after ten", async () => {
  await using server = serve((connection) => connection.send(response("", "302 Found", "Location: /again")));
  const bench = new Bench();
  assert.equal((await bench.refusal(server.origin)).message, "http/request failed: too many redirects");
  assert.equal(server.requests.length, 11);
  assert.equal(bench.requests.size, 0);
});

Deno.test("HttpRequests ignores informational responses, but not a switch of protocols", async () => {
  await using server = serve((connection, { path }) =>
    connection.send(
      path === "/101"
        ? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
        : `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${response("real")}`,
    )
  );
  const bench = new Bench();
  assert.equal(await bench.text(`${server.origin}/103`), "real");
  assert.equal((await bench.send(`${server.origin}/101`)).status, 101);
});

Deno.test("HttpRequests reports what went wrong with the words of the reference and the cause", async () => {
  await using server = serve(async (connection, { path }) => {
    if (path === "/garbage") await connection.send("NOT HTTP AT ALL\r\n\r\n");
    if (path === "/short") await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    if (path === "/chunks") {
      await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nZZ\r\n");
    }
  });
  const bench = new Bench();
  const sending = `http/request failed: error sending request for url (${server.origin}`;
  const reading = "failed to read http/request response body: error decoding response body: ";
  const table: [string, string][] = [
    ["/drop", `${sending}/drop): connection closed before the message was complete`],
    ["/garbage", `${sending}/garbage): invalid HTTP status line`],
    ["/short", `${reading}connection closed before the message was complete`],
    ["/chunks", `${reading}invalid chunk size`],
  ];
  for (const [path, message] of table) {
    const error = await bench.refusal(server.origin + path);
    assert.deepEqual([error.kind, error.message], ["internal", message]);
  }
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr as Deno.NetAddr;
  closed.close();
  const refused = await bench.refusal(`http://user:pw@127.0.0.1:${port}/x`);
  assert.match(
    refused.message,
    /^http\/request failed: error sending request for url \(http:\/\/127.0.0.1:\d+\/x\): .*refused/i,
  );
  assert.equal(bench.requests.size, 0);
});

Deno.test("HttpRequests refuses bad input before anything is sent", async () => {
  const error = await new Bench().refusal("ftp://x/");
  assert.equal(error.kind, "invalidParams");
});

Deno.test("HttpRequests limits the time of a request, from its head to the end of its body", async () => {
  for (const firstBytes of ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"]) {
    const reached = signalled();
    const ended = signalled();
    await using server = serve(async (connection) => {
      await connection.send(firstBytes);
      reached.resolve();
      await connection.ended();
      ended.resolve();
    });
    const bench = new Bench();
    const refused = bench.refusal(server.origin, { timeoutMs: 500 });
    await reached.promise;
    bench.clock.advance(499);
    assert.equal(bench.requests.size, 1);
    bench.clock.advance(1);
    assert.match((await refused).message, /: operation timed out$/);
    await ended.promise;
    assert.deepEqual([bench.requests.size, bench.clock.pending], [0, 0]);
  }
});

Deno.test("HttpRequests has no time limit by default, and forgets one that was kept", async () => {
  await using server = serve(echo);
  const bench = new Bench();
  await bench.send(server.origin);
  assert.equal(bench.clock.pending, 0);
  await bench.send(server.origin, { timeoutMs: 10_000 });
  assert.equal(bench.clock.pending, 0);
});

Deno.test("HttpRequests streams a body after its head, in order, with one end", async () => {
  await using server = serve((connection) =>
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
  );
  const bench = new Bench();
  const answer = await bench.send(server.origin, { streamResponse: true });
  assert.deepEqual([answer.status, answer.body.length, bench.sink.deltas.length], [200, 0, 0]);
  answer.startStream();
  const deltas = await bench.sink.ended();
  assert.deepEqual(deltas.map(({ seq }) => seq), deltas.map((_, index) => index + 1));
  assert.equal(deltas.map(({ bytes }) => new TextDecoder().decode(bytes)).join(""), "hello world");
  assert.deepEqual(deltas.map(({ done }) => done), deltas.map((_, index) => index === deltas.length - 1));
  assert.equal(deltas.at(-1)?.error, null);
});

Deno.test("HttpRequests hands on each event of a stream as it comes", async () => {
  const next = [signalled(), signalled()];
  await using server = serve(async (connection) => {
    await connection.send("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n");
    await next[0]!.promise;
    await connection.send("data: 2\n\n");
    await next[1]!.promise;
  });
  const bench = new Bench();
  await bench.stream(server.origin);
  await bench.sink.until(() => bench.sink.deltas.length === 1);
  next[0]!.resolve();
  await bench.sink.until(() => bench.sink.deltas.length === 2);
  assert.equal(new TextDecoder().decode(bench.sink.deltas[1]!.bytes), "data: 2\n\n");
  next[1]!.resolve();
  await bench.sink.ended();
});

Deno.test("HttpRequests ends a stream that breaks off, or takes too long, with an error", async () => {
  const hold = signalled();
  await using server = serve(async (connection, { path }) => {
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    if (path === "/slow") await hold.promise;
  });
  const bench = new Bench();
  await bench.stream(`${server.origin}/short`, { requestId: "short" });
  const [first, last] = await bench.sink.ended("short");
  assert.equal(first?.done, false);
  assert.match(last?.error ?? "", /^error decoding response body: connection closed/);

  await bench.stream(`${server.origin}/slow`, { requestId: "slow", timeoutMs: 300 });
  await bench.sink.until(() => bench.sink.deltas.some(({ requestId }) => requestId === "slow"));
  bench.clock.advance(300);
  const slow = await bench.sink.ended("slow");
  assert.equal(slow.at(-1)?.error, "error decoding response body: operation timed out");
  hold.resolve();
  assert.equal(bench.requests.size, 0);
});

Deno.test("HttpRequests refuses an id that a stream has, until its last piece is sent", async () => {
  const hold = signalled();
  await using server = serve(async (connection, { path }) => {
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab");
    if (path === "/hold") await hold.promise;
    await connection.send("c");
  });
  const bench = new Bench();
  await bench.stream(`${server.origin}/hold`, { requestId: "d" });
  const refused = await bench.refusal(server.origin, { requestId: "d", streamResponse: true });
  assert.equal(refused.kind, "invalidParams");
  assert.equal(refused.message, "http/request streamResponse requestId `d` is already active");
  assert.equal(await bench.text(server.origin, { requestId: "d" }), "abc", "a whole answer needs no id of its own");
  hold.resolve();
  await bench.sink.ended("d");
  await bench.stream(server.origin, { requestId: "d" });
  await bench.sink.until(() => bench.sink.deltas.filter(({ done }) => done).length === 2);
});

Deno.test("HttpRequests pauses the server's sending while the client has no room", async () => {
  const piece = new Uint8Array(256 * 1024).fill(65);
  const total = 40 * 1024 * 1024;
  let sent = 0;
  await using server = serve(async (connection) => {
    await connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
    for (; sent < total; sent += piece.length) await connection.send(piece);
  });
  const bench = new Bench();
  bench.sink.hasRoom = false;
  await bench.stream(server.origin);
  // That nothing moves any more can only be seen by looking twice: the kernel's buffers are full.
  for (let before = -1; before !== sent;) {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert(sent < total / 2, `${sent} bytes were sent`);
  assert.equal(bench.sink.deltas.length, 0);
  bench.sink.hasRoom = true;
  bench.requests.resume();
  const deltas = await bench.sink.ended();
  assert.equal(deltas.reduce((sum, { bytes }) => sum + bytes.length, 0), total);
  assert(deltas.every(({ bytes }) => bytes.length <= 1024 * 1024));
});

Deno.test("HttpRequests ends everything with the connection: waits, bodies, streams started or not", async () => {
  const ended: Promise<void>[] = [];
  let reached = 0;
  const all = signalled();
  await using server = serve(async (connection: RawConnection, { path }) => {
    if (path !== "/head") await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    const end = connection.ended();
    ended.push(end);
    if (++reached === 4) all.resolve();
    await end;
  });
  const bench = new Bench();
  const waiting = [bench.refusal(`${server.origin}/head`), bench.refusal(`${server.origin}/body`)];
  await bench.stream(`${server.origin}/stream`, { requestId: "started" });
  const unstarted = await bench.send(`${server.origin}/unstarted`, { requestId: "unstarted", streamResponse: true });
  await all.promise;
  await bench.sink.until(() => bench.sink.deltas.length === 1);
  bench.endConnection();
  await Promise.all(ended);
  await Promise.all(waiting);
  unstarted.startStream();
  assert.equal(bench.requests.size, 0);
  assert.deepEqual(bench.sink.deltas.map(({ requestId, done }) => [requestId, done]), [["started", false]]);
  assert.equal((await bench.refusal(server.origin)).kind, "invalidRequest");
});

const UNIT = SHORT_BODY_BYTES;

/** Sends a body of so many units, all but its last byte at once, and that when it is let; chunked on request. */
function heldBodies() {
  const hold = signalled();
  const reached = signalled();
  const server = serve(async (connection, { path }) => {
    const isChunked = path.includes("chunked");
    const size = Number(path.split("/")[1]) * UNIT;
    const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${size}`;
    await connection.send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
    if (isChunked) await connection.send(`${size.toString(16)}\r\n`);
    await connection.send(new Uint8Array(size - 1));
    if (path.includes("held")) {
      reached.resolve();
      await hold.promise;
    }
    await connection.send(new Uint8Array(1));
    if (isChunked) await connection.send("\r\n0\r\n\r\n");
  });
  return { server, hold, reached };
}

const lengthOf = ({ body }: { body: Uint8Array[] }) => body.reduce((sum, piece) => sum + piece.length, 0);

Deno.test("HttpRequests bounds what it gathers for one response", async () => {
  const { server } = heldBodies();
  await using _ = server;
  const bench = new Bench({ maxBufferedBodyBytes: 10 * UNIT });
  for (const kind of ["", "/chunked"]) {
    assert.equal(lengthOf(await bench.send(`${server.origin}/10${kind}`)), 10 * UNIT);
    const { message } = await bench.refusal(`${server.origin}/11${kind}`);
    assert.match(message, /the body exceeds the limit of 655360 bytes.*streamResponse/);
  }
});

Deno.test("HttpRequests makes room for the head, at six characters for each, of a stream too, and takes a turn for a long one", async () => {
  const long = new Uint8Array(100_000).fill(0xff);
  await using server = new RawHttpServer(async (connection) => {
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ");
    await connection.send(long);
    await connection.send("\r\n\r\n");
  });
  for (const streamResponse of [false, true]) {
    let turns = 0;
    let room = 0;
    const turn = () => {
      turns++;
      return Promise.resolve();
    };
    await new Bench({ turn }).send(server.origin, { streamResponse }, (bytes) => void (room = bytes));
    assert.ok(room > 600_000 && room < 601_000, `${room} bytes`);
    assert.ok(turns >= 2, "one to parse it, one to encode it");
  }
});

Deno.test("HttpRequests lets a body wait for others when it knows its length, and refuses it when it does not", async () => {
  const { server, hold, reached } = heldBodies();
  await using _ = server;
  const budget = bodies(15 * UNIT);
  const bench = new Bench({ bodies: budget });
  const held = bench.send(`${server.origin}/10/held`);
  await reached.promise;
  const { message } = await bench.refusal(`${server.origin}/8/chunked`);
  assert.match(message, /the bodies of all open requests exceed.*streamResponse/);
  const waiting = bench.send(`${server.origin}/8`);
  const short = await bench.send(`${server.origin}/1`);
  assert.deepEqual([lengthOf(short), bench.requests.size], [UNIT, 2], "short ones are not counted");
  hold.resolve();
  assert.deepEqual([lengthOf(await held), lengthOf(await waiting)], [10 * UNIT, 8 * UNIT]);
  assert.equal(budget.used, 0);
});

Deno.test("HttpRequests counts a body until there is room for it in an answer", async () => {
  const { server } = heldBodies();
  await using _ = server;
  const budget = bodies(Infinity);
  const bench = new Bench({ bodies: budget });
  const room = signalled();
  const asked = signalled();
  const answer = bench.send(`${server.origin}/3`, {}, (bytes) => {
    assert.ok(bytes > 3 * UNIT && bytes < 4 * UNIT, "the body, and the head at six characters for each");
    asked.resolve();
    return room.promise;
  });
  await asked.promise;
  assert.equal(budget.used, 2 * UNIT);
  room.resolve();
  await answer;
  assert.equal(budget.used, 0);
});

Deno.test("HttpRequests times out while a body waits for room to be gathered", async () => {
  const { server } = heldBodies();
  await using _ = server;
  const budget = bodies(4 * UNIT);
  budget.take(4 * UNIT);
  const bench = new Bench({ bodies: budget });
  const refused = assert.rejects(bench.send(`${server.origin}/3`, { timeoutMs: 1000 }), /operation timed out/);
  await until(() => server.requests.length === 1, () => "no request arrives");
  // The head may still be on its way: the time passes once the body is waited for, or before.
  bench.clock.advance(1000);
  await refused;
  assert.equal(budget.used, 4 * UNIT);
});

Deno.test("HttpRequests bounds the number of requests under way", async () => {
  const hold = signalled();
  await using server = serve(async (connection) => {
    await hold.promise;
    await connection.send(response("ok"));
  });
  const bench = new Bench({ maxRequests: 2 });
  const held = [bench.text(server.origin), bench.text(server.origin)];
  assert.equal((await bench.refusal(server.origin)).kind, "invalidRequest");
  hold.resolve();
  assert.deepEqual(await Promise.all(held), ["ok", "ok"]);
  assert.equal(await bench.text(server.origin), "ok");
});

Deno.test("HttpRequests goes through the environment's proxy", async () => {
  await using proxy = serve(echo);
  const bench = new Bench({ env: { http_proxy: `http://us:pw@127.0.0.1:${proxy.port}`, no_proxy: "127.0.0.1" } });
  assert.equal(await bench.text("http://far.example/x"), "at http://far.example/x");
  assert.match(proxy.heads[0]!, /^proxy-authorization: Basic dXM6cHc=$/m);
  await using direct = serve(echo);
  assert.equal(await bench.text(`${direct.origin}/y`), "at /y");
});

Deno.test("HttpRequests speaks TLS with servers it can trust, and only with them", async () => {
  await using server = secureServer(echo);
  const url = `https://localhost:${server.port}/x`;
  const trusting = new Bench({ env: { SSL_CERT_FILE: new URL("ca.pem", TLS).pathname } });
  assert.equal(await trusting.text(url), "at /x");
  assert.equal(await trusting.text(`https://127.0.0.1:${server.port}/y`), "at /y");
  assert.match((await new Bench().refusal(url)).message, /certificate/i);
  const misled = new Bench({ env: { SSL_CERT_FILE: "/nonexistent/ca.pem" } });
  assert.match((await misled.refusal(url)).message, /cannot read the certificates in \/nonexistent\/ca.pem/);
});

Deno.test("HttpRequests tunnels TLS through a proxy", async () => {
  await using server = secureServer(echo);
  await using proxy = serve(async (connection, { path }) => {
    if (path !== `localhost:${server.port}`) return await connection.send(response("no", "403 Forbidden"));
    await connection.send("HTTP/1.1 200 Connection established\r\n\r\n");
    await connection.relayTo({ hostname: "127.0.0.1", port: server.port });
  });
  const env = { SSL_CERT_FILE: new URL("ca.pem", TLS).pathname, https_proxy: `http://127.0.0.1:${proxy.port}` };
  assert.equal(await new Bench({ env }).text(`https://localhost:${server.port}/x`), "at /x");
  assert.match(
    proxy.heads[0]!,
    new RegExp(`^CONNECT localhost:${server.port} HTTP/1.1\r\nhost: localhost:${server.port}`),
  );
  assert.match(
    (await new Bench({ env }).refusal("https://other.example/")).message,
    /refused the tunnel with status 403/,
  );
});

function secureServer(answer: RawAnswer): RawHttpServer {
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert: Deno.readTextFileSync(new URL("server.pem", TLS)),
    key: Deno.readTextFileSync(new URL("server.key", TLS)),
  });
  return new RawHttpServer(answer, listener);
}
