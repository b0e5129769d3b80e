/** Web servers and clients that are slow, silent or greedy: `http/request` takes no more memory and time than any other. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { type Toll, tollOf } from "../support/bystander.ts";
import { type RawAnswer, RawHttpServer } from "../support/raw_http_server.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

const MIB = 1024 * 1024;
/** Three times what is wanted on a quiet machine. */
const MAX_GROWTH_MB = 3 * 128;
const MAX_WAIT_MS = 3 * 100;
const MAX_ANSWER_MS = 3 * 1100;
/** How long the server may do what it wants while nothing is read of it. */
const UNREAD_MS = 3_000;

function check(what: string, toll: Toll): void {
  reportToll(what, toll);
  assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
}

async function connected(server: TestServer): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  return socket;
}

function request(id: number, url: string, more: Record<string, unknown> = {}): string {
  const params = { requestId: `r${id}`, method: "GET", url, headers: [], ...more };
  return JSON.stringify({ id, method: "http/request", params });
}

/** Sends without end, as fast as it is read. */
const tinyChunks: RawAnswer = async (connection) => {
  await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  const block = new TextEncoder().encode("8\r\n01234567\r\n".repeat(20_000));
  for (;;) await connection.send(block);
};

for (const streamResponse of [false, true]) {
  Deno.test(`chunks of 8 bytes, ${streamResponse ? "streamed" : "gathered"}: the deadline holds, and nobody else waits`, async () => {
    await using web = new RawHttpServer(tinyChunks);
    await using server = await TestServer.start();
    using socket = await connected(server);
    let tookMs = 0;
    const toll = await tollOf(server, async () => {
      const begunAt = performance.now();
      // Longer than the largest body takes to come, so that it is the time that ends it.
      await socket.sendText(request(1, web.origin, { timeoutMs: 1000, streamResponse }));
      const isEnd = streamResponse
        ? ({ params }: { params?: { done?: boolean } }) => params?.done === true
        : ({ id }: { id?: number }) => id === 1;
      const end = await socket.readUntil(isEnd);
      tookMs = performance.now() - begunAt;
      assert.match(JSON.stringify(streamResponse ? end.params : end.error), /timed out|exceeds the/);
    });
    reportToll(`http/request to a server that sends chunks of 8 bytes (${tookMs.toFixed(0)} ms)`, toll);
    assert.ok(tookMs < MAX_ANSWER_MS, `answered after ${tookMs.toFixed(0)} ms`);
    assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
  });
}

Deno.test("60 bodies of 8 MiB for a web server that reads nothing", async () => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using server = await TestServer.start();
  using socket = await connected(server);
  const url = `http://127.0.0.1:${(silent.addr as Deno.NetAddr).port}/`;
  // One for all, made beforehand: masking so much would take longer than sending it.
  const message = request(1, url, { method: "POST", bodyBase64: new Uint8Array(8 * MIB).toBase64() });
  const frame = clientFrame(OPCODE.text, new TextEncoder().encode(message));
  const toll = await tollOf(server, async () => {
    const sending = (async () => {
      for (let sent = 0; sent < 60; sent++) await socket.write(frame);
    })().catch(() => {}); // The connection ends under it.
    await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
    socket.drop();
    await sending;
  });
  check("60 http/request with bodies of 8 MiB to a silent server", toll);
});

Deno.test("120 answers of 32 MiB that are not read", async () => {
  const body = new Uint8Array(32 * MIB);
  await using web = new RawHttpServer(async (connection) => {
    await connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    await connection.send(body);
  });
  await using server = await TestServer.start();
  using socket = await connected(server);
  const toll = await tollOf(server, async () => {
    for (let id = 1; id <= 120; id++) await socket.sendText(request(id, web.origin));
    await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
  });
  check("120 http/request answers of 32 MiB not read", toll);
  for (let read = 0; read < 6; read++) {
    const { error, result } = await socket.readUntil(({ id }) => typeof id === "number");
    assert.equal(error, undefined);
    assert.equal(result.bodyBase64.length, Math.ceil(body.length / 3) * 4);
  }
});

Deno.test("120 answers with heads of 64000 fields: refused, and nobody else waits", async () => {
  const head = `HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(64_000)}content-length: 0\r\n\r\n`;
  await using web = new RawHttpServer(async (connection) => await connection.send(head));
  await using server = await TestServer.start();
  using socket = await connected(server);
  const toll = await tollOf(server, async () => {
    for (let id = 1; id <= 120; id++) await socket.sendText(request(id, web.origin));
    for (let read = 0; read < 120; read++) {
      const { error } = await socket.readUntil(({ id }) => typeof id === "number");
      assert.match(error?.message ?? "", /more than 1024 HTTP headers|connection/i);
    }
  });
  check("120 http/request with heads of 64000 fields", toll);
  assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
});

/** An empty body behind the longest head, made of what takes most characters in an answer. */
const longHead = (value: Uint8Array): RawAnswer => async (connection) => {
  const encoder = new TextEncoder();
  await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
  for (let i = 0; i < 31; i++) {
    await connection.send(concatBytes([encoder.encode(`x${i}: a`), value, encoder.encode("b\r\n")]));
  }
  await connection.send("\r\n");
};

const HEADS: [what: string, value: Uint8Array][] = [
  ["31 fields of 8000 bytes that are not UTF-8", new Uint8Array(8000).fill(0xff)],
  ["31 fields of 8000 blanks", new Uint8Array(8000).fill(0x20)],
];

for (const [what, value] of HEADS) {
  for (const streamResponse of [false, true]) {
    const how = streamResponse ? "streamed" : "whole";
    Deno.test(`1000 answers with heads of ${what}, ${how}, not read`, async () => {
      await using web = new RawHttpServer(longHead(value));
      await using server = await TestServer.start();
      using socket = await connected(server);
      const toll = await tollOf(server, async () => {
        for (let id = 1; id <= 1000; id++) await socket.sendText(request(id, web.origin, { streamResponse }));
        await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
      });
      check(`1000 http/request with heads of ${what}, ${how}, not read`, toll);
      let answered = 0;
      for (let read = 0; read < 1000; read++) {
        const { error } = await socket.readUntil(({ id }) => typeof id === "number");
        if (error === undefined) answered++;
      }
      assert.ok(answered > 100, `${answered} were answered`);
    });
  }
}
