/** Long messages made to take long, of the longest that a message may be. Nobody else waits while they are read. */

import assert from "node:assert/strict";
import { tollOf } from "../support/bystander.ts";
import { fragments, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

const MIB = 1024 * 1024;
/** Three times what is wanted on a quiet machine. */
const MAX_WAIT_MS = 3 * 300;

const SIZE = 60 * MIB;

interface LongMessage {
  readonly what: string;
  /** The text in parts, which are put together where they are needed. */
  readonly text: () => string;
  readonly code: number;
  /** Its own is not known. */
  readonly answerId?: number;
}

const withParams = (params: string) => `{"id":7,"method":"process/resize","params":${params}}`;

/** Keys with a backslash are what V8 cannot be left alone with. */
const MESSAGES: readonly LongMessage[] = [
  {
    what: "one long string, with a backslash in a key",
    text: () => withParams(`{"a\\\\b":"${"x".repeat(SIZE)}"}`),
    code: -32602,
  },
  {
    what: "blanks, with a backslash in a key",
    text: () => withParams(`{"a\\\\b":1${" ".repeat(SIZE)}}`),
    code: -32602,
  },
  {
    what: "many members, with a backslash in a key",
    text: () =>
      withParams(`{"a\\\\b":{${Array.from({ length: 250_000 }, (_, i) => `"${i}${"k".repeat(230)}":1`).join(",")}}}`),
    code: -32602,
  },
  {
    what: "one long string, with an escaped letter in a key",
    text: () => withParams(`{"\\u0061":"${"x".repeat(SIZE)}"}`),
    code: -32602,
  },
  { what: "escapes", text: () => withParams(`{"a":"${"\\n".repeat(SIZE / 2)}"}`), code: -32602 },
  { what: "a number", text: () => withParams(`{"a":${"1".repeat(SIZE)}}`), code: -32600, answerId: -1 },
  { what: "an id of digits", text: () => `{"id":${"1".repeat(SIZE)},"method":"x"}`, code: -32600, answerId: -1 },
  {
    what: "an id of escapes",
    text: () => `{"id":"${"\\n".repeat(SIZE / 2)}","method":"x"}`,
    code: -32600,
    answerId: -1,
  },
];

for (const { what, text, code, answerId = 7 } of MESSAGES) {
  Deno.test(`a message of 60 MiB (${what}): nobody else waits`, async () => {
    await using server = await TestServer.start();
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const frames = fragments(new TextEncoder().encode(text()));
    const toll = await tollOf(server, async () => {
      await socket.write(frames);
      const { error } = await socket.readUntil(({ id }) => id === answerId);
      assert.equal(error.code, code);
    });
    reportToll(`a message of 60 MiB (${what})`, toll);
    assert.ok(toll.longestWaitMs < MAX_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
  });
}
